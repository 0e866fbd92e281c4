"""A unified diff as rows to be shown: each line with its number on either side, changed lines beside each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import zip_longest

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class DiffKind(Enum):
    SAME = auto()
    REMOVED = auto()
    ADDED = auto()
    CHANGED = auto()
    """Beside each other: one line took the place of another."""
    SKIPPED = auto()
    """Lines that are the same, and were left out."""


@dataclass(frozen=True, slots=True)
class DiffRow:
    kind: DiffKind
    left: str = ""
    right: str = ""
    left_number: int | None = None
    right_number: int | None = None


def side_by_side(lines: Sequence[str]) -> list[DiffRow]:
    """What was removed beside what was added in its place."""
    return [row for block in _blocks(lines) for row in _beside(block)]


def one_below_the_other(lines: Sequence[str]) -> list[DiffRow]:
    """As a unified diff has them; the words of each are on the left."""
    return [row for block in _blocks(lines) for row in block]


def changes_at(rows: Sequence[DiffRow]) -> list[int]:
    """Where each difference begins."""
    begun = []
    for number, row in enumerate(rows):
        differs = row.kind not in (DiffKind.SAME, DiffKind.SKIPPED)
        before = rows[number - 1].kind if number else DiffKind.SAME
        if differs and before in (DiffKind.SAME, DiffKind.SKIPPED):
            begun.append(number)
    return begun


def _blocks(lines: Sequence[str]) -> Iterator[list[DiffRow]]:
    """Lines that are the same, each in a list of its own, and each run of those that are not in one."""
    left = right = 0
    block: list[DiffRow] = []
    for line in lines[2:]:
        if hunk := _HUNK.match(line):
            yield block
            block = []
            if left or int(hunk[1]) > 1 or int(hunk[3]) > 1:
                yield [DiffRow(DiffKind.SKIPPED)]
            left, right = int(hunk[1]), int(hunk[3])
            continue
        words = line[1:]
        if line.startswith("-"):
            block.append(DiffRow(DiffKind.REMOVED, words, "", left, None))
            left += 1
        elif line.startswith("+"):
            block.append(DiffRow(DiffKind.ADDED, words, words, None, right))
            right += 1
        else:
            yield block
            block = []
            yield [DiffRow(DiffKind.SAME, words, words, left, right)]
            left, right = left + 1, right + 1
    yield block


def _beside(block: Sequence[DiffRow]) -> Iterator[DiffRow]:
    if block and block[0].kind in (DiffKind.SAME, DiffKind.SKIPPED):
        yield from block
        return
    old = [row for row in block if row.kind is DiffKind.REMOVED]
    new = [row for row in block if row.kind is DiffKind.ADDED]
    for before, after in zip_longest(old, new):
        if before is None:
            yield DiffRow(DiffKind.ADDED, "", after.right, None, after.right_number)
        elif after is None:
            yield before
        else:
            yield DiffRow(DiffKind.CHANGED, before.left, after.right, before.left_number, after.right_number)
