"""The credentials.csv that the console hands out with a new access key."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from traindeck.domain.errors import InvalidInput
from traindeck.domain.secret import Credentials, Secret
from traindeck.domain.texts import text
from traindeck.runtime.platform_files import local_errors

_LARGEST = 64 * 1024


def read_credentials(path: Path) -> Credentials:
    with local_errors(path):
        if path.stat().st_size > _LARGEST:
            raise _not_one()
        content = path.read_bytes()
    return parse_credentials(_decoded(content))


def parse_credentials(content: str) -> Credentials:
    """By the names of its columns; with a header we do not know, the last two columns of the last row."""
    rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(content)) if any(map(str.strip, row))]
    if not rows:
        raise _not_one()
    header = [cell.casefold().replace(" ", "").replace("_", "") for cell in rows[0]]
    key, secret = _column(header, ("accesskeyid", "accesskey", "ak")), _column(header, ("secretaccesskey", "sk"))
    if key is None or secret is None:
        if len(rows) > 2 or len(rows[-1]) < 2:
            raise _not_one()
        key, secret = len(rows[-1]) - 2, len(rows[-1]) - 1
    elif len(rows) < 2:
        raise _not_one()
    row = rows[1] if len(rows) > 1 else rows[0]
    if max(key, secret) >= len(row) or not _looks_like_a_key(row[key]) or not _looks_like_a_key(row[secret]):
        raise _not_one()
    return Credentials(row[key], Secret(row[secret]))


def _column(header: list[str], names: tuple[str, ...]) -> int | None:
    return next((header.index(name) for name in names if name in header), None)


def _looks_like_a_key(word: str) -> bool:
    return len(word) >= 8 and word.isascii() and word.isprintable() and " " not in word


def _decoded(content: bytes) -> str:
    """The console writes UTF-8, a spreadsheet program may have written it again."""
    for encoding in ("utf-8-sig", "gb18030"):
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise _not_one()


def _not_one() -> InvalidInput:
    return InvalidInput(
        text("This file holds no access key."),
        text("Drop the credentials.csv that was downloaded when the key was made; or paste AK and SK."),
    )
