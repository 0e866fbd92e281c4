"""Places in a document of the service, written as JSON pointers; rows with a name are found by it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

ROWS = ("/algorithm/parameters", "/algorithm/inputs", "/algorithm/outputs")
"""The lists whose rows have names; in a pointer the name stands for the row."""


def parts_of(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def pointer_of(parts: tuple[str, ...]) -> str:
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)


def put(document: dict[str, Any], pointer: str, value: Any) -> None:
    """Set what stands at a place; a row that is not there takes nothing in."""
    *way, last = parts_of(pointer)
    inside: Any = document
    for depth, part in enumerate(way):
        inside = _into(inside, part, may_grow=not _is_row(way[:depth]))
        if inside is None:
            return
    if isinstance(inside, dict):
        inside[last] = value


def _is_row(way: list[str]) -> bool:
    return "/" + "/".join(way) in ROWS


def _into(inside: Any, part: str, *, may_grow: bool) -> Any:
    if isinstance(inside, list):
        return next((row for row in inside if isinstance(row, dict) and row.get("name") == part), None)
    if not isinstance(inside, dict):
        return None
    if not isinstance(inside.get(part), dict | list):
        if not may_grow:
            return None
        inside[part] = {}
    return inside[part]


def take(document: dict[str, Any], pointer: str) -> Any:
    """What stands at a place, which is empty afterwards; None: nothing does."""
    *way, last = parts_of(pointer)
    inside: Any = document
    for part in way:
        inside = inside.get(part) if isinstance(inside, dict) else None
    return inside.pop(last, None) if isinstance(inside, dict) else None


def leaves(document: Mapping[str, Any], way: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Every place that holds something, and its JSON; what the service writes for nothing is nothing."""
    for name, value in document.items():
        here = (*way, name)
        if value is None or value == "" or value == [] or value == {}:
            continue
        if isinstance(value, dict):
            yield from leaves(value, here)
        elif pointer_of(here) in ROWS and isinstance(value, list):
            for row in value:
                if isinstance(row, dict) and row.get("name"):
                    rest = {key: part for key, part in row.items() if key != "name"}
                    yield from leaves(rest, (*here, str(row["name"])))
        else:
            yield pointer_of(here), json.dumps(value, ensure_ascii=False, sort_keys=True)
