"""Where the lines of a log are: counted at every 64 KiB of the file, and in between when it is asked for."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

BLOCK = 1 << 16
LONGEST_ROW = 1 << 13
"""A line goes on in another row after so many bytes without a line end or a carriage return."""
_STEP = LONGEST_ROW // 2
_LINE_END, _RETURN = 10, 13

ReadBytes = Callable[[int, int], bytes]
"""Of the file from an offset on, so many."""
Offsets = npt.NDArray[np.int64]
Signs = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bytes of a row; one without any is a mark that is no part of the file."""

    begin: int
    end: int

    @property
    def is_mark(self) -> bool:
        return self.begin == self.end


@dataclass(frozen=True, slots=True)
class Stretch:
    """Rows that are looked at together: their bytes, the first and the one behind the last, and the block after."""

    begin: int
    end: int
    first: int
    last: int
    lines: int
    """Line ends in them: where as many as rows, each row is a line."""
    next_block: int | None


class LogIndex:
    """Fed with the file in its order; costs 32 bytes for 64 KiB of it, however many lines they have."""

    def __init__(self, begin: int = 0) -> None:
        """`begin` is where a line begins; rows are counted from there."""
        self.begin = self.size = begin
        self.marks: list[int] = []
        """Offsets in front of which a row of its own stands; a line does not go on over them."""
        self._first_block = begin // BLOCK
        # For each block: the rows that ended before it, where the last of them ended, and the last place that a row
        # that is too long is counted from.
        self._rows = array("Q", [0])
        self._ends = array("Q", [begin])
        self._since = array("Q", [begin])
        self._lines = array("Q", [0])  # line ends before it: a long line is several rows, a mark is no line
        self._state = (0, begin, begin, 0)

    @property
    def ended(self) -> int:
        """Rows that have their end."""
        return self._state[0]

    @property
    def rows(self) -> int:
        """With the one that is still being written, and marks behind it."""
        return self.ended + self._is_open + self.marks.count(self.size)

    @property
    def _is_open(self) -> bool:
        return self.size > self.open_from

    @property
    def open_from(self) -> int:
        """Where the row that is still being written begins."""
        return self._state[1]

    def mark(self, offset: int) -> None:
        """Bytes are missing before this one; it must not have been fed yet."""
        if offset >= self.size:
            insort(self.marks, offset)

    def feed(self, data: bytes) -> None:
        """The next bytes of the file."""
        view = memoryview(data)
        while view:
            room = BLOCK - self.size % BLOCK
            self._feed_block(view[:room])
            view = view[room:]

    def _feed_block(self, data: memoryview) -> None:
        rows, end, since, lines = self._state
        signs, offset = np.frombuffer(data, np.uint8), self.size
        if quick := self._quickly(signs, offset, since):
            count, last, since = quick
            self._state = (rows + count, last, since, lines + count)
        else:
            ends, since = row_ends(signs, offset, end, since, self._marks_in(offset, offset + len(data)))
            lines += int(np.count_nonzero(signs == _LINE_END))
            self._state = (rows + len(ends), int(ends[-1]) if len(ends) else end, since, lines)
        self.size = offset + len(data)
        if self.size % BLOCK == 0:
            for known, value in zip((self._rows, self._ends, self._since, self._lines), self._state, strict=True):
                known.append(value)

    def _quickly(self, signs: Signs, offset: int, since: int) -> tuple[int, int, int] | None:
        """How many lines end here, where the last one does and its length counts from, if none can be too long."""
        if len(signs) % _STEP or offset % _STEP or self._marks_in(offset, offset + len(signs)):
            return None
        if offset - since >= _STEP:
            return None
        counts = np.count_nonzero((signs == _LINE_END).reshape(-1, _STEP), axis=1)
        if not counts.all():
            return None
        tail = signs[-_STEP:]
        left = int(np.argmax(tail[::-1] == _LINE_END))  # behind the last line end
        back = np.flatnonzero(tail[len(tail) - left :] == _RETURN)
        last = offset + len(signs) - left
        return int(counts.sum()), last, last + int(back[-1]) + 1 if len(back) else last

    def _marks_in(self, begin: int, end: int) -> list[int]:
        return [mark for mark in self.marks if begin <= mark < end]

    # looking up

    def bounds(self, first: int, count: int, read: ReadBytes) -> list[Bounds]:
        """Of so many rows from this one on, as far as there are any."""
        first, last = max(0, first), min(self.rows, first + count)
        if first >= last:
            return []
        found = [self.begin] if first == 0 else []
        row = max(0, first - 1)
        while row < min(last, self.ended):
            block = self._block_of(row)
            ends = self._ends_in(block, read)[row - self._rows[block] :][: last - row]
            if not len(ends):
                break  # the file is shorter than it was
            found += ends.tolist()
            row += len(ends)
        else:
            found += [self.size] * (last - first + 1 - len(found))  # the open row, and marks behind it
        return [Bounds(begin, end) for begin, end in pairwise(found)]

    def row_of(self, offset: int, read: ReadBytes) -> int:
        """The row that has this byte; behind the last: the last."""
        if offset >= self.size:
            return max(0, self.rows - 1)
        block = offset // BLOCK - self._first_block
        if block < 0:
            return 0
        ends = self._ends_in(block, read)
        return self._rows[block] + int(np.searchsorted(ends, offset, side="right"))

    def lines_before(self, offset: int, read: ReadBytes) -> int:
        """How many line ends are in front of this byte."""
        block = min(max(0, offset // BLOCK - self._first_block), len(self._lines) - 1)
        begin = max(self.begin, (block + self._first_block) * BLOCK)
        return self._lines[block] + read(begin, max(0, offset - begin)).count(b"\n")

    def row_of_line(self, line: int, read: ReadBytes) -> int:
        """Where the line of this number begins; the first is 1, and behind the last is the last."""
        if line <= 1:
            return self.row_of(self.begin, read)
        block = max(0, bisect_left(self._lines, line - 1) - 1)
        begin = max(self.begin, (block + self._first_block) * BLOCK)
        signs = np.frombuffer(read(begin, BLOCK), np.uint8)
        stops = np.flatnonzero(signs == _LINE_END)
        behind = line - 2 - self._lines[block]
        return self.row_of(begin + int(stops[behind]) + 1 if behind < len(stops) else self.size, read)

    def stretch(self, block: int, count: int) -> Stretch:
        """Whole rows, from the first that ends in this block to those of so many blocks."""
        begin, row, last = self._ends[block], self._rows[block], block + count
        while last < len(self._rows) and self._rows[last] == row:
            last += 1
        if last >= len(self._rows):
            return Stretch(begin, self.open_from, row, self.ended, self._state[3] - self._lines[block], None)
        lines = self._lines[last] - self._lines[block]
        return Stretch(begin, self._ends[last], row, self._rows[last], lines, last)

    def block_before(self, row: int) -> int:
        """Where a walk over the rows from this one on begins."""
        return self._block_of(max(0, row - 1)) if row else 0

    def _block_of(self, row: int) -> int:
        """Where this row ends, or later ones if it is open."""
        return max(0, bisect_right(self._rows, row) - 1)

    def _ends_in(self, block: int, read: ReadBytes) -> Offsets:
        offset = max(self.begin, (block + self._first_block) * BLOCK)
        stop = min((block + self._first_block + 1) * BLOCK, self.size)
        signs = np.frombuffer(read(offset, stop - offset), np.uint8)
        marks = self._marks_in(offset, stop)
        return row_ends(signs, offset, self._ends[block], self._since[block], marks)[0]


def row_ends(signs: Signs, offset: int, end: int, since: int, marks: Sequence[int] = ()) -> tuple[Offsets, int]:
    """Where rows end in these bytes of the file, and from where the length of the next is counted.

    `end` is that of the row before, and `since` what was the answer for the bytes before these.
    """
    parts: list[Offsets] = []
    begin = 0
    for mark in marks:
        ends, _ = _ends_between(signs[begin : mark - offset], offset + begin, since)
        parts.append(ends)
        end = int(ends[-1]) if len(ends) else end
        # What was being written ends here, and then the mark.
        parts.append(np.array([mark, mark] if end < mark else [mark], np.int64))
        begin, end, since = mark - offset, mark, mark
    ends, since = _ends_between(signs[begin:], offset + begin, since)
    return np.concatenate([*parts, ends]), since


def _ends_between(signs: Signs, offset: int, since: int) -> tuple[Offsets, int]:
    stops = np.flatnonzero((signs == _LINE_END) | (signs == _RETURN)) + offset
    is_end = signs[stops - offset] == _LINE_END
    froms = np.concatenate([[since], stops + 1])
    tos = np.concatenate([stops, [offset + len(signs)]])
    forced: list[int] = []
    for place in np.flatnonzero(tos - froms > LONGEST_ROW):
        forced += range(int(froms[place]) + LONGEST_ROW, int(tos[place]), LONGEST_ROW)
    since = int(froms[-1])
    if forced and forced[-1] > since:
        since = forced[-1]
    ends = stops[is_end] + 1
    if forced:
        ends = np.sort(np.concatenate([ends, forced]))
    return ends.astype(np.int64, copy=False), since
