"""Secrets that cannot print themselves, and the file the console hands them out in."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from traindeck.domain.errors import InvalidInput
from traindeck.domain.texts import Text, text


class Secret:
    """A value that shows itself only to who asks by name."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        return "Secret(…)"

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("a secret is not pickled")


@dataclass(frozen=True, slots=True)
class Credentials:
    access_key: str
    secret_key: Secret
    token: Secret | None = field(default=None)
    proxy_password: Secret | None = field(default=None)
    expires: datetime | None = field(default=None)
    """When temporary keys end, where whoever made them said so."""

    def __post_init__(self) -> None:
        # Before they are kept, shown or sent: an access key is shown in part, and goes out in every request.
        if are_swapped(self.access_key, self.secret_key.reveal()):
            raise InvalidInput(
                text("The access key and the secret key are swapped."),
                text(
                    "The short one, with capital letters and digits, is the access key (AK). Nothing was "
                    "stored or sent."
                ),
            )

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """Everything in here that must not be shown."""
        return tuple(secret for secret in (self.secret_key, self.token, self.proxy_password) if secret)

    @property
    def hint(self) -> str:
        """Enough of the access key to tell two apart, not enough to use."""
        return f"{self.access_key[:4]}…{self.access_key[-2:]}" if len(self.access_key) > 8 else "…"


def are_swapped(access_key: str, secret_key: str) -> bool:
    """By how services make them: 20 capital letters and digits, and twice as many of all kinds."""
    is_long = len(access_key) >= 32 and re.search("[a-z+/]", access_key) is not None
    return is_long and _MADE_ACCESS_KEY.fullmatch(secret_key) is not None


def keys_in(words: str) -> tuple[str, str] | None:
    """An access key and its secret key out of what was pasted in one piece: two lines, labels before them, a row of
    credentials.csv. None: there are not just these two."""
    parts = [_LABEL.sub("", part) for part in re.split(r"[\s,;\"']+", words.strip())]
    pairs = [
        (first, second)
        for first, second in itertools.pairwise(part for part in parts if _is_like_a_key(part))
        if _MADE_ACCESS_KEY.fullmatch(first) and not _MADE_ACCESS_KEY.fullmatch(second)
    ]
    return pairs[0] if len(pairs) == 1 else None


def _is_like_a_key(part: str) -> bool:
    """Longer than a word of a label, and of such letters as services use."""
    return len(part) >= _SHORTEST_KEY and re.fullmatch(r"[A-Za-z0-9+/=_-]+", part) is not None


_SHORTEST_KEY = 16
_LABEL = re.compile(r"^[A-Za-z_]+[=:](?=.{16})")
_MADE_ACCESS_KEY = re.compile(r"[A-Z0-9]{16,24}")
USUAL_NAME = "credentials.csv"
_HEADS = (
    ("accesskeyid", "accesskey", "ak", "access"),
    ("secretaccesskey", "secretkey", "sk", "secret"),
    ("securitytoken", "sessiontoken", "token"),
    ("expiresat", "expiration", "expires"),
)
# How the console makes them; asked for only where no head says which column is which.
_ACCESS_KEY = re.compile(r"[A-Z0-9]{16,40}")
_LEAST = 8


def is_credentials_name(name: str) -> bool:
    """Whether a file is called as the console's, or as one with an answer of IAM in it."""
    return "credential" in name.casefold() and name.casefold().endswith((".csv", ".json"))


def parse_credentials(content: str, name: str = USUAL_NAME) -> Credentials:
    """By the heads of its columns; without heads we know, the last two columns if they look like keys."""
    content = content.removeprefix("\ufeff")
    if "\0" in content:
        raise _no_text(name)
    is_json = content.lstrip().startswith("{")
    rows = _rows_of_json(content, name) if is_json else _rows(content, name)
    if not rows:
        raise _not_one(text("“{name}” contains no access key: it is empty.", name=name))
    heads = [re.sub(r"[\s_]", "", cell).casefold() for cell in rows[0]]
    columns = [next((heads.index(head) for head in known if head in heads), None) for known in _HEADS]
    if None in columns[:2] and not is_json:
        return _guessed(rows, name)
    keys = [[_cell(row, column) for column in columns] for row in rows[1:]]
    if is_json and not any(keys[0][:2]):
        raise _wrong_columns(name)
    different = len(set(map(tuple, keys)))
    if different > 1:
        raise InvalidInput(
            text("“{name}” contains more than one access key: {count}.", name=name, count=different),
            text("Leave only the line you want to use in it, or paste AK and SK."),
        )
    if not keys:
        raise _not_one(text("“{name}” contains no access key: there is no line below the header.", name=name))
    return _credentials(name, *keys[0])


def _rows_of_json(content: str, name: str) -> list[list[str]]:
    """As IAM answers who asks it for temporary keys."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        raise _wrong_columns(name) from None
    inner = document.get("credential") or document.get("Credentials") or document
    if not isinstance(inner, Mapping):
        raise _wrong_columns(name)
    known = {str(key): str(value).strip() for key, value in inner.items() if value is not None}
    return [[*known], [*known.values()]]


def _rows(content: str, name: str) -> list[list[str]]:
    first = content.lstrip().partition("\n")[0]
    # Spreadsheet programs of some countries write it with another separator.
    separator = max(",;\t", key=first.count)
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(content), delimiter=separator)]
    except csv.Error:
        raise _no_text(name) from None
    return [row for row in rows if any(row)]


def _guessed(rows: Sequence[Sequence[str]], name: str) -> Credentials:
    *heads, row = rows
    if len(heads) > 1 or len(row) < 2:
        raise _wrong_columns(name)
    access_key, secret_key = row[-2:]
    if not _ACCESS_KEY.fullmatch(access_key) or not _may_be_key(secret_key):
        raise _wrong_columns(name)
    return _credentials(name, access_key, secret_key)


def _cell(row: Sequence[str], column: int | None) -> str:
    return row[column] if column is not None and column < len(row) else ""


def _may_be_key(word: str) -> bool:
    return len(word) >= _LEAST and word.isascii() and word.isprintable() and " " not in word


def _credentials(name: str, access_key: str, secret_key: str, token: str = "", end: str = "") -> Credentials:
    if not _may_be_key(access_key) or not _may_be_key(secret_key) or (token and not _may_be_key(token)):
        raise _not_one(text("“{name}” contains no complete access key.", name=name))
    return Credentials(
        access_key, Secret(secret_key), Secret(token) if token else None, expires=_moment(end) if token else None
    )


def _moment(written: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _wrong_columns(name: str) -> InvalidInput:
    return _not_one(
        text("“{name}” contains no access key: the columns Access Key Id and Secret Access Key are missing.", name=name)
    )


def _no_text(name: str) -> InvalidInput:
    return _not_one(text("“{name}” contains no access key: it is not text. Save a workbook as CSV first.", name=name))


def _not_one(title: Text) -> InvalidInput:
    # Nothing of the content goes into the error: it may be a secret.
    return InvalidInput(
        title, text("Use the credentials.csv that the console gave you when the key was made, or paste AK and SK.")
    )


def too_long(name: str) -> InvalidInput:
    return _not_one(text("“{name}” contains no access key: it is much larger than a credentials.csv.", name=name))
