"""Where `profile add` takes the keys from; never an argument, which other users of the machine can read."""

from __future__ import annotations

import os
from argparse import Namespace

from traindeck.cli import terminal
from traindeck.domain.errors import InvalidInput
from traindeck.domain.secret import Credentials, Secret
from traindeck.domain.texts import say, text
from traindeck.services.key_file import read_credentials

_ACCESS = "HUAWEICLOUD_SDK_AK"
_SECRET = "HUAWEICLOUD_SDK_SK"
_TOKEN = "HUAWEICLOUD_SDK_SECURITY_TOKEN"


def gathered(options: Namespace) -> Credentials:
    """From the file or the environment if named, else from the terminal or standard input."""
    if options.csv is not None:
        return read_credentials(options.csv)
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
    access_key, secret_key, token = (os.environ.get(name, "").strip() for name in (_ACCESS, _SECRET, _TOKEN))
    if not access_key or not secret_key:
        raise InvalidInput(
            text("The environment holds no keys."),
            text("Set {access} and {secret}.", access=_ACCESS, secret=_SECRET),
        )
    return Credentials(access_key, Secret(secret_key), Secret(token) if token else None)


def _from_terminal() -> Credentials:
    access_key = terminal.asked(f"{say('Access key (AK)')}: ")
    secret_key = terminal.asked_unseen(f"{say('Secret key (SK), not shown')}: ")
    return from_lines([access_key, secret_key])
