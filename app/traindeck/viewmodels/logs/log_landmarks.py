"""Where in a log the errors and the bookmarks are, for whoever shows the whole of it at once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.viewmodels.logs.log_rows import LogRows

if TYPE_CHECKING:
    from traindeck.services.logs.log_document import LogDocument
    from traindeck.services.logs.row_scan import RowScan
    from traindeck.services.logs.row_set import RowSet

_REST_S = 0.03
"""Between two looks: nobody waits for this, and others want the disk."""


class LogLandmarks(QObject):
    """Looks beside everything else, and goes on as more arrives."""

    changed = Signal()

    def __init__(self, lines: LogRows, disk: BlockingCalls, scope: TaskScope) -> None:
        super().__init__()
        self._lines, self._disk, self._scope = lines, disk, scope
        self._scan: RowScan | None = None
        self._offsets: tuple[int, ...] = ()
        self.bookmarks: tuple[int, ...] = ()
        """The rows that are marked, in their order."""
        self._more = asyncio.Event()
        self._looking, self._placing = (
            f"look for errors in a log {id(self)}",
            f"place the bookmarks of a log {id(self)}",
        )
        lines.grew.connect(self._more.set)
        lines.counted.connect(self.restart)

    @property
    def errors(self) -> RowSet | None:
        """Rows that tell of an error, as far as they are known."""
        return self._scan.rows if self._scan is not None else None

    def restart(self, *_: object) -> None:
        """Another log is shown, or its rows are counted anew."""
        self._scan, self.bookmarks = None, ()
        self._scope.start(self._looking, self._look, Repeat.REPLACE)
        self._place()

    def stop(self) -> None:
        self._scope.cancel(self._looking)
        self._scope.cancel(self._placing)

    def mark(self, offsets: Sequence[int]) -> None:
        """These bytes of the file begin rows that are bookmarks."""
        if tuple(offsets) != self._offsets:
            self._offsets = tuple(offsets)
            self._place()

    def _place(self) -> None:
        self._scope.start(self._placing, self._find_rows, Repeat.REPLACE)

    async def _find_rows(self) -> None:
        offsets, document = self._offsets, await self._counted()
        rows = await self._disk.run(lambda _: [document.row_of(offset) for offset in offsets])
        self.bookmarks = tuple(rows)
        self.changed.emit()

    async def _look(self) -> None:
        document = await self._counted()
        scan = self._scan = await self._disk.run(lambda _: _errors(document))
        while document is self._lines.document:
            self._more.clear()
            scan.take(await self._disk.run(scan.look))
            self.changed.emit()
            await (self._more.wait() if scan.is_all else asyncio.sleep(_REST_S))

    async def _counted(self) -> LogDocument:
        """The log, as soon as its rows have their numbers for good."""
        while (document := self._lines.document) is None or not self._lines.is_counted:
            self._more.clear()
            await self._more.wait()
        return document


def _errors(document: LogDocument) -> RowScan:
    from traindeck.services.logs.line_filter import error_pattern
    from traindeck.services.logs.row_scan import RowScan, hits_of

    return RowScan(document, hits_of(error_pattern()))
