"""The logs on this computer: byte for byte what the service has, wherever it gives us its bytes."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.domain.errors import AppError
from traindeck.domain.jobs.job import LogChunk
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.tasks import Listeners
from traindeck.services.logs.log_files import Added, BytesWanted, Gap, LogFile

if TYPE_CHECKING:
    from traindeck.store.runs import RunStore

log = logging.getLogger(__name__)

_BLOCK = 1 << 18
_LOOK_AGAIN_S = 0.5
_PART_BYTES = 8 << 20
# The file behind the link is some seconds older than the log.
_PATIENCE_S = 20.0

FetchPart = Callable[[int, int], Awaitable[bytes]]
"""The service's own bytes from an offset on, at most so many, as far as it has them now."""


@dataclass(frozen=True, slots=True)
class LogGrowth:
    run_id: str
    task: str
    size: int


class RunLogs:
    """One file per run and worker; only ever appended to."""

    def __init__(self, records: RunStore, place: Callable[[str, str], Path], calls: BlockingCalls) -> None:
        self._records = records
        self._place = place
        self._calls = calls
        self._lacking_since: dict[tuple[str, str], float] = {}
        self.grew: Listeners[LogGrowth] = Listeners()

    def path(self, run_id: str, task: str = "worker-0") -> Path:
        return self._place(run_id, task)

    def size(self, run_id: str, task: str = "worker-0") -> int:
        return self._file(run_id, task).size()

    def tail(self, run_id: str, task: str = "worker-0", max_bytes: int = 1 << 19) -> bytes:
        """The last bytes held; reads the disk, so call it in a worker."""
        return self.read(run_id, task, max(0, self.size(run_id, task) - max_bytes))

    def read(self, run_id: str, task: str, offset: int, max_bytes: int = -1) -> bytes:
        return self._file(run_id, task).read(offset, max_bytes)

    def gaps(self, run_id: str, task: str = "worker-0") -> tuple[Gap, ...]:
        return self._file(run_id, task).gaps()

    async def take(
        self, run_id: str, task: str, chunk: LogChunk, part: FetchPart | None = None, *, is_last: bool = False
    ) -> int:
        """Keep what is new in a look at the service's log; the answer is how many bytes that was.

        Where the look has not the very bytes, `part` is asked for them; `is_last`: there is no later look to wait for.
        """
        file = self._file(run_id, task)
        kept = await self._calls.run(lambda _: file.keep(chunk, rough=part is None))
        count = 0
        if isinstance(kept, BytesWanted) and part is not None:
            count, is_whole = await self._fetch(run_id, task, part, kept, chunk.full_size)
            if is_whole or not (is_last or self._waited_enough(run_id, task)):
                return count
            kept = await self._calls.run(lambda _: file.keep(chunk, rough=True))
        if isinstance(kept, Added) and kept.count:
            self.grew.tell(LogGrowth(run_id, task, kept.size))
            count += kept.count
        return count

    async def _fetch(self, run_id: str, task: str, part: FetchPart, wanted: BytesWanted, end: int) -> tuple[int, bool]:
        """How many bytes came, and whether they reach to `end`."""
        file, count = self._file(run_id, task), 0
        while wanted.start + wanted.overlap < end:
            try:
                data = await part(wanted.start, wanted.overlap + _PART_BYTES)
            except AppError as error:
                log.warning("fetching the bytes of a log: %s", error)
                return count, False
            added = await self._calls.run(partial(_add, file, wanted.start, data))
            if added is None or not added.count:
                return count, False
            self._lacking_since.pop((run_id, task), None)
            self.grew.tell(LogGrowth(run_id, task, added.size))
            count += added.count
            wanted = await self._calls.run(lambda _: file.wanted())
        return count, True

    def _waited_enough(self, run_id: str, task: str) -> bool:
        now = time.monotonic()
        return now - self._lacking_since.setdefault((run_id, task), now) >= _PATIENCE_S

    def _file(self, run_id: str, task: str) -> LogFile:
        return LogFile(self._place(run_id, task))

    async def follow(self, run_id: str, task: str = "worker-0") -> AsyncIterator[bytes]:
        """All that is held, then what arrives, until the run is over and nothing is left."""
        grown = asyncio.Event()
        stop_listening = self.grew.add(lambda news: grown.set() if news.run_id == run_id else None)
        offset = 0
        try:
            while True:
                grown.clear()
                run = await self._records.get(run_id)
                over = run is None or run.state.is_over
                while block := await self._read_block(run_id, task, offset):
                    offset += len(block)
                    yield block
                if over:
                    return
                # Another program may be the one that writes: look even when nobody tells.
                try:
                    async with asyncio.timeout(_LOOK_AGAIN_S):
                        await grown.wait()
                except TimeoutError:
                    continue
        finally:
            stop_listening()

    async def _read_block(self, run_id: str, task: str, offset: int) -> bytes:
        return await self._calls.run(lambda _: self.read(run_id, task, offset, _BLOCK))


def _add(file: LogFile, start: int, data: bytes, _: CancelToken) -> Added | None:
    return file.add(start, data)
