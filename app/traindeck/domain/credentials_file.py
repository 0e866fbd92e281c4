"""The credentials.csv that the console hands out with a new access key."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

from traindeck.domain.errors import InvalidInput
from traindeck.domain.secret import Credentials, Secret
from traindeck.domain.texts import text

_ACCESS_HEADS = ("accesskeyid", "accesskey", "ak")
_SECRET_HEADS = ("secretaccesskey", "secretkey", "sk")
# How the console makes them; asked for only where no head says which column is which.
_ACCESS_KEY = re.compile(r"[A-Z0-9]{16,40}")
_LEAST = 8


def parse_credentials(content: str) -> Credentials:
    """By the heads of its columns; without heads we know, the last two columns if they look like keys."""
    rows = _rows(content.removeprefix("\ufeff"))
    if not rows:
        raise _not_one()
    heads = [re.sub(r"[\s_]", "", cell).casefold() for cell in rows[0]]
    access, secret = _column(heads, _ACCESS_HEADS), _column(heads, _SECRET_HEADS)
    if access is None or secret is None:
        return _guessed(rows)
    keys = [(_cell(row, access), _cell(row, secret)) for row in rows[1:]]
    if len(set(keys)) > 1:
        raise InvalidInput(
            text("This file holds more than one access key."),
            text("Leave only the line you want to use in it, or paste AK and SK."),
        )
    if not keys or not all(_may_be_key(word) for word in keys[0]):
        raise _not_one()
    return _credentials(*keys[0])


def _rows(content: str) -> list[list[str]]:
    first = content.lstrip().partition("\n")[0]
    # Spreadsheet programs of some countries write it with another separator.
    separator = max(",;\t", key=first.count)
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(content), delimiter=separator)]
    except csv.Error:
        raise _not_one() from None
    return [row for row in rows if any(row)]


def _guessed(rows: Sequence[Sequence[str]]) -> Credentials:
    *heads, row = rows
    if len(heads) > 1 or len(row) < 2:
        raise _not_one()
    access_key, secret_key = row[-2:]
    if not _ACCESS_KEY.fullmatch(access_key) or not _may_be_key(secret_key):
        raise _not_one()
    return _credentials(access_key, secret_key)


def _column(heads: Sequence[str], names: Sequence[str]) -> int | None:
    return next((heads.index(name) for name in names if name in heads), None)


def _cell(row: Sequence[str], column: int) -> str:
    return row[column] if column < len(row) else ""


def _may_be_key(word: str) -> bool:
    return len(word) >= _LEAST and word.isascii() and word.isprintable() and " " not in word


def _credentials(access_key: str, secret_key: str) -> Credentials:
    return Credentials(access_key, Secret(secret_key))


def _not_one() -> InvalidInput:
    # Nothing of the content goes into the error: it may be a secret.
    return InvalidInput(
        text("This file holds no access key."),
        text("Use the credentials.csv that the console gave you when the key was made, or paste AK and SK."),
    )
