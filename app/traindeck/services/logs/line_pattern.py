"""Words or an expression to look for in lines, in time that grows with the text alone."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from traindeck.services.logs.bounded_expression import BoundedExpression
from traindeck.services.logs.wanted import NOT_BREAKING, Wanted, expression_of

if TYPE_CHECKING:
    from traindeck.services.logs.log_document import Chunk

Places = npt.NDArray[np.int64]

# Where case does not matter, these are the same as one letter of ASCII, or as two.
_SAME_AS_ASCII = (b"\xc5\xbf", b"\xe2\x84\xaa", b"\xc3\x9f", b"\xe1\xba\x9e")
_MANY = 300
_RARE_FIRST = b"zqjxkvbpgwyfmucldhrsniota0123456789e \t"


class SearchPattern:
    """Looks through whole lines at once, or through the words of one."""

    def __init__(self, wanted: Wanted) -> None:
        """What cannot be used is refused with a sentence."""
        self.wanted = wanted
        if wanted.is_expression and wanted.is_whole_word:
            BoundedExpression(wanted.words)  # by itself: what is wrong with it is not what is put around it
        self._expression = BoundedExpression(expression_of(wanted), typed=wanted.words)
        self._literal = _literal(wanted)
        self._spoilers: tuple[bytes, ...] = () if wanted.minds_case else _SAME_AS_ASCII
        if b" " in self._literal:
            self._spoilers += (NOT_BREAKING.encode(),)
        self.may_be_empty = self._expression.is_in(b"")

    def places(self, data: bytes) -> Places:
        """Where it begins in these lines, each time; two share no character."""
        spans = self._expression.spans(data)
        if not self._literal or (not data.isascii() and any(sign in data for sign in self._spoilers)):
            return np.fromiter((begin for begin, end in spans if end > begin), np.int64)
        # A hit costs a turn of the interpreter: where they are many, bytes are compared instead, all at once.
        few = np.fromiter((begin for begin, _ in islice(spans, _MANY)), np.int64)
        if len(few) < _MANY:
            return few
        return literal_places(data if self.wanted.minds_case else data.lower(), self._literal)

    def lines(self, chunk: Chunk) -> Places:
        """The lines that have it, by their numbers in these."""
        if not self.may_be_empty:
            places = self.places(chunk.data)
            return lines_of(places, chunk) if len(places) else places
        ends, found, data = chunk.ends.tolist(), self._expression.is_in, chunk.data
        lines = enumerate(zip([0, *ends[:-1]], ends, strict=True))
        return np.fromiter((n for n, (a, b) in lines if found(data[a:b].rstrip(b"\n"))), np.int64)

    def spans(self, words: str) -> list[tuple[int, int]]:
        """Where it begins and ends in the words of a line, from left to right."""
        return [span for span in self._expression.spans(words) if span[1] > span[0]]


def lines_of(places: Places, chunk: Chunk) -> Places:
    """The lines these places are in, each once."""
    rows = np.searchsorted(chunk.ends, places, side="right")
    is_first = np.empty(len(rows), bool)
    is_first[:1] = True
    np.not_equal(rows[1:], rows[:-1], out=is_first[1:])
    return rows[is_first]


def literal_places(data: bytes, literal: bytes) -> Places:
    """Where these bytes are, without a turn of the interpreter for each."""
    signs = np.frombuffer(data, np.uint8)
    if len(signs) < len(literal):
        return np.empty(0, np.int64)
    order = sorted(range(len(literal)), key=lambda place: _rarity(literal[place]))
    first = order[0]
    last = len(signs) - len(literal) + first + 1
    found = np.flatnonzero(signs[first:last] == literal[first])
    for place in order[1:]:
        if not len(found):
            break
        found = found[signs[found + place] == literal[place]]
    return found


def _rarity(sign: int) -> int:
    return _RARE_FIRST.find(bytes([sign]))


def _literal(wanted: Wanted) -> bytes:
    """The same as bytes, for what needs no expression; nothing otherwise."""
    words = wanted.words.replace(NOT_BREAKING, " ")
    if wanted.is_expression or wanted.is_whole_word:
        return b""
    if not wanted.minds_case:
        if any(sign > "\x7f" and sign.casefold() != sign.upper() for sign in words):
            return b""
        words = words.lower()
    literal = words.encode("utf-8", "replace")
    overlaps = any(literal.startswith(literal[-length:]) for length in range(1, len(literal)))
    return b"" if overlaps else literal
