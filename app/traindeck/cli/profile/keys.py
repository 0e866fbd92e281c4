"""Where `profile add` takes the keys from; never an argument, which other users of the machine can read."""

from __future__ import annotations

import os
from argparse import Namespace
from dataclasses import replace

from traindeck.cli import terminal
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import parse_proxy
from traindeck.domain.errors import InvalidInput
from traindeck.domain.texts import say, text
from traindeck.services.accounts.environment import (
    ACCESS,
    ENVIRONMENT,
    SECRET,
    TOKEN,
    environment_keys,
)
from traindeck.services.accounts.key_checks import read_credentials


def gathered(options: Namespace) -> Credentials:
    """From the file or the environment if named, else from the terminal or standard input."""
    if options.csv is not None:
        return _with_password(_lasting(read_credentials(options.csv)), options)
    if options.env:
        return _with_password(from_environment(), options)
    if terminal.somebody_is_there():
        return _with_password(_from_terminal(), options)
    lines = terminal.lines_from_standard_input()
    if not any(lines) and ACCESS in os.environ:
        return from_environment()
    return from_lines(lines)


def proxy_password(options: Namespace) -> Secret | None:
    """Asked for where the proxy has a user; it is a secret like the keys."""
    if not options.proxy or not parse_proxy(options.proxy).user:
        return None
    if terminal.somebody_is_there():
        given = terminal.asked_unseen(f"{say('Password of the proxy, not shown')}: ")
    else:
        given = next(iter(terminal.lines_from_standard_input()), "")
    return Secret(given) if given else None


def _with_password(credentials: Credentials, options: Namespace) -> Credentials:
    return replace(credentials, proxy_password=proxy_password(options))


def from_lines(lines: list[str]) -> Credentials:
    access_key, secret_key, token, password = (*lines, "", "", "", "")[:4]
    if not access_key or not secret_key:
        raise InvalidInput(
            text("The keys are missing."),
            text(
                "Give the access key and the secret key as two lines on standard input, or use --csv or --env. "
                "They are never arguments."
            ),
        )
    return _lasting(
        Credentials(
            access_key, Secret(secret_key), Secret(token) if token else None, Secret(password) if password else None
        )
    )


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
