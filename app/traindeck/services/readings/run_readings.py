"""What the logs of runs tell, kept up as they grow: each byte is read once, by whoever asks first."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from traindeck.domain.jobs.job import Run
from traindeck.domain.readings.failures import Failure, RunReading
from traindeck.domain.readings.log_reader import LogReader
from traindeck.domain.readings.merging import merged
from traindeck.domain.readings.reading import LogReading
from traindeck.domain.readings.tracking import TrackedNumber
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.services.logs.run_logs import RunLogs
from traindeck.services.readings.explaining import MOST_WORKERS, LogExplaining, expected
from traindeck.services.readings.shipped import progress_patterns
from traindeck.services.readings.whole_log import read_values

if TYPE_CHECKING:
    from traindeck.store.tracked_numbers import TrackedNumbers

_MOST_KEPT = 24


@dataclass(slots=True)
class _Kept:
    tracked: tuple[TrackedNumber, ...]
    lock: asyncio.Lock
    readers: dict[str, LogReader] = field(default_factory=dict)
    """By worker."""
    caught_up: set[str] = field(default_factory=set)
    failure: Failure | None = None
    worker: str = ""
    explained_at: int = -1


class RunReadings:
    """All workers as one; a failure is looked for in all logs."""

    def __init__(
        self,
        logs: RunLogs,
        explaining: LogExplaining,
        tracked: TrackedNumbers,
        disk: BlockingCalls,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.logs = logs
        self.tracked = tracked
        self._explaining = explaining
        self.disk = disk
        self._clock = clock
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    async def of(self, run: Run) -> RunReading:
        tracked, _ = await self.disk.run(lambda _: (self.tracked.of(run.spec.name), progress_patterns()))
        kept = self._keeping(run, tracked)
        async with kept.lock:
            await self.disk.run(lambda token: self._catch_up(run, kept, token))
            read = sum(reader.offset for reader in kept.readers.values())
            if run.state.is_over and kept.explained_at != read:
                kept.failure, kept.worker = await self._explaining.failure(run)
                kept.explained_at = read
            now = None if run.state.is_over else self._clock()
            values = await self.disk.run(lambda _: _merged(kept, now))
        return RunReading(run.id, values, kept.failure, kept.worker)

    def _keeping(self, run: Run, tracked: tuple[TrackedNumber, ...]) -> _Kept:
        kept = self._kept.get(run.id)
        if kept is None or kept.tracked != tracked:
            kept = self._kept[run.id] = _Kept(tracked, asyncio.Lock())
        self._kept.move_to_end(run.id)
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        return kept

    def _catch_up(self, run: Run, kept: _Kept, token: CancelToken) -> None:
        for task in run.tasks[:MOST_WORKERS]:
            file = self.logs.file(run.id, task)
            size = file.size()
            reader = kept.readers.get(task)
            if reader is None or size < reader.offset:  # the service began a new log
                reader = kept.readers[task] = LogReader(progress_patterns(), kept.tracked)
                reader.expect(**expected(run))
                kept.caught_up.discard(task)
            # What was there before anybody looked did not arrive now.
            at = self._clock() if task in kept.caught_up and not run.state.is_over else None
            read_values(reader, file.read, size, token, at)
            kept.caught_up.add(task)


def _merged(kept: _Kept, now: float | None) -> LogReading:
    return merged({task: reader.reading(now) for task, reader in kept.readers.items()})
