"""What a log says: why it failed, how far it is, its last values and its curves; of a run or of any file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from traindeck.domain.jobs.job import Run
from traindeck.domain.readings.failures import Failure, failure_of
from traindeck.domain.readings.log_reader import LogReader
from traindeck.domain.readings.merging import merged
from traindeck.domain.readings.patterns import count_of
from traindeck.domain.readings.reading import LogReading
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.files import local_errors
from traindeck.services.logs.log_files import LogFile
from traindeck.services.logs.run_logs import RunLogs
from traindeck.services.readings.shipped import failure_rules, progress_patterns
from traindeck.services.readings.whole_log import ReadPart, evidence_in, read_values

MOST_WORKERS = 16
# That others waited in vain says less than any exception, and more than an exit code.
_MOST_OF_WAITING = 25


@dataclass(frozen=True, slots=True)
class Explanation:
    """All of it, for one log or for the logs of one run."""

    reading: LogReading
    failure: Failure | None
    size_bytes: int
    worker: str = ""
    """In whose log the failure is."""


class LogExplaining:
    """Reads what is on this disk, asks no service."""

    def __init__(self, logs: RunLogs, disk: BlockingCalls) -> None:
        self._logs = logs
        self._disk = disk

    async def run(self, run: Run) -> Explanation:
        return await self._disk.run(lambda token: self._run(run, token))

    async def failure(self, run: Run) -> tuple[Failure | None, str]:
        """Why it failed and in whose log that is; None: it did not."""
        return await self._disk.run(lambda token: self._failure(run, token))

    def _run(self, run: Run, token: CancelToken) -> Explanation:
        readings, size = dict[str, LogReading](), 0
        for task in run.tasks[:MOST_WORKERS]:
            file, reader = self._logs.file(run.id, task), LogReader(progress_patterns())
            reader.expect(**expected(run))
            read_values(reader, file.read, file.size(), token)
            reader.end()
            readings[task] = reader.reading()
            size += file.size()
        failure, worker = self._failure(run, token)
        return Explanation(merged(readings), failure, size, worker)

    def _failure(self, run: Run, token: CancelToken) -> tuple[Failure | None, str]:
        """Of several workers the one whose log knows most: others end because it ended."""
        if not run.state.is_failure:
            return None, ""
        found: list[tuple[int, Failure, str]] = []
        for task in run.tasks[:MOST_WORKERS]:
            file: LogFile = self._logs.file(run.id, task)
            failure = _failure_in(file.read, file.size(), token, messages_of(run), facts_of(run))
            if failure is not None:
                found.append((rank_of(failure), failure, task))
        best = max(found, key=lambda one: one[0], default=None)
        return (best[1], best[2]) if best else (None, "")


async def explain_file(path: Path, disk: BlockingCalls) -> Explanation:
    """Any log of any program."""

    def work(token: CancelToken) -> Explanation:
        with local_errors(path), path.open("rb") as file:
            return explain_open(file, token)

    return await disk.run(work)


def explain_open(file: BinaryIO, token: CancelToken) -> Explanation:
    size = os.fstat(file.fileno()).st_size

    def read(offset: int, most: int) -> bytes:
        file.seek(offset)
        return file.read(most)

    reader = LogReader(progress_patterns())
    read_values(reader, read, size, token)
    reader.end()
    return Explanation(reader.reading(), _failure_in(read, size, token), size)


def _failure_in(
    read: ReadPart,
    size: int,
    token: CancelToken,
    messages: Sequence[str] = (),
    facts: Sequence[tuple[str, str]] = (),
) -> Failure | None:
    return failure_of(evidence_in(read, size, token, messages=messages, facts=facts), failure_rules())


def rank_of(failure: Failure) -> int:
    """How much it says; without a rule a traceback is still more than nothing."""
    rule = next((rule for rule in failure_rules().rules if rule.id == failure.rule), None)
    if rule is None:
        return 9 if failure.traceback else 0
    return min(rule.rank, _MOST_OF_WAITING) if rule.follows else rule.rank


def messages_of(run: Run) -> tuple[str, ...]:
    """What the service said of its end."""
    return (str(run.reason),) if run.reason else ()


def facts_of(run: Run) -> tuple[tuple[str, str], ...]:
    """What is known of a run beside its log."""
    engine = f"{run.spec.engine} {run.spec.engine_version} {run.spec.image}".lower()
    return (("ascend", "1"),) if any(word in engine for word in ("ascend", "cann", "npu")) else ()


def expected(run: Run) -> dict[str, int | None]:
    """How many epochs and steps its running parameters ask for."""
    found: dict[str, int | None] = {"epochs": None, "steps": None}
    for name, value in run.spec.parameters:
        for what, pattern in progress_patterns().totals.items():
            if (match := pattern.expression.fullmatch(f"{name.lstrip('-')}={value}")) and found[what] is None:
                found[what] = count_of(match[1])
    return found
