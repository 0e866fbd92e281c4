"""How this program starts another one of itself."""

from __future__ import annotations

import sys

CHECKS_PICTURES = "--check-pictures"
"""The only argument of one that decodes pictures; people do not type it."""


def own_program() -> list[str]:
    # -P: a file of the user's that is called like a module of Python must not be taken for it.
    return [sys.executable] if getattr(sys, "frozen", False) else [sys.executable, "-P", "-m", "traindeck"]
