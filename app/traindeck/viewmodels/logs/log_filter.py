"""Which rows of a log are shown: those the filter lets through, without the repeats of the line before."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from traindeck.domain.errors import AppError
from traindeck.domain.texts import Text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.services.logs.wanted import LineLevel
from traindeck.viewmodels.logs.log_rows import LogRow, LogRows

if TYPE_CHECKING:
    from traindeck.services.logs.line_filter import LineFilter
    from traindeck.services.logs.log_document import LogDocument
    from traindeck.services.logs.row_scan import RowScan
    from traindeck.services.logs.row_set import RowSet

__all__ = ["FilterState", "LineLevel", "LogFilter"]


@dataclass(frozen=True, slots=True)
class FilterState:
    typed: str = ""
    level: LineLevel = LineLevel.ALL
    folds: bool = True
    """Lines that say the same as the one before are one line."""
    hidden: int = 0
    """So many rows did not fit, as far as they were looked at."""
    is_all: bool = True
    trouble: Text | None = None

    @property
    def is_on(self) -> bool:
        return bool(self.typed.strip()) or self.level is not LineLevel.ALL


class LogFilter(QObject):
    """Goes over the log in a worker, and goes on as more arrives."""

    changed = Signal()
    folded = Signal()
    """Other rows stand for several."""

    def __init__(self, lines: LogRows, disk: BlockingCalls, scope: TaskScope) -> None:
        super().__init__()
        self._lines, self._disk, self._scope = lines, disk, scope
        self.state = FilterState()
        self._filter: LineFilter | None = None
        self._fitting: RowScan | None = None
        self._single: RowScan | None = None
        self._opened: dict[int, int] = {}
        self._more = asyncio.Event()
        self._work = f"filter a log {id(self)}"
        lines.grew.connect(self._more.set)
        lines.counted.connect(self.restart)

    def ask(self, typed: str, level: LineLevel) -> None:
        """Show only what fits from now on."""
        if (typed, level) != (self.state.typed, self.state.level):
            self.state = replace(self.state, typed=typed, level=level)
            self._fitting = None
            self._begin()

    def fold(self, wanted: bool) -> None:
        """Whether repeats are one line."""
        if wanted != self.state.folds:
            self.state = replace(self.state, folds=wanted)
            self._opened.clear()
            self._begin()

    def restart(self, *_: object) -> None:
        """Another log is shown, or its rows are counted anew."""
        self._fitting = self._single = None
        self._opened.clear()
        self._choose()
        self._begin()

    def stop(self) -> None:
        self._scope.cancel(self._work)

    def repeats(self, row: LogRow) -> int:
        """How many rows say the same in a row from this one on; 1: it is alone, or a repeat itself."""
        rows = self._single.rows if self._single is not None and self.state.folds else None
        if rows is None or row.number not in rows:
            return 1
        after = rows.beside(row.number)
        return (rows.known if after is None else after) - row.number

    def is_open(self, row: LogRow) -> bool:
        return row.number in self._opened

    def open_fold(self, row: LogRow) -> None:
        """Show the repeats of this row, or no longer."""
        if self._opened.pop(row.number, None) is None and (count := self.repeats(row)) > 1:
            self._opened[row.number] = row.number + count
        self._choose()

    def lets_through(self, row: LogRow) -> bool:
        return self._fitting is None or row.number in self._fitting.rows

    def _begin(self) -> None:
        self.state = replace(self.state, is_all=False)
        self._scope.start(self._work, self._go_on, Repeat.REPLACE)
        self.changed.emit()

    async def _go_on(self) -> None:
        try:
            chosen = await self._disk.run(lambda _: _filter(self.state.typed, self.state.level))
        except AppError as error:
            self._tell(trouble=error.paragraph(), is_all=True)
            return
        self._filter = chosen
        self._tell(trouble=None)
        while not self._lines.is_counted or self._lines.document is None:
            await self._until_more()
        document = self._lines.document
        if not chosen:
            self._fitting = None
        elif self._fitting is None:
            self._fitting = await self._disk.run(lambda _: _fitting(document, chosen))
        if self.state.folds and self._single is None:
            self._single = await self._disk.run(lambda _: _single(document))
        self._choose()
        while document is self._lines.document:
            self._more.clear()
            scans = [scan for scan in (self._fitting, self._single if self.state.folds else None) if scan is not None]
            while scans:
                for scan in scans:
                    scan.take(await self._disk.run(scan.look))
                    self._choose()
                scans = [scan for scan in scans if not scan.is_all]
                self._tell(hidden=self._hidden(), is_all=not scans)
            self._tell(hidden=self._hidden(), is_all=True)
            await self._until_more()

    def _hidden(self) -> int:
        return 0 if self._fitting is None else self._fitting.rows.known - len(self._fitting.rows)

    def _choose(self) -> None:
        fitting = self._fitting.rows if self._fitting is not None else None
        single = self._single.rows if self._single is not None and self.state.folds else None
        if single is not None and (len(single) == single.known or (fitting is None and not self._is_folded_once)):
            single = None
        if single is None:
            self._show(fitting)
            return
        shown = single.both(single)
        for first, last in self._opened.items():
            shown.put(first, last, belongs=True)
        self._show(shown if fitting is None else _as_far_as(shown, fitting))

    @property
    def _is_folded_once(self) -> bool:
        """Until all was looked at once, repeats stay: else the end of a long log were not there."""
        return self._single is not None and (self._single.is_all or self._lines.chosen is not None)

    def _show(self, rows: RowSet | None) -> None:
        self._lines.choose(rows)
        self.folded.emit()

    def _tell(self, **changes: object) -> None:
        state = replace(self.state, **changes)  # type: ignore[arg-type]
        if state != self.state:
            self.state = state
            self.changed.emit()

    async def _until_more(self) -> None:
        await self._more.wait()
        self._more.clear()


def _as_far_as(shown: RowSet, fitting: RowSet) -> RowSet:
    """Repeats that were not looked for yet are shown."""
    if shown.known < fitting.known:
        first = shown.known
        shown.reach(fitting.known)
        shown.put(first, fitting.known, belongs=True)
    return shown.both(fitting)


def _filter(typed: str, level: LineLevel) -> LineFilter:
    # Loaded with the first log, not with the window.
    from traindeck.services.logs.line_filter import filter_of

    return filter_of(typed, level)


def _fitting(document: LogDocument, chosen: LineFilter) -> RowScan:
    from traindeck.services.logs.row_scan import RowScan

    return RowScan(document, lambda chunk: (chosen.rows(chunk), 0))


def _single(document: LogDocument) -> RowScan:
    from traindeck.services.logs.line_fold import FoldedRepeats
    from traindeck.services.logs.row_scan import RowScan

    return RowScan(document, FoldedRepeats().judge)
