"""Who is told that a service does not take the keys any more."""

from __future__ import annotations

from collections.abc import Callable

from traindeck.domain.errors import KeysRefused

Refused = Callable[[KeysRefused], None]


def nobody_listens(_: KeysRefused) -> None:
    """Whoever asked gets the error all the same."""
