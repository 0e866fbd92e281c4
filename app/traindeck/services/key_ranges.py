"""Where to part a range of names that nobody has seen yet, so that several can list it at once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

_LOW, _HIGH, _TOP = 0x20, 0x7F, 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)
_DIGITS = "0123456789"


@dataclass(frozen=True, slots=True)
class Span:
    """Names behind the one and up to the other; None is the end of all."""

    after: str
    upto: str | None


def spans_between(after: str, edges: list[str], upto: str | None, most: int) -> list[Span]:
    """The range parted at some of the edges, evenly chosen."""
    inside = sorted(edge for edge in set(edges) if edge > after and (upto is None or edge < upto))
    step = max(1, -(-len(inside) // most))
    cuts: list[str | None] = [after, *inside[step - 1 :: step], upto]
    return [Span(start or "", end) for start, end in pairwise(cuts)]


def beyond_family(first: str, last: str) -> str:
    """Behind every name that begins as both of these do, counters left aside."""
    return _shared(first, last).rstrip(_DIGITS) + chr(_HIGH)


def middle(after: str, upto: str | None) -> str | None:
    """A name about half-way, by the order of characters; None: there is no room for one."""
    same = _shared(after, upto or "")
    start = len(same)
    low = ord(after[start]) if start < len(after) else _LOW - 1
    high = _HIGH if upto is None else ord(upto[start])
    if low >= _HIGH and upto is None:
        high = _TOP
    if high - low > 1:
        return same + chr(_allowed((low + high) // 2, low))
    if start >= len(after):
        return None
    rest = middle(after[start + 1 :], None)
    return None if rest is None else same + after[start] + rest


def _shared(one: str, other: str) -> str:
    """What both begin with."""
    length = next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None)
    return one[: min(len(one), len(other)) if length is None else length]


def _allowed(letter: int, low: int) -> int:
    if letter not in _SURROGATES:
        return letter
    return _SURROGATES.start - 1 if low < _SURROGATES.start - 1 else _SURROGATES.stop
