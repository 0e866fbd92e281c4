"""Where `profile add` takes the keys from; never an argument, which other users of the machine can read."""

from __future__ import annotations

import csv
import os
from argparse import Namespace
from pathlib import Path

from traindeck.cli import terminal
from traindeck.domain.errors import InvalidInput
from traindeck.domain.secret import Credentials, Secret
from traindeck.domain.texts import say, text
from traindeck.runtime.platform_files import local_errors
from traindeck.services.secrets import environment_credentials

_ACCESS = "HUAWEICLOUD_SDK_AK"
_SECRET = "HUAWEICLOUD_SDK_SK"
_MOST_BYTES = 1 << 20


def gathered(options: Namespace) -> Credentials:
    """From the file or the environment if named, else from the terminal or standard input."""
    if options.csv is not None:
        return from_csv(options.csv)
    if options.env:
        return from_environment()
    if terminal.somebody_is_there():
        return _from_terminal()
    lines = terminal.lines_from_standard_input()
    if not any(lines) and _ACCESS in os.environ:
        return from_environment()
    return from_lines(lines)


def from_lines(lines: list[str]) -> Credentials:
    access_key, secret_key, token = (*lines, "", "", "")[:3]
    if not access_key or not secret_key:
        raise InvalidInput(
            text("The keys are missing."),
            text(
                "Give the access key and the secret key as two lines on standard input, or use --csv or --env. "
                "They are never arguments."
            ),
        )
    return Credentials(access_key, Secret(secret_key), Secret(token) if token else None)


def from_environment() -> Credentials:
    found = environment_credentials()
    if found is None:
        raise InvalidInput(
            text("The environment holds no keys."),
            text("Set {access} and {secret}.", access=_ACCESS, secret=_SECRET),
        )
    return found


def from_csv(path: Path) -> Credentials:
    """The file the console hands out: a row of names, and one of values."""
    with local_errors(path), path.open("rb") as file:
        content = file.read(_MOST_BYTES).decode("utf-8-sig", errors="replace")
    rows = [[cell.strip() for cell in row] for row in csv.reader(content.splitlines()) if any(row)]
    heads = [head.lower() for head in rows[0]] if rows else []
    columns = [
        next((number for number, head in enumerate(heads) if head == name), None)
        for name in ("access key id", "secret access key")
    ]
    cells = rows[1] if len(rows) > 1 else []
    access_key, secret_key = (cells[column] if column is not None and column < len(cells) else "" for column in columns)
    if not access_key or not secret_key:
        raise InvalidInput(
            text("“{path}” is not a credentials.csv.", path=str(path)),
            text("The file from the console has the columns “Access Key Id” and “Secret Access Key”."),
        )
    return Credentials(access_key, Secret(secret_key))


def _from_terminal() -> Credentials:
    access_key = terminal.asked(f"{say('Access key (AK)')}: ")
    secret_key = terminal.asked_unseen(f"{say('Secret key (SK), not shown')}: ")
    return from_lines([access_key, secret_key])
