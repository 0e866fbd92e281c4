"""How many bytes a second all transfers together may move."""

from __future__ import annotations

import asyncio

_MOST_PIECE = 256 * 1024
_LEAST_PIECE = 8 * 1024


class RateLimit:
    """Everybody asks before a piece moves; whoever asks first goes first. 0 is no limit."""

    def __init__(self, bytes_per_s: float = 0) -> None:
        self._bytes_per_s = bytes_per_s
        self._free_at = 0.0

    @property
    def bytes_per_s(self) -> float:
        return self._bytes_per_s

    def set(self, bytes_per_s: float) -> None:
        self._bytes_per_s = bytes_per_s
        self._free_at = 0.0

    @property
    def piece_bytes(self) -> int:
        """Small enough that a tenth of a second moves one."""
        if not self._bytes_per_s:
            return _MOST_PIECE
        return max(_LEAST_PIECE, min(_MOST_PIECE, int(self._bytes_per_s / 10)))

    async def take(self, size_bytes: int) -> None:
        if not self._bytes_per_s:
            return
        now = asyncio.get_running_loop().time()
        self._free_at = max(now, self._free_at) + size_bytes / self._bytes_per_s
        await asyncio.sleep(self._free_at - now)
