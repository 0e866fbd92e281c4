"""Going to a place of a log that must be looked for, and taking a part of it out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from traindeck.domain.texts import Text, text
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.files import local_errors
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.viewmodels.logs.log_rows import LogRow, LogRows

if TYPE_CHECKING:
    from traindeck.services.logs.log_document import LogDocument

MOST_COPIED_ROWS = 200_000
_ROWS_AT_ONCE = 2000


class LogTravel(QObject):
    """What is asked last is done."""

    reached = Signal(int)
    """The row that was looked for."""
    missed = Signal(object)
    """Why there is none, as a text."""
    taken = Signal(str)
    """Words for the clipboard."""

    def __init__(self, lines: LogRows, disk: BlockingCalls, scope: TaskScope) -> None:
        super().__init__()
        self._lines, self._disk, self._scope = lines, disk, scope
        self._work = f"look for a place in a log {id(self)}"

    def find_error(self, number: int, *, backwards: bool) -> None:
        """The next line behind this row that tells of an error, or the last before it."""

        def look(document: LogDocument, token: CancelToken) -> int | None:
            from traindeck.services.logs.line_filter import error_pattern
            from traindeck.services.logs.row_scan import first_hit

            pattern, chosen, at = error_pattern(), self._lines.chosen, number
            while (row := first_hit(document, pattern, at, backwards=backwards, token=token)) is not None:
                if chosen is None or row in chosen:
                    return row
                at = row
            return None

        none = text("No error before this line.") if backwards else text("No error after this line.")
        self._go(look, none)

    def go_to_line(self, line: int) -> None:
        self._go(lambda document, _: document.row_of_line(line), text("The lines are not counted yet."))

    def go_to_offset(self, offset: int) -> None:
        self._go(lambda document, _: document.row_of(offset), text("The lines are not counted yet."))

    def go_to_time(self, typed: str) -> None:
        def look(document: LogDocument, token: CancelToken) -> int | None:
            from traindeck.services.logs.line_times import row_of_time

            return row_of_time(document, typed, self._lines.rows, token)

        self._go(look, text("No line of this log tells such a time."))

    def copy(self, first: int, last: int, words_of: Callable[[LogRow], str]) -> None:
        """The words of these rows, of those that are shown."""

        async def collect() -> None:
            document, pieces, at = self._lines.document, list[str](), self._lines.place_of(first)
            before = -2
            end = self._lines.place_of(last) + 1
            if document is None:
                return
            if end - at > MOST_COPIED_ROWS:
                self.missed.emit(text("This is too much for the clipboard. Save the log as a file instead."))
                return
            for begin in range(at, end, _ROWS_AT_ONCE):
                numbers = self._lines.numbers(begin, min(_ROWS_AT_ONCE, end - begin))
                page = await self._disk.run(lambda _, some=numbers: document.rows_of(some))  # type: ignore[misc]
                for row in (row for row in page.rows if row.mark is None):
                    # A very long line is in several rows, and comes out as the one that it is.
                    goes_on = row.is_further and row.number == before + 1
                    pieces += ["" if goes_on else "\n", words_of(row)]
                    before = row.number
            self.taken.emit("".join(pieces[1:]))

        self._scope.start(self._work, collect, Repeat.REPLACE)

    def save(self, target: Path, *, only_shown: bool) -> None:
        """The bytes as they are; of a filtered log, the words of the rows that are shown."""

        async def write() -> None:
            document, numbers = self._lines.document, self._lines.numbers(0, len(self._lines))
            if document is not None:
                shown = numbers if only_shown else None
                await self._disk.run(lambda token: _write(document, target, shown, token))

        self._scope.start(f"save a log as {target}", write)

    def _go(self, look: Callable[[LogDocument, CancelToken], int | None], none: Text) -> None:
        async def go() -> None:
            document = self._lines.document
            row = None if document is None else await self._disk.run(lambda token: look(document, token))
            if row is None:
                self.missed.emit(none)
            else:
                self.reached.emit(row)

        self._scope.start(self._work, go, Repeat.REPLACE)


def _write(document: LogDocument, target: Path, shown: Sequence[int] | None, token: CancelToken) -> None:
    with local_errors(target), target.open("wb") as file:
        pieces = document.pieces(token) if shown is None else document.words_of(shown, token)
        for piece in pieces:
            file.write(piece)
