"""Where in the text of a JSON document its parts stand."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

JsonPath = tuple[str | int, ...]
"""How to get to a part: names of members and numbers in lists."""

_BLANKS = re.compile(r"[ \t\n\r]+")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class TextPosition:
    """Both count from 1, as editors do."""

    line: int
    column: int


class NotJson(ValueError):
    """What is wrong, and where."""

    def __init__(self, problem: str, place: TextPosition) -> None:
        super().__init__(problem)
        self.problem = problem
        self.place = place


class NamedTwice(NotJson):
    """A member is there twice; readers would take only the last."""


@dataclass(frozen=True, slots=True)
class Located:
    """A document and where its parts begin; of a member that is its name."""

    document: object
    places: Mapping[JsonPath, TextPosition]

    def place(self, way: JsonPath) -> TextPosition:
        """Of the part, or of the nearest one around it."""
        while way not in self.places:
            way = way[:-1]
        return self.places[way]


def located(content: str) -> Located:
    """Read strictly: no NaN, no member twice."""
    try:
        return Located(json.loads(content, parse_constant=_no_number), _places(content))
    except json.JSONDecodeError as error:
        raise NotJson(error.msg, TextPosition(error.lineno, error.colno)) from error
    except RecursionError as error:
        raise NotJson("nested too deeply", TextPosition(1, 1)) from error
    except _NoNumber as error:
        at = re.search(rf"(?<![\w\"]){re.escape(str(error))}(?![\w\"])", content)
        raise NotJson("Expecting value", place_at(content, at.start() if at else 0)) from error


def place_at(content: str, offset: int) -> TextPosition:
    before = content[:offset]
    return TextPosition(before.count("\n") + 1, offset - before.rfind("\n"))


def offset_of(content: str, place: TextPosition) -> int:
    lines = content.split("\n")
    row = min(place.line, len(lines)) - 1
    return sum(len(line) + 1 for line in lines[:row]) + min(place.column - 1, len(lines[row]))


class _NoNumber(ValueError):
    pass


def _no_number(name: str) -> NoReturn:
    raise _NoNumber(name)


def _places(content: str) -> dict[JsonPath, TextPosition]:
    """Of a document that could be read."""
    line_starts = [0, *(newline.end() for newline in re.finditer("\n", content))]
    found: dict[JsonPath, TextPosition] = {}

    def position(at: int) -> TextPosition:
        line = bisect_right(line_starts, at)
        return TextPosition(line, at - line_starts[line - 1] + 1)

    def after_blanks(at: int) -> int:
        blanks = _BLANKS.match(content, at)
        return blanks.end() if blanks else at

    def read(at: int, way: JsonPath) -> int:
        """The value that begins here; the answer is what comes behind it and its blanks."""
        found.setdefault(way, position(at))
        opened = content[at]
        if opened not in "{[":
            return after_blanks(_DECODER.raw_decode(content, at)[1])
        number, at = 0, after_blanks(at + 1)
        while content[at] not in "}]":
            if opened == "{":
                name, end = _DECODER.raw_decode(content, at)
                if (*way, name) in found:
                    raise NamedTwice(name, position(at))
                found[(*way, name)] = position(at)
                at = read(after_blanks(after_blanks(end) + 1), (*way, name))
            else:
                at = read(at, (*way, number))
                number += 1
            if content[at] == ",":
                at = after_blanks(at + 1)
        return after_blanks(at + 1)

    read(after_blanks(0), ())
    return found
