"""“Track this number”: a number that somebody selected in a line of a log, found again in the lines that come."""

from __future__ import annotations

import re
from dataclasses import dataclass

from traindeck.domain.errors import InvalidInput
from traindeck.domain.readings.patterns import NUMBER
from traindeck.domain.texts import text

MOST_AROUND = 40
MOST_NAME = 40
_MOST_AFTER = 8
_DIGITS = ".0123456789"
_NUMBER = re.compile(NUMBER)
_VALUE = rf"({NUMBER}|[-+]?(?:nan|inf|NaN|Inf))"
_PIECES = re.compile(r"[-+]?\d+(?:[.,]\d+)*(?:[eE][-+]?\d+)?|\s+|[^\d\s]")


@dataclass(frozen=True, slots=True)
class TrackedNumber:
    """What stands around a number tells it from others; numbers and blanks there may be others next time."""

    name: str
    before: str
    after: str = ""

    @property
    def expression(self) -> str:
        """Its first group is the number. Bounded, so that it is quick on any line."""
        return f"{_general(self.before[-MOST_AROUND:])}{_VALUE}{re.escape(self.after[:_MOST_AFTER])}"


def tracked_number(line: str, begin: int, end: int, name: str = "") -> TrackedNumber:
    """The number in the selected piece of a line, whole where a part of it was selected, or the one right behind.

    InvalidInput: there is none.
    """
    while 0 < begin < len(line) and line[begin] in _DIGITS and line[begin - 1] in _DIGITS:
        begin -= 1
    if 0 < begin < len(line) and line[begin] in _DIGITS and line[begin - 1] in "+-":
        begin -= 1
    match = _NUMBER.search(line, max(0, begin))
    if match is None or match.start() >= max(end, begin + 1) + _MOST_AFTER:
        raise InvalidInput(
            text("The selection has no number."), text("Select a number in a line, with the words before it.")
        )
    before = line[max(0, match.start() - MOST_AROUND) : match.start()]
    if match.start() > MOST_AROUND:  # not from the middle of a word
        before = before.partition(" ")[2] or before
    after = re.match(r"[^\d\s]{0,8}", line[match.end() :])
    return TrackedNumber((name.strip() or _name(before))[:MOST_NAME], before, after[0] if after else "")


def _general(words: str) -> str:
    pieces = []
    for piece in _PIECES.findall(words):
        if piece[-1].isdecimal():  # as the expression means it: a raised digit is none
            pieces.append(r"[-+]?\d[\d.,eE+-]{0,30}")
        elif piece.isspace():
            pieces.append(r"\s{1,40}")
        else:
            pieces.append(re.escape(piece))
    return "".join(pieces)


def _name(before: str) -> str:
    words = re.findall(r"[^\W\d_][\w./%-]*", before)
    return " ".join(words[-2:]) or "number"
