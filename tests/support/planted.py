"""Secrets that tests give to the program, and the search for them in everything a run left behind."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from urllib.parse import quote

SECRET_KEY = "planted/Secret+Key=0123456789abcdefghijk"
TOKEN = "planted-token-0123456789abcdef"
PROXY_PASSWORD = "planted proxy:pass/word"
ALWAYS = (SECRET_KEY, TOKEN, PROXY_PASSWORD)

_LARGEST = 8 << 20
_SHORT = 12  # what tests have written by hand may be part of anything
# What a person, not the program, has put there: the console's own file.
_GIVEN = re.compile(r"credential|凭证", re.IGNORECASE)
_ACCOUNTS = "accounts.json"
# A Lab announces its keys on request, and tests configure other clients with them.
_TOLD = re.compile(r"\.stdout$|^(rclone\.conf|aws\.ini|s5cmd\.ini)$")
_HOME_FILES = ("settings.json", "records.db", "window.json", "traindeck.log")


def spellings(secret: str) -> set[bytes]:
    """As it would stand in a file, an address, or a Windows text."""
    return {secret.encode(), quote(secret, safe="").encode(), secret.encode("utf-16-le")}


def found_in(text: str, secrets: tuple[str, ...] = ALWAYS) -> list[str]:
    return [secret for secret in secrets if any(form in text.encode() for form in spellings(secret))]


LAB_ROOTS: set[Path] = set()
"""Of the Labs that several tests use: what one of them keeps must not hold their secrets either."""


def leaks(folder: Path) -> list[str]:
    """Files below `folder` with a planted secret in them, and files of the program with a secret of any Lab."""
    problems = []
    planted = _any_of(ALWAYS)
    assert planted is not None
    files = [*_all_below(folder)]
    accounts = [path for path in files if path.name == _ACCOUNTS] + [root / _ACCOUNTS for root in LAB_ROOTS]
    kept = [path for path in files if _is_looked_at(path)]
    of_labs = _any_of(tuple(_secrets_of_labs(accounts))) if any(map(_is_of_program, kept)) else None
    for path in kept:
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            continue
        if planted.search(content) or (of_labs and _is_of_program(path) and of_labs.search(content)):
            problems.append(str(path))
    return problems


@cache
def _any_of(secrets: tuple[str, ...]) -> re.Pattern[bytes] | None:
    forms = {form for secret in secrets for form in spellings(secret)}
    return re.compile(b"|".join(re.escape(form) for form in sorted(forms))) if forms else None


def _secrets_of_labs(files: Iterable[Path]) -> Iterator[str]:
    for path in files:
        try:
            found = [row["secret_key"] for row in json.loads(path.read_text("utf-8"))["accounts"]]
        except (ValueError, KeyError, TypeError, OSError):
            continue  # one that a test has damaged
        yield from (secret for secret in found if isinstance(secret, str) and len(secret) > _SHORT)


def _is_of_program(path: Path) -> bool:
    """Settings, records and logs; not the root of a Lab, which has the keys it made."""
    return path.name in _HOME_FILES or path.parent.name == "log" or path.name.endswith(("-wal", ".toml"))


def _all_below(folder: Path) -> Iterator[Path]:
    """Whatever can be found; a folder may vanish under the search, for others tidy up as well."""
    for place, _, names in os.walk(folder):
        yield from (Path(place, name) for name in names)


def _is_looked_at(path: Path) -> bool:
    if path.name == _ACCOUNTS or _GIVEN.search(path.name) or _TOLD.search(path.name):
        return False
    try:
        return path.is_file() and not path.is_symlink() and path.stat().st_size <= _LARGEST
    except OSError:
        return False  # a name that cannot be looked at, as some tests make
