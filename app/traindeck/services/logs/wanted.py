"""What somebody looks for in a log, as it was typed and chosen."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is looked for, as it was typed."""

    words: str
    is_expression: bool = False
    minds_case: bool = False
    is_whole_word: bool = False


NOT_BREAKING = "\xa0"
# These are the same as two letters where case does not matter.
_WRITTEN_OUT = {"ss": "(?:ss|[ßẞ])"}


class LineLevel(Enum):
    """How grave a line has to be."""

    ALL = "all"
    NO_DEBUG = "no-debug"
    WARNINGS = "warnings"
    ERRORS = "errors"


def expression_of(wanted: Wanted) -> str:
    """For `BoundedExpression`."""
    if wanted.is_expression:
        inside = wanted.words
        if wanted.is_whole_word:
            inside = rf"\b(?:{inside})\b"
    else:
        inside = _quoted(wanted)
    return f"(?m{'' if wanted.minds_case else 'i'}){inside}"


def _quoted(wanted: Wanted) -> str:
    words = wanted.words
    quoted: str = re.escape(words.replace(NOT_BREAKING, " ")).replace("\\ ", "[ \xa0]")
    if not wanted.minds_case:
        quoted = re.escape(words.replace(NOT_BREAKING, " ").casefold()).replace("\\ ", "[ \xa0]")
        for pair, either in _WRITTEN_OUT.items():
            quoted = quoted.replace(pair, either)
    if wanted.is_whole_word and words:
        # Only letters and digits of ASCII have such an edge; Chinese is written without spaces.
        quoted = (r"\b" if _is_of_word(words[0]) else "") + quoted + (r"\b" if _is_of_word(words[-1]) else "")
    return quoted


def _is_of_word(sign: str) -> bool:
    return sign == "_" or (sign.isascii() and sign.isalnum())
