"""Where a worker's log comes from, and how it is fetched: one way for the disk and for whoever keeps nothing."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from functools import partial
from typing import Protocol

from traindeck.domain.errors import AppError
from traindeck.domain.jobs.job import LogChunk, NumberedLines
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.logs.held_log import BytesWanted, HeldLog

log = logging.getLogger(__name__)

PART_BYTES = 8 << 20
# The file behind the link is some seconds older than the log.
_PATIENCE_S = 20.0
# Above this a look at the newest five megabytes costs more than asking for the lines that are new.
_LARGE_BYTES = 1 << 20
# How often lines are taken for it before the length of the log is asked for again.
_LINES_IN_A_ROW = 10


class Ending(IntEnum):
    """How far the end of the log is from a look at it."""

    LIVE = 0
    OVER = 1  # the job is over, and so is its log as soon as all of it is here
    LAST = 2  # what the service does not have by now it will not have
    WITH_WHAT_THERE_IS = 3  # nor is it waited for any longer that it answers


FetchPart = Callable[[int, int], Awaitable[bytes | None]]
"""The service's own bytes from an offset on, at most so many, as far as it has them now; None: it has no such file."""


class LogSource(Protocol):
    """The log of one worker at the service, however that gives it."""

    async def tail(self) -> LogChunk | None:
        """Its newest bytes as text; None: there is none yet. Raises LogGone where there is none any more."""
        ...

    async def part(self, start: int, most_bytes: int, /) -> bytes | None: ...

    async def lines(self, after: str, /) -> NumberedLines | None:
        """Those after the one of this id, or the newest; None: the service does not know the operation."""
        ...


@dataclass(frozen=True, slots=True)
class LogLook:
    """What a look brought: so many bytes, and whether all that the service has is held."""

    count: int
    has_all: bool


@dataclass(slots=True)
class LogFetch:
    """Fetches one worker's log; `grew` is told whenever there is more of it."""

    held: HeldLog
    calls: BlockingCalls
    grew: Callable[[], None]
    cloud_bytes: int | None = None
    """How long it was at the service at the last look."""
    _lacking_since: float | None = None
    _last_line: str = ""
    _knows_lines: bool = True
    _lines_left: int = 0
    _looking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def look(self, source: LogSource, end: Ending = Ending.LIVE) -> LogLook:
        async with self._looking:
            # A last line without an end is none of the lines.
            if end is Ending.LIVE and self._lines_left > 0 and (by_lines := await self._by_lines(source)) is not None:
                return by_lines
            chunk = await source.tail()
            if chunk is None:
                return LogLook(0, has_all=end >= Ending.LAST)
            count = await self.take(chunk, source.part, end)
            seen = await self.calls.run(lambda _: self.held.seen())
            has_all = seen >= chunk.full_size
            if has_all and end is Ending.LIVE and seen >= _LARGE_BYTES and self._knows_lines:
                await self._find_last_line(source)
            return LogLook(count, has_all)

    async def take(self, chunk: LogChunk, part: FetchPart | None, end: Ending) -> int:
        """Keep what is new in a look; where that has not the very bytes, `part` is asked for them."""
        self.cloud_bytes = chunk.full_size
        kept = await self.calls.run(lambda _: self.held.keep(chunk, rough=part is None))
        count = 0
        if isinstance(kept, BytesWanted) and part is not None:
            count, is_whole, may_come = await self._fetch(part, kept, chunk.full_size, end)
            if is_whole or (may_come and end < Ending.LAST and not self._waited_enough()):
                return count
            kept = await self.calls.run(lambda _: self.held.keep(chunk, rough=True))
        if isinstance(kept, int) and kept:
            self.grew()
            count += kept
        return count

    async def rest(self, part: FetchPart) -> int:
        """What there is behind what is held, where nothing but the file is left of the log."""
        count = 0
        wanted = await self.calls.run(lambda _: self.held.wanted())
        while data := await part(wanted.start, wanted.overlap + PART_BYTES):
            added = await self.calls.run(partial(self._add, wanted.start, data))
            if not added:
                break
            count += added
            self.grew()
            wanted = await self.calls.run(lambda _: self.held.wanted())
        return count

    async def end(self, *, gone: datetime | None = None) -> None:
        await self.calls.run(lambda _: self.held.end(gone=gone))
        self.grew()

    async def _fetch(self, part: FetchPart, wanted: BytesWanted, until: int, end: Ending) -> tuple[int, bool, bool]:
        """How many bytes came, whether they reach to `until`, and whether what is missing may come later."""
        count = 0
        while wanted.start + wanted.overlap < until:
            try:
                data = await part(wanted.start, wanted.overlap + PART_BYTES)
            except AppError as error:
                if end is Ending.LAST and error.passes:
                    raise  # it would be a gap for good
                log.warning("fetching the bytes of a log: %s", error)
                return count, False, True
            if data is None:
                return count, False, False
            added = await self.calls.run(partial(self._add, wanted.start, data))
            if not added:
                return count, False, True
            self._lacking_since = None
            self.grew()
            count += added
            wanted = await self.calls.run(lambda _: self.held.wanted())
        return count, True, True

    def _add(self, start: int, data: bytes, _: object) -> int:
        return self.held.add(start, data)

    def _waited_enough(self) -> bool:
        if self._lacking_since is None:
            self._lacking_since = time.monotonic()
        return time.monotonic() - self._lacking_since >= _PATIENCE_S

    # By lines, where the service has that operation

    async def _by_lines(self, source: LogSource) -> LogLook | None:
        """None: the way is not to be had, or not to be trusted; a look at the newest bytes tells more."""
        self._lines_left -= 1
        count = 0
        while True:
            found = await source.lines(self._last_line)
            if found is None or not found.follows(self._last_line) or not found.is_exact:
                self._lines_left, self._knows_lines = 0, found is not None and found.follows(self._last_line)
                return None if not count else LogLook(count, has_all=False)
            if not found.data:
                return LogLook(count, has_all=True)
            start = await self.calls.run(lambda _: self.held.seen())
            count += await self.calls.run(partial(self._add, start, found.data))
            self._last_line = found.last
            self.grew()

    async def _find_last_line(self, source: LogSource) -> None:
        """The id of the line that ends what is held, from which on the next ones are asked for."""
        self._lines_left += 1
        if self._lines_left < 0:
            return
        self._lines_left = -_LINES_IN_A_ROW
        found = await source.lines("")
        self._knows_lines = found is not None
        if found is None or not found.data or not found.is_exact:
            return
        if await self.calls.run(lambda _: self.held.ends_with(found.data)):
            self._last_line, self._lines_left = found.last, _LINES_IN_A_ROW
