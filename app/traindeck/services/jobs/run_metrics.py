"""Reads the numbers of a run out of its log, once there is no more of it to come."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from traindeck.domain.jobs.job import Run
from traindeck.domain.jobs.log_metrics import LogMetrics
from traindeck.domain.jobs.run_query import Metric
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.services.logs.log_files import LogFile
from traindeck.services.logs.run_logs import RunLogs

if TYPE_CHECKING:
    from traindeck.store.runs import RunStore

_MOST_READ = 256 << 20
_BLOCK = 1 << 20


@dataclass(eq=False, slots=True)
class RunMetrics:
    """The first worker speaks for all; of a log of gigabytes the newest part counts."""

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
    metrics = LogMetrics()
    for lines in _lines(file, max(0, file.size() - _MOST_READ), token):
        metrics.take(lines)
    return metrics.found


def _lines(file: LogFile, offset: int, token: CancelToken) -> Iterator[list[bytes]]:
    rest = b""
    while block := file.read(offset, _BLOCK):
        token.check()
        offset += len(block)
        *lines, rest = (rest + block).replace(b"\r", b"\n").split(b"\n")
        rest = rest[-_BLOCK:]  # a line without an end is no line
        yield lines
    yield [rest]
