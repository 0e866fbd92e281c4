"""The logs on this computer: byte for byte what the service has, wherever it gives us its bytes."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.domain.errors import AppError, LocalTrouble, LogGone
from traindeck.domain.jobs.job import LogChunk, Run
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.clock import utc_now
from traindeck.runtime.files import local_errors, our_opener
from traindeck.runtime.tasks import Listeners, set_within
from traindeck.services.logs.held_log import HeldLog
from traindeck.services.logs.log_files import LogFile
from traindeck.services.logs.log_notes import LogNotes
from traindeck.services.logs.log_source import PART_BYTES, Ending, FetchPart, LogFetch, LogSource
from traindeck.services.logs.unwritten_log import UnwrittenLog

if TYPE_CHECKING:
    from traindeck.store.runs import RunStore

log = logging.getLogger(__name__)

_BLOCK = 1 << 18
_LOOK_AGAIN_S = 0.5


class RunLogs:
    """One file per run and worker; only ever appended to."""

    def __init__(self, records: RunStore, place: Callable[[str, str], Path], calls: BlockingCalls) -> None:
        self._records = records
        self._place = place
        self._calls = calls
        self._fetches: dict[tuple[str, str], LogFetch] = {}
        self._looked_at: Counter[tuple[str, str]] = Counter()
        self._unwritten: dict[tuple[str, str], tuple[UnwrittenLog, LogFetch]] = {}
        """Of those somebody looks at, what the disk did not take."""
        self.grew: Listeners[str] = Listeners()
        """The id of a run of which there is more to read, or whose log is whole now."""

    def file(self, run_id: str, task: str = "worker-0") -> LogFile:
        unwritten = self._unwritten.get((run_id, task))
        return LogFile(self._place(run_id, task)) if unwritten is None else unwritten[0]

    def is_written(self, run_id: str, task: str) -> bool:
        return (run_id, task) not in self._unwritten

    @contextmanager
    def looking_at(self, run_id: str, task: str) -> Iterator[None]:
        """Somebody looks at this log: what of it cannot be written is held in memory meanwhile."""
        self._looked_at[run_id, task] += 1
        try:
            yield
        finally:
            self._looked_at[run_id, task] -= 1
            if not self._looked_at[run_id, task]:
                self._unwritten.pop((run_id, task), None)

    def cloud_bytes(self, run_id: str, task: str) -> int | None:
        """How long the log was at the service when that was last asked; None: nobody did since the start."""
        fetch = self._fetches.get((run_id, task))
        return None if fetch is None else fetch.cloud_bytes

    async def take(
        self, run_id: str, task: str, chunk: LogChunk, part: FetchPart | None = None, end: Ending = Ending.LIVE
    ) -> int:
        """Keep what is new in a look at the service's log; the answer is how many bytes that was."""
        return await self._fetch(run_id, task).take(chunk, part, end)

    async def look(self, run_id: str, task: str, source: LogSource, end: Ending = Ending.LIVE) -> bool:
        """Fetch what is new; whether anything was."""
        try:
            is_new = await self._look(run_id, task, source, end)
        except LocalTrouble:
            if self._looked_at[run_id, task]:
                await self._hold(run_id, task, source)
            raise
        if self._unwritten.pop((run_id, task), None) is not None:
            self.grew.tell(run_id)
        return is_new

    async def _hold(self, run_id: str, task: str, source: LogSource) -> None:
        """Fetch what is new into memory."""
        if (run_id, task) not in self._unwritten:
            file = await self._calls.run(lambda _: UnwrittenLog(self._place(run_id, task)))
            fetch = LogFetch(HeldLog(file), self._calls, partial(self.grew.tell, run_id))
            self._unwritten[run_id, task] = (file, fetch)
        try:
            await self._unwritten[run_id, task][1].look(source, Ending.LIVE)
        except (LocalTrouble, LogGone) as error:
            log.warning("the log of %s: %s %s", run_id, error, error.detail)
        self.grew.tell(run_id)

    async def _look(self, run_id: str, task: str, source: LogSource, end: Ending) -> bool:
        fetch = self._fetch(run_id, task)
        try:
            look = await fetch.look(source, end)
        except LogGone:
            count = await fetch.rest(source.part)
            await self._end(run_id, task, fetch, is_gone=True)
            return bool(count)
        if end >= Ending.LAST or (end is Ending.OVER and look.has_all):
            await self._mend(run_id, task, source, look.has_all)
            await self._end(run_id, task, fetch)
        return bool(look.count)

    async def are_whole(self, run: Run) -> bool:
        """Nothing more of them will come."""
        files = [self.file(run.id, task) for task in run.tasks] if run.job_id else []
        try:
            return await self._calls.run(lambda _: all(file.notes().is_whole for file in files))
        except LocalTrouble:
            return False  # nobody can say so

    async def follow(
        self,
        run_id: str,
        task: str = "worker-0",
        *,
        offset: int = 0,
        is_kept: Callable[[], bool] = lambda: True,
    ) -> AsyncIterator[bytes]:
        """All that is held from `offset` on, then what arrives, until the run is over and no more of it will come.

        It ends, too, where all that is held has been read and no more `is_kept`.
        """
        grown = asyncio.Event()
        file = self.file(run_id, task)
        before = await self._calls.run(lambda _: file.notes())
        with self.grew.heard_by(lambda grown_id: grown.set() if grown_id == run_id else None):
            while True:
                grown.clear()
                run = await self._records.get(run_id)
                is_over = run is None or run.state.is_over
                while True:
                    notes, block = await self._calls.run(partial(_block, file, offset))
                    if notes.generation != before.generation:
                        # Another log began, or what was missing of this one has come.
                        offset = 0 if notes.kept_as != before.kept_as else before.service_offset(offset)
                        before = notes
                        continue
                    before = notes
                    if not block:
                        break
                    offset += len(block)
                    yield block
                # Noted before the empty read: there was nothing behind its end then.
                if not is_kept() or (is_over and (notes.is_whole or run is None or not run.job_id)):
                    return
                # Another program may be the one that writes: look even when nobody tells.
                await set_within(grown, _LOOK_AGAIN_S)

    def _fetch(self, run_id: str, task: str) -> LogFetch:
        known = self._fetches.get((run_id, task))
        if known is None:
            held = HeldLog(LogFile(self._place(run_id, task)))
            known = self._fetches[run_id, task] = LogFetch(held, self._calls, partial(self.grew.tell, run_id))
        return known

    async def _end(self, run_id: str, task: str, fetch: LogFetch, *, is_gone: bool = False) -> None:
        await fetch.end(gone=utc_now() if is_gone else None)
        self._fetches.pop((run_id, task), None)

    async def _mend(self, run_id: str, task: str, source: LogSource, has_all: bool) -> None:
        """Put the service's own bytes where only its text was to be had while the job ran, or nothing."""
        file = LogFile(self._place(run_id, task))
        stretches = (await self._calls.run(lambda _: file.notes())).stretches
        if not stretches or not has_all:
            return
        whole_bytes = await self._calls.run(lambda _: file.notes().seen(file.size()))
        mended = file.path.with_name(f".{file.path.name}.mended")
        at = stretches[0].offset
        try:
            await self._calls.run(partial(_copy_beginning, file, mended, at))
            while at < whole_bytes:
                data = await source.part(at, min(PART_BYTES, whole_bytes - at))
                if not data:
                    return
                await self._calls.run(partial(_put, mended, at, data))
                at += len(data)
            await self._calls.run(lambda _: file.mend(mended, whole_bytes))
        except AppError as error:
            log.warning("mending the log of %s: %s %s", run_id, error, error.detail)
        finally:
            await self._calls.run(lambda _: mended.unlink(missing_ok=True))


def _block(file: LogFile, offset: int, _: CancelToken) -> tuple[LogNotes, bytes]:
    """With the notes that are true of it, as they were before it was read."""
    while True:
        notes = file.notes()
        block = file.read(offset, _BLOCK)
        if file.notes().generation == notes.generation:
            return notes, block


def _copy_beginning(file: LogFile, mended: Path, until: int, _: CancelToken) -> None:
    at = 0
    while at < until and (block := file.read(at, min(_BLOCK, until - at))):
        _put(mended, at, block)
        at += len(block)


def _put(mended: Path, at: int, data: bytes, _: CancelToken | None = None) -> None:
    """By its place: another program that mends the same log writes the same bytes there."""
    with local_errors(mended), open(mended, "ab", opener=our_opener):
        pass
    with local_errors(mended), mended.open("r+b") as file:
        file.seek(at)
        file.write(data)
