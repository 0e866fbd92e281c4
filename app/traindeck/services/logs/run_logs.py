"""The logs on this computer: byte for byte what the service has, wherever it gives us its bytes."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.domain.errors import AppError
from traindeck.domain.jobs.job import LogChunk
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.tasks import Listeners, set_within
from traindeck.services.logs.log_files import BytesWanted, LogFile

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


class RunLogs:
    """One file per run and worker; only ever appended to."""

    def __init__(self, records: RunStore, place: Callable[[str, str], Path], calls: BlockingCalls) -> None:
        self._records = records
        self._place = place
        self._calls = calls
        self._lacking_since: dict[Path, float] = {}
        self.grew: Listeners[str] = Listeners()
        """The id of a run of which there is more to read."""

    def file(self, run_id: str, task: str = "worker-0") -> LogFile:
        return LogFile(self._place(run_id, task))

    async def take(
        self, run_id: str, task: str, chunk: LogChunk, part: FetchPart | None = None, *, is_last: bool = False
    ) -> int:
        """Keep what is new in a look at the service's log; the answer is how many bytes that was.

        Where the look has not the very bytes, `part` is asked for them; `is_last`: there is no later look to wait for.
        """
        file = self.file(run_id, task)
        kept = await self._calls.run(lambda _: file.keep(chunk, rough=part is None))
        count = 0
        if isinstance(kept, BytesWanted) and part is not None:
            count, is_whole = await self._fetch(run_id, file, part, kept, chunk.full_size)
            if is_whole or not (is_last or self._waited_enough(file)):
                return count
            kept = await self._calls.run(lambda _: file.keep(chunk, rough=True))
        if isinstance(kept, int) and kept:
            self.grew.tell(run_id)
            count += kept
        return count

    async def _fetch(
        self, run_id: str, file: LogFile, part: FetchPart, wanted: BytesWanted, end: int
    ) -> tuple[int, bool]:
        """How many bytes came, and whether they reach to `end`."""
        count = 0
        while wanted.start + wanted.overlap < end:
            try:
                data = await part(wanted.start, wanted.overlap + _PART_BYTES)
            except AppError as error:
                log.warning("fetching the bytes of a log: %s", error)
                return count, False
            added = await self._calls.run(partial(_add, file, wanted.start, data))
            if not added:
                return count, False
            self._lacking_since.pop(file.path, None)
            self.grew.tell(run_id)
            count += added
            wanted = await self._calls.run(lambda _: file.wanted())
        return count, True

    def _waited_enough(self, file: LogFile) -> bool:
        now = time.monotonic()
        return now - self._lacking_since.setdefault(file.path, now) >= _PATIENCE_S

    async def follow(self, run_id: str, task: str = "worker-0") -> AsyncIterator[bytes]:
        """All that is held, then what arrives, until the run is over and nothing is left."""
        grown = asyncio.Event()
        offset = 0
        with self.grew.heard_by(lambda grown_id: grown.set() if grown_id == run_id else None):
            while True:
                grown.clear()
                run = await self._records.get(run_id)
                over = run is None or run.state.is_over
                while block := await self._calls.run(partial(_block, self.file(run_id, task), offset)):
                    offset += len(block)
                    yield block
                if over:
                    return
                # Another program may be the one that writes: look even when nobody tells.
                await set_within(grown, _LOOK_AGAIN_S)


def _block(file: LogFile, offset: int, _: CancelToken) -> bytes:
    return file.read(offset, _BLOCK)


def _add(file: LogFile, start: int, data: bytes, _: CancelToken) -> int:
    return file.add(start, data)
