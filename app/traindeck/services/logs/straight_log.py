"""A log from the service alone, for when this computer can keep nothing of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from traindeck.domain.errors import LogGone
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.logs.held_log import HeldLog
from traindeck.services.logs.log_notes import LogMark, LogNotes, Substitute
from traindeck.services.logs.log_source import Ending, LogFetch, LogSource

# Enough to see that what comes continues what went by.
_KEPT_BYTES = 1 << 20


class StraightLog:
    """One worker's log, piece by piece; nothing of it is written down."""

    def __init__(self, source: LogSource, calls: BlockingCalls, passed_bytes: int = 0) -> None:
        """`passed_bytes`: so many of the service's have been read before."""
        self._source = source
        self._passed = _PassedLog(passed_bytes)
        self._fetch = LogFetch(HeldLog(self._passed), calls, lambda: None)

    async def look(self, end: Ending) -> tuple[bytes, bool]:
        """What is new, and whether that is all."""
        try:
            has_all = (await self._fetch.look(self._source, end)).has_all
        except LogGone:
            await self._fetch.rest(self._source.part)
            has_all = True
        return self._passed.taken(), has_all

    @property
    def marks(self) -> tuple[LogMark, ...]:
        return self._passed.marks


class _PassedLog:
    """Keeps the newest bytes for as long as they are needed to continue; the others go on to who takes them."""

    def __init__(self, passed_bytes: int) -> None:
        self._size = passed_bytes
        self._newest = b""
        self._fresh: list[bytes] = []
        self._notes = LogNotes()

    def taken(self) -> bytes:
        """What has come since this was asked last."""
        fresh, self._fresh = b"".join(self._fresh), []
        return fresh

    @property
    def marks(self) -> tuple[LogMark, ...]:
        return self._notes.marks(self._size)

    def size(self) -> int:
        return self._size

    def read(self, offset: int, max_bytes: int = -1) -> bytes:
        begin = offset - (self._size - len(self._newest))
        return self._newest[begin : begin + max_bytes if max_bytes >= 0 else None]

    def notes(self) -> LogNotes:
        """What is no longer here cannot be compared, so it counts as not the service's own."""
        gone = self._size - len(self._newest)
        real = self._notes.stretches
        after = (Substitute(0, gone, gone),) if gone > self._notes.true_from else ()
        return self._notes.with_stretches((Substitute(0, 0, 0), *real, *after))

    def note(self, notes: LogNotes) -> None:
        real = tuple(one for one in notes.stretches if one.length != one.stands_for)
        self._notes = notes.with_stretches(real)

    @contextmanager
    def alone(self) -> Iterator[None]:
        yield

    def append(self, fresh: bytes) -> int:
        self._fresh.append(fresh)
        self._size += len(fresh)
        self._newest = (self._newest + fresh)[-_KEPT_BYTES:]
        return len(fresh)

    def cut(self, size: int) -> None:
        raise AssertionError("nothing that was passed on can be taken back")

    def name_aside(self) -> str:
        return ""

    def set_aside(self, name: str) -> None:
        self._size, self._newest = 0, b""
