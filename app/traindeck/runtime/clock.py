"""What time it is."""

from __future__ import annotations

import gc
import random
from collections.abc import Iterator
from datetime import UTC, datetime


def utc_now() -> datetime:
    return datetime.now(UTC)


def delays(first_s: float, longest_s: float, chance: random.Random) -> Iterator[float]:
    """Doubling delays with full jitter below, so that many clients do not come back at once."""
    ceiling = first_s
    while True:
        yield ceiling * chance.uniform(0.5, 1.0)
        ceiling = min(longest_s, ceiling * 2)


# Rows by the ten thousand live until the end; looked at anew for every few hundred more they cost a sixth of a listing.
_NEW_OBJECTS = 50_000


def collect_seldom() -> None:
    """Called once everything is loaded."""
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, 20, 50)
