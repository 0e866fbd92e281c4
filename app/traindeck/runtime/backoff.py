"""How long to wait before the next try."""

from __future__ import annotations

import random
from collections.abc import Iterator


def delays(first_s: float, longest_s: float, chance: random.Random) -> Iterator[float]:
    """Doubling delays with full jitter below, so that many clients do not come back at once."""
    ceiling = first_s
    while True:
        yield ceiling * chance.uniform(0.5, 1.0)
        ceiling = min(longest_s, ceiling * 2)
