"""Tags of training jobs: what a tag may be, and the conditions to find jobs by them."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from traindeck.lab.training.api.routes import RefusedError, checked_workspace, list_in, text_in
from traindeck.lab.training.database import Where

MAX_TAGS = 20
_MAX_KEY = 128
_MAX_VALUE = 255
_MAX_WANTED = 10
_KEY = re.compile(r"[\w .:=+\-@]+")
_VALUE = re.compile(r"[\w .:=+\-@/]*")

Tag = dict[str, str]


def read_tags(rows: Iterable[Any]) -> list[Tag]:
    """The tags, one for each key; the last value given for a key counts."""
    tags: dict[str, str] = {}
    for row in rows:
        key = _key(row)
        tags[key] = _value(text_in(row, "value"))
    return _rows(tags)


def merged(old: Iterable[Tag], new: Iterable[Tag]) -> list[Tag]:
    tags = {tag["key"]: tag["value"] for tag in (*old, *new)}
    if len(tags) > MAX_TAGS:
        raise RefusedError("2815", f"a job can have at most {MAX_TAGS} tags")
    return _rows(tags)


def without(old: Iterable[Tag], rows: Iterable[Any]) -> list[Tag]:
    """The tags that are left when those of the given keys go; a value that is given must be theirs."""
    left = {tag["key"]: tag["value"] for tag in old}
    for row in rows:
        key = _key(row)
        if row.get("value") in (None, left.get(key)):
            left.pop(key, None)
    return _rows(left)


def by_key(tags: Iterable[Tag]) -> list[dict[str, Any]]:
    """Every key once, with all its values."""
    values: dict[str, set[str]] = {}
    for tag in tags:
        values.setdefault(tag["key"], set()).add(tag["value"])
    return [{"key": key, "values": sorted(values[key])} for key in sorted(values)]


def tag_conditions(rows: list[Any]) -> Where:
    """Jobs that have all keys, each with one of its values."""
    if len(rows) > _MAX_WANTED:
        raise RefusedError("2809", f"jobs can be searched by at most {_MAX_WANTED} tags")
    where: Where = []
    for row in rows:
        if not isinstance(row, Mapping):
            raise RefusedError("2809", "every tag must be an object")
        wanted = list_in(row, "values")
        if len(wanted) > _MAX_WANTED or not all(isinstance(value, str) for value in wanted):
            raise RefusedError("2809", f"a tag is searched by at most {_MAX_WANTED} texts")
        marks = ", ".join("?" * len(wanted))
        with_value = f" AND json_extract(tag.value, '$.value') IN ({marks})" if wanted else ""
        condition = (
            "EXISTS (SELECT 1 FROM json_each(document, '$.metadata.tags') AS tag"
            f" WHERE json_extract(tag.value, '$.key') = ?{with_value})"
        )
        where.append((condition, [_key(row), *wanted]))
    return where


def read_tag_search(body: Mapping[str, Any], project_id: str) -> Where:
    """The jobs the two operations on tagged resources ask for."""
    workspace_id = checked_workspace(body.get("workspace_id"))
    where: Where = [("project_id = ?", [project_id]), ("workspace_id = ?", [workspace_id])]
    tags = list_in(body, "tags")
    if body.get("without_any_tag") is True:
        where.append(("coalesce(json_array_length(document, '$.metadata.tags'), 0) = 0", []))
    else:
        where += tag_conditions(tags)
    matches = list_in(body, "matches")
    if len(matches) > 1:
        raise RefusedError("2809", "there can be one match only")
    for match in matches:
        if not isinstance(match, Mapping) or match.get("key") != "resource_name":
            raise RefusedError("2807", "jobs can be matched by resource_name only")
        where.append(("instr(name, ?) > 0", [text_in(match, "value")]))
    return where


def _key(row: Any) -> str:
    if not isinstance(row, Mapping):
        raise RefusedError("0104", "every tag must be an object")
    key = text_in(row, "key")
    is_good = 1 <= len(key) <= _MAX_KEY and _KEY.fullmatch(key) and key == key.strip(" ")
    if not is_good or key.startswith("_sys_"):
        raise RefusedError("0104", f"{key!r} cannot be the key of a tag")
    return key


def _value(value: str) -> str:
    if len(value) > _MAX_VALUE or not _VALUE.fullmatch(value):
        raise RefusedError("0104", f"{value!r} cannot be the value of a tag")
    return value


def _rows(tags: Mapping[str, str]) -> list[Tag]:
    return [{"key": key, "value": value} for key, value in tags.items()]
