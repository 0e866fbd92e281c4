"""How rows of a bucket are chosen and sorted, as SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from traindeck.domain.storage.objects import Column, Look

BEYOND = "\U0010ffff"
"""Sorts behind every name in a folder."""


@dataclass(frozen=True, slots=True)
class OrderQueries:
    """Numbers of folders (negative) and of objects by rank, and the bytes of the objects."""

    folders: str
    objects: str
    total: str
    values: Mapping[str, object]


def order_queries(look: Look, begin: str = "") -> OrderQueries:
    """`begin`: only what is named so at its beginning."""
    values: dict[str, object] = {"start": look.folder, "end": look.folder + BEYOND}
    words = look.search.split()
    if words:
        objects, folders = _named("key", words, values), _named("rtrim(path, '/')", words, values)
        objects = f"key >= :start AND key < :end AND cut >= 0 AND {objects}"
        folders = f"path > :start AND path < :end AND {folders}"
    else:
        values["cut"] = len(look.folder)
        objects = "cut = :cut AND key >= :start AND key < :end"
        folders = "cut = :cut AND path > :start AND path < :end"
    if begin:
        values["begin"] = f"{_literal(begin)}%"
        objects = f"{objects} AND substr(key, cut + 1) LIKE :begin ESCAPE '!'"
        folders = f"{folders} AND substr(path, cut + 1) LIKE :begin ESCAPE '!'"
    way = "DESC" if look.descending else "ASC"
    last = f"key {way}" if look.column is Column.NAME else "key"
    by = {Column.SIZE: f"size {way}, ", Column.MODIFIED: f"modified_ms {way}, ", Column.CLASS: f"class {way}, "}
    folder_by = {Column.NAME: f"path {way}", Column.SIZE: f"bytes {way} NULLS LAST, path"}
    return OrderQueries(
        f"SELECT -id FROM folders WHERE {folders} ORDER BY {folder_by.get(look.column, 'path')}",
        f"SELECT id FROM objects WHERE {objects} ORDER BY {by.get(look.column, '')}{last}",
        f"SELECT coalesce(sum(size), 0) FROM objects WHERE {objects}",
        values,
    )


def _named(path: str, words: list[str], values: dict[str, object]) -> str:
    """Every word is in the name, whatever the case of its letters."""
    conditions = []
    for number, word in enumerate(words):
        # LIKE knows the case of ASCII letters alone; what has no case is compared as it is.
        is_simple = all(letter.isascii() or letter.lower() == letter.upper() for letter in word)
        values[f"word{number}"] = f"%{_literal(word if is_simple else word.casefold())}%"
        name = f"substr({path}, cut + 1)"
        name = name if is_simple else f"folded({name})"
        conditions.append(f"{name} LIKE :word{number} ESCAPE '!'")
    return " AND ".join(conditions)


def _literal(word: str) -> str:
    return "".join(f"!{letter}" if letter in "%_!" else letter for letter in word)
