"""The loss of runs that nobody looked at yet, in a few numbers: for the rows of a list."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from traindeck.domain.errors import LocalTrouble
from traindeck.domain.jobs.job import Run
from traindeck.domain.readings.curves import SmallCurve
from traindeck.domain.readings.log_reader import LogReader
from traindeck.domain.readings.merging import merged
from traindeck.domain.readings.reading import LogReading
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.services.logs.run_logs import RunLogs
from traindeck.services.readings.explaining import MOST_WORKERS
from traindeck.services.readings.shipped import progress_patterns
from traindeck.services.readings.whole_log import read_values
from traindeck.store.curve_file import keep_curve, kept_curve

log = logging.getLogger(__name__)

_MOST_READ = 1 << 20


class RunCurves:
    """Kept when a run has ended; of one that ended unseen a log is read for it, as long as that is small."""

    def __init__(self, logs: RunLogs, disk: BlockingCalls, file: Callable[[str], Path]) -> None:
        """`file`: the place to keep one, by the id of the run."""
        self._logs = logs
        self._disk = disk
        self._file = file

    async def of(self, run: Run) -> SmallCurve:
        """Without values where none are known, or it would take long to say."""
        return await self._disk.run(lambda token: self._of(run, token))

    async def keep(self, run_id: str, curve: SmallCurve) -> None:
        if curve.log_bytes:
            await self._disk.run(lambda _: keep_curve(self._file(run_id), curve))

    def _of(self, run: Run, token: CancelToken) -> SmallCurve:
        kept = kept_curve(self._file(run.id)) if run.state.is_over else None
        files = {task: self._logs.file(run.id, task) for task in run.tasks[:MOST_WORKERS]}
        try:
            sizes = {task: file.size() for task, file in files.items()}
            log_bytes = sum(sizes.values())
            # More of it may have come since: what is kept is shown where that is too much to read.
            if not log_bytes or log_bytes > _MOST_READ or (kept is not None and kept.log_bytes == log_bytes):
                return kept or SmallCurve()
            readings = dict[str, LogReading]()
            for task, file in files.items():
                reader = LogReader(progress_patterns())
                read_values(reader, file.read, sizes[task], token)
                readings[task] = reader.reading()
        except LocalTrouble as error:
            log.warning("the curve of %s: %s %s", run.name, error, error.detail)
            return kept or SmallCurve()
        found = merged(readings).small_curve
        if run.state.is_over:
            keep_curve(self._file(run.id), found)
        return found
