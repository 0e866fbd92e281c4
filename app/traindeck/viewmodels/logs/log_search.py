"""Searching a log from end to end: counted while it is typed, and again as more arrives."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from traindeck.domain.errors import AppError
from traindeck.domain.texts import Text, text
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.services.logs.wanted import Wanted
from traindeck.viewmodels.logs.log_rows import LogRow, LogRows

if TYPE_CHECKING:
    from traindeck.services.logs.line_pattern import SearchPattern
    from traindeck.services.logs.log_document import LogDocument
    from traindeck.services.logs.row_scan import RowScan
    from traindeck.services.logs.row_set import RowSet

__all__ = ["Hit", "LogSearch", "SearchState", "Wanted"]

_EVERYWHERE = text("Every place of the log would be a hit: the expression also fits where nothing is.")


@dataclass(frozen=True, slots=True)
class SearchState:
    wanted: Wanted | None = None
    hits: int = 0
    is_all: bool = False
    """Everything there is was looked through."""
    trouble: Text | None = None
    """Why nothing can be looked for."""


@dataclass(frozen=True, slots=True)
class Hit:
    """Begin and end in the words of a row; the same: in a part of the line that was drawn over."""

    row: LogRow
    begin: int
    end: int


class LogSearch(QObject):
    """What was asked last is done."""

    changed = Signal()
    marked = Signal()
    """Other parts of rows are hits now."""
    found = Signal(object)
    """The hit that was asked for."""

    def __init__(self, lines: LogRows, disk: BlockingCalls, scope: TaskScope) -> None:
        super().__init__()
        self._lines, self._disk, self._scope = lines, disk, scope
        self.state = SearchState()
        self._pattern: SearchPattern | None = None
        self._scan: RowScan | None = None
        self._more = asyncio.Event()
        self._counting, self._finding = f"search a log {id(self)}", f"find in a log {id(self)}"
        lines.grew.connect(self._more.set)
        lines.counted.connect(self._again)

    def look_for(self, wanted: Wanted | None) -> None:
        """Count it from now on, with what arrives; none: stop."""
        wanted = wanted if wanted is not None and wanted.words else None
        self._scope.cancel(self._finding)
        self._pattern, self._scan = None, None
        self.state = SearchState(wanted)
        if wanted is None:
            self._scope.cancel(self._counting)
            self.marked.emit()
        else:
            self._scope.start(self._counting, lambda: self._count(wanted), Repeat.REPLACE)
        self.changed.emit()

    def restart(self) -> None:
        """Another log is shown, or this one began anew."""
        self.look_for(self.state.wanted)

    def find(self, number: int, begin: int, end: int, *, backwards: bool = False) -> None:
        """The next hit behind what is selected in this row, or the last before it; around the end if need be."""
        if self.state.wanted is not None:
            self._scope.start(self._finding, lambda: self._find(number, begin, end, backwards), Repeat.REPLACE)

    def spans(self, row: LogRow) -> list[tuple[int, int]]:
        """What of a row is a hit."""
        return self._pattern.spans(row.words) if self._pattern is not None else []

    @property
    def rows(self) -> RowSet | None:
        """Those with hits, as far as they are known."""
        return self._scan.rows if self._scan is not None else None

    def _again(self, *_: object) -> None:
        if self._scan is not None:
            self.restart()

    async def _count(self, wanted: Wanted) -> None:
        try:
            pattern = await self._disk.run(lambda _: _pattern(wanted))
        except AppError as error:
            self.state = replace(self.state, trouble=error.paragraph())
            self.marked.emit()
            self.changed.emit()
            return
        self._pattern = pattern
        self.marked.emit()
        if pattern.may_be_empty:
            self.state = replace(self.state, trouble=_EVERYWHERE)
            self.changed.emit()
            return
        while not self._lines.is_counted:
            await self._until_more()
        document = self._lines.document
        assert document is not None
        scan = self._scan = await self._disk.run(lambda _: _scan(document, pattern))
        while document is self._lines.document:
            self._more.clear()
            scan.take(await self._disk.run(scan.look))
            self.state = replace(self.state, hits=scan.hits, is_all=scan.is_all)
            self.changed.emit()
            if scan.is_all:
                await self._until_more()

    async def _until_more(self) -> None:
        await self._more.wait()
        self._more.clear()

    async def _find(self, number: int, begin: int, end: int, backwards: bool) -> None:
        while self._pattern is None or self._lines.document is None:
            if self.state.trouble is not None:
                return
            await asyncio.sleep(0.01)
        document, pattern = self._lines.document, self._pattern
        here = self._lines.row(number)
        if here is not None and (hit := _beside(here, pattern.spans(here.words), begin, end, backwards)):
            self.found.emit(hit)
            return
        for start in (number, self._lines.rows if backwards else -1):
            row = await self._next_row(document, pattern, start, backwards)
            if row is not None:
                page = await self._disk.run(lambda _, at=row: document.rows(at, 1))  # type: ignore[misc]
                for one in page.rows:
                    edge = len(one.words) + 1 if backwards else -1
                    spans = pattern.spans(one.words)
                    self.found.emit(_beside(one, spans, edge, edge, backwards) or Hit(one, 0, 0))
                return

    async def _next_row(self, document: LogDocument, pattern: SearchPattern, start: int, backwards: bool) -> int | None:
        """Among those that are shown, if not all are."""
        scan, chosen = self._scan, self._lines.chosen
        if scan is not None and scan.is_all:
            rows = scan.rows if chosen is None else scan.rows.both(chosen)
            return rows.beside(start, backwards=backwards)

        def look(token: CancelToken) -> int | None:
            from traindeck.services.logs.row_scan import first_hit

            at = start
            while (row := first_hit(document, pattern, at, backwards=backwards, token=token)) is not None:
                if chosen is None or row in chosen:
                    return row
                at = row
            return None

        return await self._disk.run(look)


def _beside(row: LogRow, spans: list[tuple[int, int]], begin: int, end: int, backwards: bool) -> Hit | None:
    if backwards:
        spans = [span for span in spans if span[1] <= begin][-1:]
    else:
        spans = [span for span in spans if span[0] >= end][:1]
    return Hit(row, *spans[0]) if spans else None


def _pattern(wanted: Wanted) -> SearchPattern:
    from traindeck.services.logs.line_pattern import SearchPattern

    return SearchPattern(wanted)


def _scan(document: LogDocument, pattern: SearchPattern) -> RowScan:
    from traindeck.services.logs.row_scan import RowScan, hits_of

    return RowScan(document, hits_of(pattern))
