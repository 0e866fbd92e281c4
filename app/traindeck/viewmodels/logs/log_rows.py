"""The rows of a log as a view asks for them: those in sight and around them, from a worker."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.tasks import TaskScope, set_within
from traindeck.services.logs.log_rows import LogExtent, LogRow, Page
from traindeck.services.logs.row_text import Style

if TYPE_CHECKING:
    from traindeck.services.logs.log_document import LogDocument
    from traindeck.services.logs.row_set import RowSet

__all__ = ["LogExtent", "LogRow", "LogRows", "Style"]

_AROUND = 200
_MOST_KEPT = 4000


class LogRows(QObject):
    """Rows have numbers in the log, and places among those that are shown."""

    arrived = Signal()
    """Rows that were asked for are here."""
    counted = Signal(int)
    """The rows are counted from the beginning now: so much more than before."""
    grew = Signal()
    """The log was looked at, and is another than before."""
    changed = Signal()
    """There are more, or fewer, or others are shown."""

    def __init__(self, disk: BlockingCalls, scope: TaskScope) -> None:
        super().__init__()
        self._disk = disk
        self._scope = scope
        self.document: LogDocument | None = None
        self.standing: LogExtent | None = None
        self._rows: dict[int, LogRow] = {}
        self.chosen: RowSet | None = None
        """Only these are shown; none: all."""
        self._wanted: Sequence[int] = ()
        self._shown = 0
        self._work = f"read rows {id(self)}"
        self._is_read = asyncio.Event()

    def show(self, document: LogDocument | None) -> None:
        """Another log."""
        self._scope.cancel(self._work)
        # What is cancelled may still end in its worker, and work of the same name would be refused until then.
        self._shown += 1
        self._work = f"read rows {id(self)} {self._shown}"
        self.document, self.standing, self.chosen = document, None, None
        self._rows.clear()
        self._wanted = ()
        self.changed.emit()

    def take(self, standing: LogExtent) -> None:
        """The log was looked at."""
        before = self.standing
        self.standing = standing
        if before is not None:
            if before.version != standing.version:
                self._rows.clear()
            else:
                # What was still being written may have gone on.
                for number in range(before.ended, before.rows):
                    self._rows.pop(number, None)
            if standing.moved:
                self._wanted = ()
                self.counted.emit(standing.moved)
        if before is None or (before.size, before.rows, before.version) != (
            standing.size, standing.rows, standing.version
        ):  # fmt: skip
            self.grew.emit()
            self.changed.emit()

    def choose(self, rows: RowSet | None) -> None:
        """Show only these; none: all."""
        if rows is not None or self.chosen is not None:
            self.chosen = rows
            self.changed.emit()

    # places

    @property
    def rows(self) -> int:
        return self.standing.rows if self.standing is not None else 0

    @property
    def is_counted(self) -> bool:
        return self.standing is not None and self.standing.is_counted

    def __len__(self) -> int:
        return self.rows if self.chosen is None else len(self.chosen)

    def number_at(self, place: int) -> int:
        return place if self.chosen is None else self.chosen.at(place)

    def place_of(self, number: int) -> int:
        """Of the row; where it is not shown, of the next that is."""
        place = number if self.chosen is None else self.chosen.before(number)
        return max(0, min(place, len(self) - 1))

    def numbers(self, first: int, count: int) -> Sequence[int]:
        if self.chosen is not None:
            return self.chosen.slice(max(0, first), count)
        return range(max(0, first), min(self.rows, first + count))

    # content

    def row(self, number: int) -> LogRow | None:
        """As far as it is here."""
        return self._rows.get(number)

    def want(self, first: int, count: int) -> bool:
        """Whether all from this place on are here; if not, they come."""
        missing = [number for number in self.numbers(first, count) if number not in self._rows]
        if missing and self.document is not None:
            around = self.numbers(first - _AROUND, count + 2 * _AROUND)
            self._wanted = [number for number in around if number not in self._rows]
            self._is_read.clear()
            self._scope.start(self._work, self._read)
        return not missing

    async def reading_done(self, limit_s: float) -> None:
        """As soon as no rows are on their way."""
        if self._scope.is_running(self._work):
            await set_within(self._is_read, limit_s)

    async def _read(self) -> None:
        while self._wanted and (document := self.document) is not None:
            wanted, self._wanted = self._wanted, ()
            page = await self._disk.run(lambda _, rows=wanted: document.rows_of(rows))  # type: ignore[misc]
            if document is self.document:
                self._keep(page)
        self._is_read.set()

    def _keep(self, page: Page) -> None:
        if self.standing is None or page.version != self.standing.version:
            self.arrived.emit()  # counted anew meanwhile: who still needs rows asks again
            return
        if len(self._rows) > _MOST_KEPT and page.rows:
            middle = page.rows[len(page.rows) // 2].number
            near = sorted(self._rows, key=lambda number: abs(number - middle))[: _MOST_KEPT // 2]
            self._rows = {number: self._rows[number] for number in near}
        ended = self.standing.ended
        for row in page.rows:
            if row.number < ended or row.number not in self._rows:
                self._rows[row.number] = row
        self.arrived.emit()
