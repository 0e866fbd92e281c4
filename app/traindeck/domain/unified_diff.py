"""What differs between two texts, as difflib writes it, in a time that grows with them and not with their square."""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

_MOST_PAIRS = 400_000


def unified_diff(old: Sequence[str], new: Sequence[str], before: str, after: str) -> Iterator[str]:
    """Lines without their ends, under these two names."""
    matcher = _Matcher(old, new)
    for number, group in enumerate(matcher.get_grouped_opcodes()):
        if not number:
            yield from (f"--- {before}", f"+++ {after}")
        first, last = group[0], group[-1]
        yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@"
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from (f" {line}" for line in old[i1:i2])
                continue
            yield from (f"-{line}" for line in old[i1:i2])
            yield from (f"+{line}" for line in new[j1:j2])


class _Matcher(difflib.SequenceMatcher[str]):
    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        super().__init__()
        self._texts = old, new

    def get_matching_blocks(self) -> list[difflib.Match]:
        old, new = self._texts
        return [*_same(old, new), difflib.Match(len(old), len(new), 0)]


def _range(start: int, stop: int) -> str:
    length = stop - start
    if length == 1:
        return f"{start + 1}"
    return f"{start + 1 if length else start},{length}"


def _same(old: Sequence[str], new: Sequence[str]) -> list[difflib.Match]:
    """Between lines that are there once before and once after, and in the same order, only little is left to search."""
    found: list[difflib.Match] = []
    i = j = 0
    for next_i, next_j in (*_anchors(old, new), (len(old), len(new))):
        for match in _same_between(old[i:next_i], new[j:next_j]):
            _add(found, i + match.a, j + match.b, match.size)
        if next_i < len(old):
            _add(found, next_i, next_j, 1)
        i, j = next_i + 1, next_j + 1
    return found


def _add(found: list[difflib.Match], i: int, j: int, size: int) -> None:
    if found and (found[-1].a + found[-1].size, found[-1].b + found[-1].size) == (i, j):
        size += found[-1].size
        i, j = found[-1].a, found[-1].b
        found.pop()
    if size:
        found.append(difflib.Match(i, j, size))


def _same_between(old: Sequence[str], new: Sequence[str]) -> list[difflib.Match]:
    least = min(len(old), len(new))
    begin = next((n for n in range(least) if old[n] != new[n]), least)
    rest = least - begin
    end = next((n for n in range(rest) if old[-1 - n] != new[-1 - n]), rest)
    middle_old, middle_new = old[begin : len(old) - end], new[begin : len(new) - end]
    middle = _searched(middle_old, middle_new) if middle_old and middle_new else []
    return [
        difflib.Match(0, 0, begin),
        *(difflib.Match(begin + one.a, begin + one.b, one.size) for one in middle),
        difflib.Match(len(old) - end, len(new) - end, end),
    ]


def _searched(old: Sequence[str], new: Sequence[str]) -> list[difflib.Match]:
    is_large = len(old) * len(new) > _MOST_PAIRS  # then lines that come often are no help
    return difflib.SequenceMatcher(None, old, new, autojunk=is_large).get_matching_blocks()


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """The longest row of them in which both numbers rise."""
    before, after = Counter(old), Counter(new)
    places = {line: number for number, line in enumerate(new) if after[line] == 1}
    pairs = [(number, places[line]) for number, line in enumerate(old) if before[line] == 1 and line in places]
    ends: list[int] = []
    tails: list[int] = []
    previous: list[int] = []
    for number, (_, j) in enumerate(pairs):
        at = bisect_left(ends, j)
        previous.append(tails[at - 1] if at else -1)
        ends[at : at + 1] = [j]
        tails[at : at + 1] = [number]
    row = []
    number = tails[-1] if tails else -1
    while number >= 0:
        row.append(pairs[number])
        number = previous[number]
    return row[::-1]
