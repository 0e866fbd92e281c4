"""What of a log is selected: from one sign to another, however many rows lie between."""

from __future__ import annotations

import re
from typing import NamedTuple

from traindeck.ui.logs.row_layouts import characters, units
from traindeck.viewmodels.logs.log_rows import LogRow

_WORD = re.compile(r"[\w.:/+-]+|\s+|[^\w\s]")


class Spot(NamedTuple):
    """Between two signs of a row, as Qt counts them."""

    number: int
    unit: int


class LogSelection:
    """Goes with the rows when they are counted anew."""

    def __init__(self) -> None:
        self.anchor: Spot | None = None
        self.caret: Spot | None = None

    def __bool__(self) -> bool:
        return self.anchor is not None and self.anchor != self.caret

    def clear(self) -> None:
        self.anchor = self.caret = None

    def begin(self, at: Spot) -> None:
        self.anchor = self.caret = at

    def extend(self, to: Spot) -> None:
        self.anchor = self.anchor or to
        self.caret = to

    def choose(self, begin: Spot, end: Spot) -> None:
        self.anchor, self.caret = begin, end

    def choose_word(self, row: LogRow, at: Spot) -> None:
        place = characters(row.words, at.unit)
        for found in _WORD.finditer(row.words):
            if found.start() <= place < found.end():
                begin, end = (units(row.words[:edge]) for edge in found.span())
                self.choose(Spot(row.number, begin), Spot(row.number, end))
                return
        self.begin(at)

    def move(self, rows: int) -> None:
        """Every row has a number that is so much higher."""
        if self.anchor is not None and self.caret is not None:
            self.anchor, self.caret = (Spot(at.number + rows, at.unit) for at in (self.anchor, self.caret))

    @property
    def ends(self) -> tuple[Spot, Spot] | None:
        """In their order."""
        if self.anchor is None or self.caret is None or not self:
            return None
        first, last = sorted((self.anchor, self.caret))
        return first, last

    def part_of(self, row: LogRow) -> tuple[int, int, bool] | None:
        """Begin and end in it, and whether its line end is selected too."""
        if (ends := self.ends) is None:
            return None
        first, last = ends
        if not first.number <= row.number <= last.number:
            return None
        begin = first.unit if row.number == first.number else 0
        goes_on = row.number < last.number
        end = units(row.words) if goes_on else last.unit
        return (begin, end, goes_on) if end > begin or goes_on else None

    def piece_of(self, row: LogRow) -> tuple[int, int]:
        """Begin and end in its words; without a selection nothing at its end."""
        part = self.part_of(row)
        if part is None:
            return len(row.words), len(row.words)
        return characters(row.words, part[0]), characters(row.words, part[1])

    def words_in(self, row: LogRow) -> str:
        part = self.part_of(row)
        if part is None:
            return ""
        begin, end = (characters(row.words, unit) for unit in part[:2])
        return row.words[begin:end]
