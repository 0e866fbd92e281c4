"""Bytes of one request on their way, taken back from the progress when they did not arrive."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol, TypeVar

Result = TypeVar("Result")


class Counting(Protocol):
    def count(self, moved_bytes: int) -> None: ...


class Moved:
    """Counts for one unit of work."""

    def __init__(self, lane: Counting) -> None:
        self._lane = lane
        self._bytes = 0

    def count(self, moved_bytes: int) -> None:
        self._bytes += moved_bytes
        self._lane.count(moved_bytes)

    async def by(self, work: Awaitable[Result]) -> Result:
        try:
            return await work
        except BaseException:
            self.settle(0)
            raise

    def settle(self, size_bytes: int) -> None:
        """So many have moved, whatever was told on the way."""
        if size_bytes != self._bytes:
            self.count(size_bytes - self._bytes)
