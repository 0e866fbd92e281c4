"""Reading the logs of a run for a command: from this disk as far as they are kept here, else from the service."""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from traindeck.cli.job.log_printing import LogChoice, LogLine, LogOutput, LogPrinter, MergedLines, moment
from traindeck.cli.main import Call
from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.errors import AppError, ServiceTrouble
from traindeck.domain.jobs.job import Run
from traindeck.domain.texts import say
from traindeck.runtime.clock import utc_now
from traindeck.services.jobs.run_log_source import RunLogSource
from traindeck.services.jobs.run_watch import LINGER_S
from traindeck.services.logs.log_source import Ending
from traindeck.services.logs.straight_log import StraightLog

if TYPE_CHECKING:
    from traindeck.assembly.run_core import RunCore
    from traindeck.services.logs.log_notes import LogMark

_BLOCK = 1 << 18
_STRAIGHT_S = 1.0
# How long the line of one worker waits for earlier ones of the others.
_MERGE_S = 2.0
_FLUSH_S = 0.2


class RunLogPrinting:
    """Prints the logs of some workers of a run, each by itself or all in the order of their times."""

    def __init__(
        self,
        call: Call,
        core: RunCore,
        run: Run,
        workers: Sequence[str] = (),
        choice: LogChoice | None = None,
        *,
        is_merged: bool = False,
        as_documents: bool = False,
    ) -> None:
        self._call, self._core, self._run = call, core, run
        self._is_chosen = bool(workers)
        self._workers = tuple(workers or run.tasks)
        # A job that has not begun may not have all its workers yet.
        are_several = len(self._workers) > 1 or (not workers and run.spec.nodes > 1)
        self._to = LogOutput(call.output, is_named=are_several, as_documents=as_documents)
        self._is_merged = is_merged and are_several
        self._was_said = False
        self._near = (run.started or run.submitted or run.created).astimezone()
        self._choice = choice or LogChoice()
        self.printers = [self._printer(worker) for worker in self._workers]

    def _printer(self, worker: str) -> LogPrinter:
        return LogPrinter(self._to, worker, self._choice, near=self._near)

    @property
    def has_times(self) -> bool:
        return any(printer.has_times for printer in self.printers)

    @property
    def has_begun(self) -> bool:
        return any(printer.has_begun for printer in self.printers)

    @property
    def _cannot_keep(self) -> AppError | None:
        return self._core.records.trouble or self._core.watch.log_trouble

    async def print_now(self) -> None:
        """What there is."""
        if self._cannot_keep is not None and self._run.job_id:
            self._say_not_kept()
            found = [await self._straight_now(printer.worker) for printer in self.printers]
            contents = [iter([content]) for content, _ in found]
            marks = [each for _, each in found]
        else:
            contents = [self._held(printer.worker) for printer in self.printers]
            marks = [self._core.logs.file(self._run.id, printer.worker).marks() for printer in self.printers]
        if self._is_merged:
            lines = (_lines(*each) for each in zip(self.printers, contents, strict=True))
            for line in heapq.merge(*lines, key=moment):
                self._to.line(line)
        for printer, blocks, said in zip(self.printers, contents, marks, strict=True):
            for block in blocks:
                printer.take(block)
            printer.end()
            printer.end_marks(said)

    async def print_on(self) -> None:
        """What there is and what comes, until the run has ended and nothing of it is missing."""
        merged = MergedLines(self._to, self._workers, _MERGE_S, time.monotonic) if self._is_merged else None
        offsets = dict.fromkeys(self._workers, 0)
        if merged is not None and self._cannot_keep is None:
            offsets = self._print_held_merged()
        async with asyncio.TaskGroup() as group:
            flushing = group.create_task(_keep_flushing(merged)) if merged is not None else None
            following = [
                group.create_task(self._follow(printer, offsets[printer.worker], merged)) for printer in self.printers
            ]

            def on_change(run: Run) -> None:
                for worker in run.tasks if run.id == self._run.id and not self._is_chosen else ():
                    if worker not in self._workers:
                        self._workers = (*self._workers, worker)
                        self.printers.append(self._printer(worker))
                        if merged is not None:
                            merged.begin(worker)
                        following.append(group.create_task(self._follow(self.printers[-1], 0, merged)))

            with self._core.watch.changed.heard_by(on_change):
                while not all(task.done() for task in following):
                    await asyncio.wait(following)
            if flushing is not None:
                flushing.cancel()
        if merged is not None:
            merged.flush(is_last=True)

    def _print_held_merged(self) -> dict[str, int]:
        """What is held already has its order at once; the answer is where each log goes on."""
        ends = {worker: self._core.logs.file(self._run.id, worker).size() for worker in self._workers}
        lines = (_lines(printer, self._held(printer.worker, ends[printer.worker])) for printer in self.printers)
        for line in heapq.merge(*lines, key=moment):
            self._to.line(line)
        return ends

    async def _follow(self, printer: LogPrinter, offset: int, merged: MergedLines | None) -> None:
        worker = printer.worker
        printer.collect = merged.take if merged is not None else None
        file = self._core.logs.file(self._run.id, worker)
        if self._cannot_keep is None:
            followed = self._core.logs.follow(
                self._run.id, worker, offset=offset, is_kept=lambda: self._cannot_keep is None
            )
            async for block in followed:
                printer.take(block)
        printer.end_marks(file.marks())
        if self._cannot_keep is not None and self._run.job_id:
            self._say_not_kept()
            straight = await self._straight(worker, file.notes().seen(file.size()) if printer.has_begun else 0)
            async for block in self._until_over(straight):
                printer.take(block)
            printer.end_marks(straight.marks)
        printer.end()
        if merged is not None:
            merged.ended(worker)

    def _held(self, worker: str, end: int | None = None) -> Iterator[bytes]:
        """What this computer holds of one worker's log."""
        file, offset = self._core.logs.file(self._run.id, worker), 0
        while block := file.read(offset, _BLOCK if end is None else min(_BLOCK, end - offset)):
            offset += len(block)
            yield block

    # From the service alone

    def _say_not_kept(self) -> None:
        if not self._was_said:
            self._was_said = True
            self._call.output.note(say("The log is read from the service and not kept on this computer."))

    async def _straight(self, worker: str, passed_bytes: int = 0) -> StraightLog:
        connection = await self._core.connections.open(self._run.profile)
        source = RunLogSource(connection.training, self._core.planes, self._run, worker)
        return StraightLog(source, self._core.disk, passed_bytes)

    async def _straight_now(self, worker: str) -> tuple[bytes, Sequence[LogMark]]:
        straight = await self._straight(worker)
        content, _ = await straight.look(Ending.LAST)
        return content, straight.marks

    async def _until_over(self, straight: StraightLog) -> AsyncIterator[bytes]:
        over_since: float | None = None
        lag_s = 0.0 if self._run.profile == LAB else LINGER_S
        tries = 0
        while True:
            now = await self._core.records.get(self._run.id)
            if over_since is None and (now is None or now.state.is_over):
                over_since = time.monotonic()
            end = Ending.LIVE
            if over_since is not None:
                end = Ending.LAST if time.monotonic() - over_since >= lag_s else Ending.OVER
            try:
                block, has_all = await straight.look(end)
            except ServiceTrouble as error:
                tries += 1
                next_try = utc_now() + timedelta(seconds=_STRAIGHT_S)
                self._call.output.setback(error, tries, next_try)
                block, has_all = b"", False
            if block:
                yield block
            if end is Ending.LAST and has_all:
                return
            await asyncio.sleep(_STRAIGHT_S)


def _lines(printer: LogPrinter, blocks: Iterator[bytes]) -> Iterator[LogLine]:
    """The chosen lines of one worker, one by one."""
    waiting: list[LogLine] = []
    printer.collect = waiting.append
    for block in blocks:
        printer.take(block)
        yield from waiting
        waiting.clear()
    printer.collect = None
    if (last := printer.open_line()) is not None:
        yield last


async def _keep_flushing(merged: MergedLines) -> None:
    while True:
        await asyncio.sleep(_FLUSH_S)
        merged.flush()
