"""Where `profile add` takes the keys from; never an argument, which other users of the machine can read."""

from __future__ import annotations

import os
from argparse import Namespace

from traindeck.cli import terminal
from traindeck.domain.errors import InvalidInput
from traindeck.domain.secret import Credentials, Secret
from traindeck.domain.texts import say, text
from traindeck.services.environment import ACCESS, ENVIRONMENT, SECRET, TOKEN, environment_keys
from traindeck.services.key_file import read_credentials


def gathered(options: Namespace) -> Credentials:
    """From the file or the environment if named, else from the terminal or standard input."""
    if options.csv is not None:
        return read_credentials(options.csv)
    if options.env:
        return from_environment()
    if terminal.somebody_is_there():
        return _from_terminal()
    lines = terminal.lines_from_standard_input()
    if not any(lines) and ACCESS in os.environ:
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
    return _lasting(Credentials(access_key, Secret(secret_key), Secret(token) if token else None))


def from_environment() -> Credentials:
    found = environment_keys()
    if found is None:
        raise InvalidInput(
            text("The environment holds no keys."), text("Set {access} and {secret}.", access=ACCESS, secret=SECRET)
        )
    return _lasting(found)


def _lasting(credentials: Credentials) -> Credentials:
    """What goes into the keyring must outlive the day."""
    if credentials.token:
        raise InvalidInput(
            text("Temporary keys end by themselves and are not kept."),
            text(
                "Set {access}, {secret} and {token} in the environment and give “--profile {name}” with a command.",
                access=ACCESS, secret=SECRET, token=TOKEN, name=ENVIRONMENT,
            ),
        )  # fmt: skip
    return credentials


def _from_terminal() -> Credentials:
    access_key = terminal.asked(f"{say('Access key (AK)')}: ")
    secret_key = terminal.asked_unseen(f"{say('Secret key (SK), not shown')}: ")
    return from_lines([access_key, secret_key])
