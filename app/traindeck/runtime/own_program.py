"""How this program starts other programs, and itself again."""

from __future__ import annotations

import os
import re
import sys
from urllib.parse import urlsplit

from traindeck.runtime.secret_names import opens

CHECKS_PICTURES = "--check-pictures"
"""The only argument of one that decodes pictures; people do not type it."""


# The path of a socket, which is no secret; the Lab must know it, to keep it from its jobs.
_SOCKETS = {"SSH_AUTH_SOCK"}


def own_program() -> list[str]:
    # -P: a file of the user's that is called like a module of Python must not be taken for it.
    return [sys.executable] if getattr(sys, "frozen", False) else [sys.executable, "-P", "-m", "traindeck"]


def harmless_environment() -> dict[str, str]:
    """Return the variables of this process without keys, tokens and passwords, for programs that need none of them."""
    return {name: value for name, value in os.environ.items() if not _opens(name, value)}


def _opens(name: str, value: str) -> bool:
    if name in _SOCKETS:
        return False
    if opens(name) or not {"KEY", "KEYS"}.isdisjoint(re.split("[^A-Z0-9]", name.upper())):
        return True
    if "://" not in value:
        return False
    try:
        return urlsplit(value).password is not None
    except ValueError:
        return True
