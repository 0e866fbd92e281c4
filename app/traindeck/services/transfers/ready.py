"""What of a transfer is ready to be moved, until somebody is free."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from traindeck.domain.errors import AppError
from traindeck.domain.transfers.records import Item

# So many are made ready ahead, that nobody who is free waits for the disk.
_READY_FILES = 512
_READ_BYTES = 16 * 1024 * 1024


@dataclass(slots=True)
class Unit:
    """A piece of work that is done in one go by whoever is free."""

    item: Item
    run: Callable[[], Awaitable[None]]
    size_bytes: int = 0
    is_small: bool = True
    is_piece: bool = False  # of a file that is under way
    fail: Callable[[AppError], None] | None = None
    others: Sequence[Item] = ()  # that fail with it


class ReadyUnits:
    """Small and large ones apart, so that many small ones fill the line while a few large ones fill the memory."""

    def __init__(self) -> None:
        self._small: deque[Unit] = deque()
        self._large: deque[Unit] = deque()
        self._files = 0
        self._read_bytes = 0

    def __bool__(self) -> bool:
        return bool(self._small or self._large)

    def has_room(self, requests: int) -> bool:
        """Whether more should be made ready where so many requests are under way at a time."""
        return self._files < max(_READY_FILES, requests) and self._read_bytes < _READ_BYTES

    def add(self, unit: Unit) -> None:
        self._queue_of(unit).append(unit)
        self._note(unit, 1)

    def take(self, memory_bytes: int) -> Unit | None:
        """A unit that needs no more memory than this."""
        queue = self._large if self._large and self._large[0].size_bytes <= memory_bytes else self._small
        if not queue or queue[0].size_bytes > memory_bytes:
            return None
        unit = queue.popleft()
        self._note(unit, -1)
        return unit

    def put_back(self, unit: Unit) -> None:
        self._queue_of(unit).appendleft(unit)
        self._note(unit, 1)

    def clear(self) -> None:
        self._small.clear()
        self._large.clear()

    def _queue_of(self, unit: Unit) -> deque[Unit]:
        return self._small if unit.is_small else self._large

    def _note(self, unit: Unit, count: int) -> None:
        self._files += 0 if unit.is_piece else count
        self._read_bytes += count * unit.size_bytes if unit.is_small else 0
