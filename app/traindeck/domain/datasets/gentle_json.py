"""JSON read and written piece by piece.

A reader that takes a file of hundreds of megabytes at once lets no other thread of the program on for many seconds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_SPACE = re.compile(r"[ \t\n\r]*")
_PIECEWISE = 2
"""So many levels are walked; what is deeper is small, and read at once."""


def loads(content: str) -> Any:
    """As `json.loads`; ValueError where it is no JSON, or is deeper than any index."""
    try:
        found, at = _value(content, _behind_space(content, 0), _PIECEWISE)
    except (IndexError, RecursionError) as error:
        raise ValueError("not JSON") from error
    if _behind_space(content, at) != len(content):
        raise ValueError(f"more behind the end at {at}")
    return found


def dumps(found: Any) -> str:
    """In one line, letters as they are."""
    return "".join(_pieces(found, _PIECEWISE)) + "\n"


_decode = json.JSONDecoder().raw_decode


def _value(content: str, at: int, levels: int) -> tuple[Any, int]:
    if not levels or content[at] not in "[{":
        return _decode(content, at)
    return _list(content, at + 1, levels) if content[at] == "[" else _object(content, at + 1, levels)


def _list(content: str, at: int, levels: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    at = _behind_space(content, at)
    if content[at] == "]":
        return found, at + 1
    while True:
        value, at = _value(content, at, levels - 1)
        found.append(value)
        at = _behind_space(content, at)
        if content[at] == "]":
            return found, at + 1
        at = _behind(content, at, ",")


def _object(content: str, at: int, levels: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    at = _behind_space(content, at)
    if content[at] == "}":
        return found, at + 1
    while True:
        if content[at] != '"':
            raise ValueError(f"no name at {at}")
        name, at = _decode(content, at)
        at = _behind(content, _behind_space(content, at), ":")
        found[name], at = _value(content, at, levels - 1)
        at = _behind_space(content, at)
        if content[at] == "}":
            return found, at + 1
        at = _behind(content, at, ",")


def _behind(content: str, at: int, sign: str) -> int:
    if content[at] != sign:
        raise ValueError(f"no “{sign}” at {at}")
    return _behind_space(content, at + 1)


def _behind_space(content: str, at: int) -> int:
    match = _SPACE.match(content, at)
    return match.end() if match else at


def _pieces(found: Any, levels: int) -> Iterator[str]:
    if not levels or not isinstance(found, dict | list):
        yield json.dumps(found, ensure_ascii=False)
        return
    is_object = isinstance(found, dict)
    yield "{" if is_object else "["
    for number, one in enumerate(found):
        yield ", " if number else ""
        if is_object:
            yield f"{json.dumps(one, ensure_ascii=False)}: "
        yield from _pieces(found[one] if is_object else one, levels - 1)
    yield "}" if is_object else "]"
