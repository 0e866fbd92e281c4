"""Where in the text of a JSON document its parts stand."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

JsonPath = tuple[str | int, ...]
"""How to get to a part: names of members and numbers in lists."""

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


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
        document = json.loads(content, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise NotJson(error.msg, TextPosition(error.lineno, error.colno)) from error
    except RecursionError as error:
        raise NotJson("nested too deeply", TextPosition(1, 1)) from error
    except _NoNumber as error:
        at = re.search(rf"(?<![\w\"]){re.escape(str(error))}(?![\w\"])", content)
        raise NotJson("Expecting value", place_at(content, at.start() if at else 0)) from error
    return Located(document, _places(content))


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
    found: dict[JsonPath, TextPosition] = {}
    way: list[str | int] = []
    inside: list[str] = []  # "{": a name is next, ":": its value, "[": the next of a list
    line, line_start, seen = 1, 0, 0
    for token in _TOKEN.finditer(content):
        start, sign = token.start(), token.group()
        newlines = content.count("\n", seen, start)
        if newlines:
            line += newlines
            line_start = content.rfind("\n", 0, start) + 1
        seen = start
        place = TextPosition(line, start - line_start + 1)
        if sign in "}]":
            if inside.pop() != "{":  # else it is an object without members
                way.pop()
            continue
        if sign == ",":
            last = way.pop()
            if isinstance(last, int):
                way.append(last + 1)
            else:
                inside[-1] = "{"
            continue
        if sign == ":":
            inside[-1] = ":"
            continue
        if inside and inside[-1] == "{":
            way.append(json.loads(sign))
            if tuple(way) in found:
                raise NamedTwice(str(way[-1]), place)
            found[tuple(way)] = place
            continue
        found.setdefault(tuple(way), place)
        if sign == "{":
            inside.append("{")
        elif sign == "[":
            inside.append("[")
            way.append(0)
    return found
