"""What the filter box asks of a line: words, `/expressions/`, what must not be in it, and how grave it is."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from traindeck.services.logs.line_pattern import SearchPattern
from traindeck.services.logs.log_document import Chunk
from traindeck.services.logs.row_set import RowNumbers
from traindeck.services.logs.wanted import LineLevel, Wanted

_PARTS = re.compile(r'(-?)(?:/((?:[^/\\]|\\.)+)/(?=\s|$)|"([^"]*)"|(\S+))')

ERROR_WORDS = (
    r"\b(?:ERROR|FATAL|CRITICAL|SEVERE|PANIC)\b|\[E\]|^E[ /]|Traceback \(most recent call last\)"
    r"|^(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Interrupt)\b(?:: |$)"
)
_WARNING_WORDS = r"\bWARN(?:ING)?\b|\[W\]|^W[ /]|\b\w*Warning: "
_DEBUG_WORDS = r"\b(?:DEBUG|TRACE|VERBOSE)\b|\[D\]|^D[ /]"


def error_pattern() -> SearchPattern:
    """Of lines that tell of an error."""
    return SearchPattern(Wanted(ERROR_WORDS, is_expression=True, minds_case=True))


@dataclass(frozen=True, slots=True)
class LineFilter:
    """All of the first and none of the second."""

    wanted: tuple[SearchPattern, ...] = ()
    unwanted: tuple[SearchPattern, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.wanted or self.unwanted)

    def rows(self, chunk: Chunk) -> RowNumbers:
        count = chunk.count
        fits = np.ones(count, bool)
        for pattern in self.wanted:
            has = np.zeros(count, bool)
            has[pattern.lines(chunk)] = True
            fits &= has
            if not fits.any():
                break
        for pattern in self.unwanted:
            fits[pattern.lines(chunk)] = False
        return np.flatnonzero(fits) + chunk.first

    def highlights(self, words: str) -> list[tuple[int, int]]:
        """What in a line it was chosen for."""
        return [span for pattern in self.wanted for span in pattern.spans(words)]


def filter_of(typed: str, level: LineLevel = LineLevel.ALL) -> LineFilter:
    """An expression that cannot be used is refused with a sentence."""
    wanted: list[SearchPattern] = []
    unwanted: list[SearchPattern] = []
    for found in _PARTS.finditer(typed):
        minus, expression, quoted, word = found.groups()
        if minus and word is None and quoted is None and expression is None:
            continue
        if word == "-" or not (expression or quoted or word):
            continue
        words = expression or quoted or word
        (unwanted if minus else wanted).append(SearchPattern(Wanted(words, is_expression=expression is not None)))
    match level:
        case LineLevel.ERRORS:
            wanted.append(error_pattern())
        case LineLevel.WARNINGS:
            both = f"{ERROR_WORDS}|{_WARNING_WORDS}"
            wanted.append(SearchPattern(Wanted(both, is_expression=True, minds_case=True)))
        case LineLevel.NO_DEBUG:
            unwanted.append(SearchPattern(Wanted(_DEBUG_WORDS, is_expression=True, minds_case=True)))
    return LineFilter(tuple(wanted), tuple(unwanted))
