"""Looks through all rows of a log, piece by piece, and goes on when more has come."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from traindeck.runtime.blocking import CancelToken
from traindeck.services.logs.line_pattern import SearchPattern, lines_of
from traindeck.services.logs.log_document import Chunk, LogDocument
from traindeck.services.logs.row_set import RowNumbers, RowSet

_SLICE_S = 0.04


@dataclass(frozen=True, slots=True)
class FoundRows:
    """Of the rows from `first` up to `known`, those that fit; `hits`: how often in them."""

    first: int
    known: int
    rows: RowNumbers
    hits: int
    hits_at_end: int
    """Those of them in the piece that may still grow."""
    next_block: int
    next_row: int
    is_all: bool


Judge = Callable[[Chunk], tuple[RowNumbers, int]]
"""Which rows of a piece fit, and how many hits are in them."""


class RowScan:
    """What was found so far; a worker looks, and the owner takes what it found."""

    def __init__(self, document: LogDocument, judge: Judge) -> None:
        self._document = document
        self._judge = judge
        self.rows = RowSet()
        self.hits = 0
        self.is_all = False
        """All rows that were there at the last look were looked through."""
        self._provisional = 0
        self._block = self._row = 0

    def look(self, token: CancelToken) -> FoundRows:
        """For a worker: the next pieces, for a short while."""
        until = time.monotonic() + _SLICE_S
        block, row, is_all = self._block, self._row, False
        parts: list[RowNumbers] = []
        hits = at_end = 0
        known = row
        while not is_all and time.monotonic() < until:
            token.check()
            chunk = self._document.chunk(block)
            if chunk is None:
                is_all = True
                break
            rows, count = self._judge(chunk)
            parts.append(rows)
            known = chunk.first + chunk.count
            hits += count
            if chunk.next_block is None:
                at_end, is_all = count, True
            else:
                block, row = chunk.next_block, known
        found = np.concatenate(parts) if parts else np.empty(0, np.int64)
        return FoundRows(self._row, known, found, hits, at_end, block, row, is_all)

    def take(self, found: FoundRows) -> None:
        """For the owner."""
        self.rows.cut(found.first)
        self.rows.extend(found.known, found.rows)
        self.hits += found.hits - self._provisional
        self._provisional = found.hits_at_end
        self._block, self._row, self.is_all = found.next_block, found.next_row, found.is_all


def hits_of(pattern: SearchPattern) -> Judge:
    def judge(chunk: Chunk) -> tuple[RowNumbers, int]:
        places = pattern.places(chunk.data)
        if not len(places):
            return places, 0
        return lines_of(places, chunk) + chunk.first, len(places)

    return judge


def first_hit(
    document: LogDocument, pattern: SearchPattern, row: int, *, backwards: bool, token: CancelToken
) -> int | None:
    """The next row behind this one that has it, or the last in front of it."""
    if backwards:
        return _last_before(document, pattern, row, token)
    block: int | None = document.block_before(row + 1)
    while block is not None:
        token.check()
        chunk = document.chunk(block)
        if chunk is None:
            return None
        rows = pattern.lines(chunk) + chunk.first
        later = rows[rows > row]
        if len(later):
            return int(later[0])
        block = chunk.next_block
    return None


def _last_before(document: LogDocument, pattern: SearchPattern, row: int, token: CancelToken) -> int | None:
    block = document.block_before(row)
    while True:
        token.check()
        chunk = document.chunk(block)
        if chunk is not None:
            rows = pattern.lines(chunk) + chunk.first
            earlier = rows[rows < row]
            if len(earlier):
                return int(earlier[-1])
            row = min(row, chunk.first)
        if block == 0:
            return None
        block = max(0, min(block - 1, document.block_before(row)))
