"""What a command says to the shell that started it."""

from __future__ import annotations

from traindeck.domain.errors import AppError

DONE = 0
FAILED = 1
USAGE = 2
INTERRUPTED = 130

_OF_KINDS = {"usage": USAGE, "credentials": 3, "not_found": 4, "service": 5}


def code_of(error: AppError) -> int:
    """Of several, give it the one that `domain/outcomes.py` finds the worst."""
    return _OF_KINDS.get(error.kind, FAILED)
