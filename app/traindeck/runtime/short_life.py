"""For a program that does one thing and ends: less looking for garbage, of which it makes little."""

from __future__ import annotations

import gc

# Rows by the ten thousand live until the end; looked at anew for every few hundred more they cost a sixth of a listing.
_NEW_OBJECTS = 50_000


def collect_seldom() -> None:
    """Called once everything is loaded."""
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, 20, 50)
