"""One range of a large download: hashed and written where it belongs while the next bytes come."""

from __future__ import annotations

from collections.abc import Awaitable
from pathlib import Path
from threading import Lock

from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.files import local_errors
from traindeck.services.storage.data_ports import Basin, Counted
from traindeck.services.transfers.digests import Checksum
from traindeck.services.transfers.pace import RateLimit
from traindeck.services.transfers.part_files import write_all

# Little enough that it is still in the memory of a core when it is hashed; the system holds what comes meanwhile.
_HELD_BYTES = 2 * 1024 * 1024


class RangeWriter(Basin):
    """Takes exactly one range, in order."""

    __slots__ = ("_at", "_checksum", "_counted", "_disk", "_held", "_limit", "_memory", "_part", "_turn")

    def __init__(
        self,
        part: Path,
        offset: int,
        size: int,
        disk: BlockingCalls,
        counted: Counted,
        limit: RateLimit,
        turn: Lock,
        *,
        checksum: Checksum | None,
    ) -> None:
        """`checksum` takes all that comes, if there is one.

        `turn` is shared by all writers to this file: the system lets only one write, and the others would spin.
        """
        self._part = part
        self._at = offset
        self._disk = disk
        self._counted = counted
        self._limit = limit
        self._turn = turn
        self._checksum = checksum
        self._memory = memoryview(bytearray(min(_HELD_BYTES, size)))
        self._held = 0

    def room(self) -> memoryview:
        # At a bounded rate little at a time, so that it is even.
        return self._memory[self._held :][: self._limit.piece_bytes if self._limit.bytes_per_s else None]

    def came(self, size_bytes: int) -> bool:
        self._held += size_bytes
        self._counted(size_bytes)
        return self._held == len(self._memory) or bool(self._limit.bytes_per_s)

    def __call__(self, piece: bytes) -> Awaitable[None] | None:
        room = self.room()
        if len(piece) > len(room):
            return self._take(piece)
        room[: len(piece)] = piece
        return self.empty() if self.came(len(piece)) else None

    async def _take(self, piece: bytes) -> None:
        rest = memoryview(piece)
        while rest:
            room = self.room()
            size = min(len(room), len(rest))
            room[:size] = rest[:size]
            rest = rest[size:]
            if self.came(size):
                await self.empty()

    async def empty(self) -> None:
        held, self._held = self._held, 0
        if held:
            await self._disk.run(lambda _: self._keep(self._memory[:held]))
        self._at += held
        await self._limit.take(held)

    def _keep(self, content: memoryview) -> None:
        """Hashes first while another one writes."""
        is_our_turn = self._turn.acquire(blocking=False)
        if not is_our_turn:
            self._hash(content)
            self._turn.acquire()
        try:
            self._write(content)
        finally:
            self._turn.release()
        if is_our_turn:
            self._hash(content)

    def _write(self, content: memoryview) -> None:
        with local_errors(self._part), self._part.open("r+b", buffering=0) as file:
            file.seek(self._at)
            write_all(file, content)

    def _hash(self, content: memoryview) -> None:
        if self._checksum is not None:
            self._checksum.update(content)
