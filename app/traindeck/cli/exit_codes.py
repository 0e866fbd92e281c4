"""What a command says to the shell that started it."""

from __future__ import annotations

from traindeck.domain.errors import AppError

DONE = 0
FAILED = 1
USAGE = 2
CREDENTIALS = 3
NOT_FOUND = 4
SERVICE = 5
INTERRUPTED = 130

_OF_KINDS = {"usage": USAGE, "credentials": CREDENTIALS, "not_found": NOT_FOUND, "service": SERVICE}


def code_of(error: AppError) -> int:
    """Of several, give it the one that `domain/outcomes.py` finds the worst."""
    return _OF_KINDS.get(error.kind, FAILED)
