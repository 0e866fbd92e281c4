"""Some of the rows of a log, a bit for each: ten million cost little more than a megabyte."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_PAGE_ROWS = 4096
_PAGE = _PAGE_ROWS // 8

RowNumbers = npt.NDArray[np.int64]


class RowSet:
    """Knows the n-th of them and how many are before a row, at once."""

    def __init__(self) -> None:
        self.known = 0
        """Of so many rows it is known whether they belong to it."""
        self._bits = np.zeros(_PAGE, np.uint8)
        self._before = np.zeros(2, np.int64)  # members in front of each page, and all

    def __len__(self) -> int:
        return int(self._before[-1])

    def __contains__(self, row: object) -> bool:
        if not isinstance(row, int) or not 0 <= row < self.known:
            return False
        return bool(self._bits[row >> 3] >> (7 - (row & 7)) & 1)

    def extend(self, known: int, rows: RowNumbers) -> None:
        """Of the rows up to `known` these belong to it."""
        if known <= self.known:
            return
        self._make_room(known)
        first = self.known - self.known % _PAGE_ROWS
        held = np.unpackbits(self._bits[first // 8 : self._length(known)])
        held[rows - first] = 1
        self._bits[first // 8 : self._length(known)] = np.packbits(held)
        self.known = known
        self._count_from(first // _PAGE_ROWS)

    def reach(self, known: int) -> None:
        """None of the rows up to there belongs to it, so far."""
        self.extend(known, np.empty(0, np.int64))

    def cut(self, known: int) -> None:
        """Forget what was known of the rows from this one on."""
        if known < self.known:
            self.put(known, self.known, belongs=False)
            self.known = known
            self._count_from(known // _PAGE_ROWS)

    def put(self, first: int, last: int, *, belongs: bool) -> None:
        """From now on these belong to it, or none of them."""
        last = min(last, self.known)
        if first >= last:
            return
        page = first // _PAGE_ROWS
        begin, end = page * _PAGE, self._length(last)
        held = np.unpackbits(self._bits[begin:end])
        held[first - begin * 8 : last - begin * 8] = belongs
        self._bits[begin:end] = np.packbits(held)
        self._count_from(page)

    def at(self, place: int) -> int:
        """The row that has so many of them before it."""
        page = int(np.searchsorted(self._before, place, side="right")) - 1
        rows = np.flatnonzero(np.unpackbits(self._bits[page * _PAGE : (page + 1) * _PAGE]))
        return page * _PAGE_ROWS + int(rows[place - self._before[page]])

    def slice(self, first: int, count: int) -> list[int]:
        """So many of them from the `first` on."""
        last = min(len(self), first + count)
        if first >= last:
            return []
        page = int(np.searchsorted(self._before, first, side="right")) - 1
        stop = int(np.searchsorted(self._before, last - 1, side="right"))
        rows = np.flatnonzero(np.unpackbits(self._bits[page * _PAGE : stop * _PAGE]))
        skipped = first - int(self._before[page])
        found: list[int] = (rows[skipped : skipped + last - first] + page * _PAGE_ROWS).tolist()
        return found

    def before(self, row: int) -> int:
        """How many are in front of this row."""
        row = min(max(0, row), self.known)
        page = row // _PAGE_ROWS
        if page >= len(self._before) - 1:
            return len(self)
        bits = np.unpackbits(self._bits[page * _PAGE : (page + 1) * _PAGE])[: row % _PAGE_ROWS]
        return int(self._before[page]) + int(np.count_nonzero(bits))

    def beside(self, row: int, *, backwards: bool = False) -> int | None:
        """The next of them behind this row, or the last in front of it."""
        place = self.before(row) - 1 if backwards else self.before(row + 1)
        return self.at(place) if 0 <= place < len(self) else None

    def shares(self, parts: int) -> npt.NDArray[np.int64]:
        """How many are in each of so many equal parts of what is known."""
        edges = [self.before(self.known * part // parts) for part in range(parts + 1)]
        edge = np.array(edges, np.int64)
        return edge[1:] - edge[:-1]

    def both(self, other: RowSet) -> RowSet:
        """Those that belong to both, as far as both are known."""
        made = RowSet()
        known = min(self.known, other.known)
        made._make_room(known)
        length = self._length(known)
        made._bits[:length] = self._bits[:length] & other._bits[:length]
        made.known = known
        if known % _PAGE_ROWS:
            page = known // _PAGE_ROWS
            held = np.unpackbits(made._bits[page * _PAGE : (page + 1) * _PAGE])
            held[known % _PAGE_ROWS :] = 0
            made._bits[page * _PAGE : (page + 1) * _PAGE] = np.packbits(held)
        made._count_from(0)
        return made

    def _length(self, known: int) -> int:
        """Bytes of whole pages."""
        return -(-known // _PAGE_ROWS) * _PAGE

    def _make_room(self, known: int) -> None:
        length = self._length(known)
        if length > len(self._bits):
            bits = np.zeros(max(length, 2 * len(self._bits)), np.uint8)
            bits[: len(self._bits)] = self._bits
            self._bits = bits

    def _count_from(self, page: int) -> None:
        length = self._length(self.known)
        pages = length // _PAGE
        counts = np.bitwise_count(self._bits[page * _PAGE : length]).reshape(-1, _PAGE).sum(axis=1, dtype=np.int64)
        before = np.zeros(pages + 1, np.int64)
        before[: page + 1] = self._before[: page + 1]
        before[page + 1 :] = before[page] + np.cumsum(counts)
        self._before = before
