"""How many requests a service is asked at a time, and how many bytes a second all transfers may move."""

from __future__ import annotations

import asyncio

FIRST = 16
MOST = 256
LEAST = 4

# A window has to move so much more than the best before, else more at a time only wait longer.
_GAIN = 1.1
_SLOWER = 1.5
_MUCH_SLOWER = 6
_WINDOWS_OF_REST = 20


class Pace:
    """Counts what small requests bring; big ones are bounded by memory."""

    def __init__(self) -> None:
        self.limit = FIRST
        self.running = 0
        self._is_growing = True
        self._best_rate = 0.0
        self._best_s = 0.0
        self._before = FIRST
        self._rest = 0
        self._begin_window(0.0)

    def ended(self, seconds: float, now: float) -> None:
        """A small request is done, after so long."""
        if not self._count:
            self._window_began = now - seconds
        self._count += 1
        self._sum_s += seconds
        # While it grows each step is as short as it can be: over a long line a round trip is much.
        if self._count >= max(32, self.limit if self._is_growing else 2 * self.limit):
            self._close_window(now)

    def was_refused(self) -> None:
        """The service asks for fewer."""
        self.limit = max(LEAST, self.limit // 2)
        self._is_growing = False
        self._rest = _WINDOWS_OF_REST
        self._best_rate = 0.0
        self._begin_window(self._window_began)

    def _begin_window(self, now: float) -> None:
        self._count = 0
        self._sum_s = 0.0
        self._window_began = now

    def _close_window(self, now: float) -> None:
        rate = self._count / max(1e-6, now - self._window_began)
        mean_s = self._sum_s / self._count
        # What was best once may be so no more.
        self._best_s = min(self._best_s * 1.02 or mean_s, mean_s)
        if self._is_growing:
            brings = rate > self._best_rate * _GAIN or mean_s < self._best_s * _SLOWER
            if brings:
                self._before, self.limit = self.limit, min(MOST, self.limit * 2)
            else:
                self.limit = self._before
            self._is_growing = brings and self.limit < MOST
            self._rest = _WINDOWS_OF_REST
        elif mean_s > _MUCH_SLOWER * self._best_s:
            self.limit = max(LEAST, self.limit * 3 // 4)
        else:
            self._rest -= 1
            if self._rest <= 0:  # the line may have become better
                self._is_growing, self._best_rate, self._best_s = True, rate, mean_s
                self._before, self.limit = self.limit, min(MOST, self.limit + max(1, self.limit // 2))
        self._best_rate = max(self._best_rate, rate)
        self._begin_window(now)


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
