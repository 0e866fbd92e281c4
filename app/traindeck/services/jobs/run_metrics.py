"""Reads the numbers of a run out of its log, once there is no more of it to come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from traindeck.domain.jobs.job import Run
from traindeck.domain.jobs.run_query import Metric
from traindeck.domain.readings.log_reader import LogReader
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.services.logs.log_files import LogFile
from traindeck.services.logs.run_logs import RunLogs
from traindeck.services.readings.shipped import progress_patterns
from traindeck.services.readings.whole_log import read_values

if TYPE_CHECKING:
    from traindeck.store.runs import RunStore


@dataclass(eq=False, slots=True)
class RunMetrics:
    """The first worker speaks for all."""

    records: RunStore
    logs: RunLogs
    disk: BlockingCalls

    async def measure(self, run: Run) -> Mapping[str, Metric]:
        if not run.tasks:
            return {}
        file = self.logs.file(run.id, run.tasks[0])
        found = await self.disk.run(lambda token: _measured(file, token))
        if found:
            await self.records.set_metrics(run.id, found)
        return found


def _measured(file: LogFile, token: CancelToken) -> Mapping[str, Metric]:
    reader = LogReader(progress_patterns())
    read_values(reader, file.read, file.size(), token)
    reader.end()
    return reader.reading().metrics
