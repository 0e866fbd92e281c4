"""Whether anybody still uses this Lab."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Activity:
    """Counts requests under way, and the seconds since the last one ended."""

    def __init__(self) -> None:
        self._under_way = 0
        self._last = time.monotonic()

    @contextmanager
    def request(self) -> Iterator[None]:
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            self._last = time.monotonic()

    def touch(self) -> None:
        self._last = time.monotonic()

    def idle_s(self) -> float:
        return 0.0 if self._under_way else time.monotonic() - self._last
