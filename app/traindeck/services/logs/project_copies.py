"""The logs of runs once more in the folder their code came from, below `MA_LOG`, for whoever wants them there."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.domain.errors import AppError
from traindeck.domain.jobs.job import Run
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.files import local_errors, our_folder, our_opener
from traindeck.services.logs.log_files import LogFile

if TYPE_CHECKING:
    from traindeck.services.logs.run_logs import RunLogs
    from traindeck.store.runs import RunStore

log = logging.getLogger(__name__)

FOLDER = "MA_LOG"
_BLOCK = 1 << 20
_COMPARED = 4096
_PAUSE_S = 1.0


class ProjectCopies:
    """Each grows with the log it is a copy of; one that somebody edited is left alone, and another begun beside it."""

    def __init__(self, records: RunStore, logs: RunLogs, disk: BlockingCalls, always: Callable[[], bool]) -> None:
        """`always`: whether all runs have copies, and not only those whose job says so."""
        self._records = records
        self._logs = logs
        self._disk = disk
        self._always = always

    async def run(self) -> None:
        """Follow what grows, as long as this runs."""
        grown: set[str] = set()
        woken = asyncio.Event()

        def on_growth(run_id: str) -> None:
            grown.add(run_id)
            woken.set()

        with self._logs.grew.heard_by(on_growth):
            while True:
                await woken.wait()
                woken.clear()
                ids = set(grown)
                grown.clear()
                for run_id in ids:
                    run = await self._records.get(run_id)
                    if run is not None and self.is_wanted(run):
                        await self.copy_quietly(run)
                await asyncio.sleep(_PAUSE_S)

    def is_wanted(self, run: Run) -> bool:
        return run.spec.log_copy or self._always()

    async def copy(self, run: Run) -> list[Path]:
        """As far as the logs are held now; none where the folder of the code is not on this computer."""
        return await self._disk.run(lambda token: list(self._copies(run, token)))

    async def copy_quietly(self, run: Run) -> None:
        """The same, of which nothing else depends."""
        try:
            await self.copy(run)
        except AppError as error:
            # The log itself is kept; this is one more place for it.
            log.warning("copying the log of %s: %s %s", run.name, error, error.detail)

    def _copies(self, run: Run, token: CancelToken) -> Iterator[Path]:
        folder = Path(run.spec.code_folder)
        if not run.spec.code_folder or not folder.is_absolute() or not folder.is_dir():
            return
        for task in run.tasks:
            token.check()
            file = self._logs.file(run.id, task)
            if file.size():
                yield _grown(file, folder / FOLDER / run.name, task)


def _grown(file: LogFile, folder: Path, task: str) -> Path:
    with local_errors(folder):
        our_folder(folder)
        number = 1
        while True:
            target = folder / (f"{task}.log" if number == 1 else f"{task} ({number}).log")
            at = target.stat().st_size if target.exists() else 0
            if _is_beginning(file, target, at):
                break
            number += 1
        with open(target, "ab", opener=our_opener) as copy:
            at = copy.tell()
            while block := file.read(at, _BLOCK):
                at += copy.write(block)
    return target


def _is_beginning(file: LogFile, target: Path, size: int) -> bool:
    """Whether the copy ends as the log does at that place; what is longer, or another text, is somebody's own."""
    first = max(0, size - _COMPARED)
    if size > file.size():
        return False
    if size == 0:
        return True
    with target.open("rb") as copy:
        copy.seek(first)
        return copy.read(size - first) == file.read(first, size - first)
