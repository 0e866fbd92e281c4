"""Lines that say the same as the one before them."""

from __future__ import annotations

import numpy as np

from traindeck.services.logs.log_document import Chunk
from traindeck.services.logs.log_index import LONGEST_ROW
from traindeck.services.logs.row_set import RowNumbers

_SAMPLES = 4
_PART = LONGEST_ROW - 8
"""From so many bytes on a row may be a part of one long line: its parts are no repeats of each other."""


class FoldedRepeats:
    """Which rows are no repeats; asked in the order of the log."""

    def __init__(self) -> None:
        self._last: dict[int, bytes] = {}
        """The last line of the piece before a row, by that row: the newest piece is asked for again as it grows."""

    def judge(self, chunk: Chunk) -> tuple[RowNumbers, int]:
        begins = np.concatenate([[0], chunk.ends[:-1]])
        is_new = np.ones(len(chunk.ends), bool)
        first = chunk.data[: chunk.ends[0]]
        is_new[0] = not chunk.first or len(first) >= _PART or first != self._last.get(chunk.first, b"")
        for row in _same_as_before(chunk.data, begins, chunk.ends):
            is_new[row] = False
        if chunk.next_block is not None:
            self._last = {chunk.first + len(begins): chunk.data[begins[-1] : chunk.ends[-1]]} | {
                row: line for row, line in self._last.items() if row == chunk.first
            }
        return np.flatnonzero(is_new) + chunk.first, 0


def _same_as_before(data: bytes, begins: RowNumbers, ends: RowNumbers) -> list[int]:
    lengths = ends - begins
    rows = np.flatnonzero((lengths[1:] == lengths[:-1]) & (lengths[1:] > 0) & (lengths[1:] < _PART)) + 1
    signs = np.frombuffer(data, np.uint8)
    # A few places of each tell most of them apart without a turn of the interpreter.
    for part in range(1, _SAMPLES + 1):
        offsets = lengths[rows] * part // (_SAMPLES + 1)
        rows = rows[signs[begins[rows] + offsets] == signs[begins[rows - 1] + offsets]]
    return [row for row in rows.tolist() if data[begins[row] : ends[row]] == data[begins[row - 1] : ends[row - 1]]]
