"""The list of runs: what was submitted, how it goes, what else the accounts run, and what can be done to it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from traindeck.domain.errors import AppError
from traindeck.domain.jobs.job import RemoteJob, Run, RunState
from traindeck.domain.texts import Text, count_text, text
from traindeck.runtime.clock import Clock, utc_now
from traindeck.runtime.tasks import Repeat, TaskScope, Work
from traindeck.viewmodels.jobs.output_fetches import OutputFetches
from traindeck.viewmodels.jobs.run_again import RunAgain
from traindeck.viewmodels.jobs.run_removals import RunRemovals
from traindeck.viewmodels.jobs.run_search import RunSearch
from traindeck.viewmodels.ports import REST_S, Choose, Confirm

if TYPE_CHECKING:
    from traindeck.services.jobs.adoption import Adoption
    from traindeck.services.jobs.run_watch import JobsSeen, RunWatch
    from traindeck.services.jobs.runs import RunService
    from traindeck.services.jobs.submission import Submission
    from traindeck.services.logs.log_search import LogFinder

_TICK_MS = 1000
_FIRST = 300
_PAGE = 1000
_AGE_MS = 30_000


@dataclass(frozen=True, slots=True)
class OtherJob:
    """An active job of an account that has no record here."""

    profile: str
    job: RemoteJob

    @property
    def id(self) -> str:
        return f"job {self.job.id}"

    @property
    def name(self) -> str:
        return self.job.name or self.job.id

    @property
    def state(self) -> RunState:
        return self.job.state


RunRow = Run | OtherJob


@dataclass(frozen=True, slots=True)
class RunListState:
    runs: tuple[Run, ...] = ()
    """All there are, the active ones first."""
    rows: tuple[RunRow, ...] = ()
    """Those that are looked for; without a search all of them, and the jobs of others."""
    is_known: bool = False
    trouble: AppError | None = None
    selected: str = ""
    busy: Mapping[str, Text] = field(default_factory=dict)

    @property
    def selected_run(self) -> Run | None:
        return next((run for run in self.runs if run.id == self.selected), None)


class RunList(QObject):
    """Live runs on top, then the newest; kept true by the watch."""

    changed = Signal()
    selection_changed = Signal()
    """Another run is selected; that no other thing changed, those with thousands of rows are glad to know."""
    chosen_changed = Signal()
    ticked = Signal()
    """Only times moved on; no run did."""
    opened = Signal(object)
    log_wanted = Signal(object)
    edit_wanted = Signal(object)
    submitted = Signal(object)
    adopted = Signal(object)
    tags_wanted = Signal(object)
    export_wanted = Signal(object)
    compare_wanted = Signal(object)
    diff_wanted = Signal(object)
    restore_wanted = Signal(object)
    code_export_wanted = Signal(object)
    """What is asked with a dialog, or shown on a page of its own: the runs that are meant."""

    def __init__(
        self,
        service: RunService,
        sender: Submission,
        watch: RunWatch,
        scope: TaskScope,
        adoption: Adoption,
        logs: LogFinder,
        clock: Clock = utc_now,
    ) -> None:
        super().__init__()
        self._service = service
        self._sender = sender
        self._scope = scope
        self._adoption = adoption
        self.clock = clock
        self.search = RunSearch(service.records, logs, lambda: self.state.runs, scope, clock)
        self.search.changed.connect(self._show_rows)
        self.fetches = OutputFetches(service, watch, scope)
        self._removals = RunRemovals(service, sender, scope, self._say)
        self._changes: dict[str, asyncio.Event] = {}
        self._others: dict[str, tuple[OtherJob, ...]] = {}  # by account, as of its last look
        self.state = RunListState()
        self.chosen: tuple[str, ...] = ()
        """All that are selected in the list; what can be done to several is done to these."""
        self._runs: dict[str, Run] = {}
        self._heard: dict[str, Run | None] = {}  # since the reading began; None: it is gone
        self._deaf_until = 0.0
        self.again = RunAgain(self._send_again)
        self.sub_page = ""
        """What of a run is looked at; whichever run is shown next begins with it."""
        self._seconds = QTimer(self, interval=_TICK_MS)
        self._seconds.timeout.connect(self.ticked)
        self._ages = QTimer(self, interval=_AGE_MS)
        self._ages.timeout.connect(self.ticked)
        self._remove_listeners = (
            watch.changed.add(self._on_changed), watch.gone.add(self._on_gone), watch.jobs_seen.add(self._on_jobs)
        )  # fmt: skip

    def close(self) -> None:
        for remove in self._remove_listeners:
            remove()
        self.search.close()
        self._seconds.stop()
        self._ages.stop()
        self.again.cancel()

    def refresh(self) -> None:
        self._scope.start("read the runs", self._read, Repeat.REPLACE)

    def run(self, run_id: str) -> Run | None:
        return self._runs.get(run_id)

    def select(self, run_id: str) -> None:
        if run_id != self.state.selected:
            self.state = replace(self.state, selected=run_id)
            self.selection_changed.emit()

    def choose(self, row_ids: Sequence[str]) -> None:
        """These are selected in the list."""
        if tuple(row_ids) != self.chosen:
            self.chosen = tuple(row_ids)
            self.chosen_changed.emit()

    def rerun(self, run: Run) -> None:
        """Same again; while one is on its way, asking again changes nothing."""
        # For all runs at once: the new run is selected by itself, and a second press would mean that one.
        if time.monotonic() >= self._deaf_until:
            self.again.ask(run)

    def _send_again(self, run: Run) -> None:
        self._act("run again", run.id, partial(self._rerun, run.id), text("Starting again…"))

    def check_again(self, run: Run) -> None:
        """Look once more whether a job without an answer exists."""
        self._act(f"check {run.id}", run.id, partial(self._sender.check_again, run.id), text("Looking for the job…"))

    def stop(self, run_ids: Sequence[str], confirm: Confirm) -> None:
        """Ask the service to end these jobs, when the user agrees."""
        runs = [run for run in self._chosen(run_ids) if run.state.can_stop]
        question = count_text(
            "Stop {count} run? What it has written is kept.",
            "Stop {count} runs? What they have written is kept.",
            len(runs),
        )
        if len(runs) == 1:
            question = text("Stop “{name}”? What it has written is kept.", name=runs[0].name)
        agreed = partial(confirm, question, text("Stop"))
        self._act_on_all("stop", runs, agreed, self._service.stop, text("Requesting to stop…"))

    def remove(self, run_ids: Sequence[str], choose: Choose) -> None:
        """Delete what is over, or what nobody knows anything of, when the user agrees."""
        self._removals.ask(self._chosen(run_ids), choose)

    def adopt(self, other: OtherJob) -> None:
        """Make a record of a job that was made elsewhere."""

        async def adopt() -> None:
            run = await self._adoption.adopt(other.job.id, other.profile)
            self.select(run.id)
            self.adopted.emit(run)

        self._act(f"adopt {other.job.id}", other.id, adopt, text("Adopting…"))

    def star(self, runs: Sequence[Run], *, starred: bool) -> None:
        for run in runs:
            if run.starred != starred:
                self._change(run.id, partial(self._service.notes.star, run.id, starred=starred))

    def note(self, run: Run, words: str) -> None:
        if words.strip() != run.note:
            self._change(run.id, partial(self._service.notes.note, run.id, words))

    def tag(self, runs: Sequence[Run], add: Sequence[str], remove: Sequence[str] = ()) -> None:
        """At the service as well; what it refuses is reported, and stays as it was."""
        for run in runs:
            self._change(run.id, partial(self._service.notes.tag, run.id, add, remove))

    def describe(self, run: Run, words: str) -> None:
        if words.strip() != run.spec.description:
            self._change(run.id, partial(self._service.notes.describe, run.id, words))

    def other(self, row_id: str) -> OtherJob | None:
        return next((one for jobs in self._others.values() for one in jobs if one.id == row_id), None)

    def _change(self, run_id: str, work: Work) -> None:
        """Several of one run come after one another, as they were asked for."""
        before = self._changes.get(run_id)

        async def change() -> None:
            if before is not None:
                await before.wait()
            try:
                await work()
            finally:
                done.set()
                if self._changes.get(run_id) is done:
                    del self._changes[run_id]

        done = self._changes[run_id] = asyncio.Event()
        self._scope.start(f"change {run_id} {id(done)}", change)

    def _act_on_all(
        self,
        name: str,
        runs: Sequence[Run],
        agreed: Callable[[], Awaitable[bool]],
        work: Callable[[str], Awaitable[object]],
        words: Text,
    ) -> None:
        async def ask() -> None:
            if await agreed():
                for run in runs:
                    self._act(f"{name} {run.id}", run.id, partial(work, run.id), words)

        if runs:
            self._scope.start(f"{name} runs", ask)

    def _act(self, name: str, run_id: str, work: Work, words: Text) -> None:
        async def tell() -> None:
            self._say(run_id, words)
            try:
                await work()
            finally:
                self._say(run_id, None)

        self._scope.start(name, tell)

    def _say(self, run_id: str, words: Text | None) -> None:
        busy = {key: said for key, said in self.state.busy.items() if key != run_id}
        if words is not None:
            busy[run_id] = words
        self._become(replace(self.state, busy=busy))

    async def _read(self) -> None:
        """What is looked at first is there first: the live ones and the newest, then the others piece by piece."""
        records, self._heard = self._service.records, {}
        is_first = not self.state.is_known
        try:
            page = await records.all(_FIRST)
            found = {run.id: run for run in (*page, *await records.live())}
            while len(page) >= _FIRST:
                # What is selected from the last time may be among the old ones.
                if is_first and (not self.state.selected or self.state.selected in found):
                    self._take(found)
                page = await records.all(_PAGE, before=page[-1].number)
                found |= {run.id: run for run in page}
        except AppError as error:
            self._become(replace(self.state, trouble=error))
            return
        self._take(found)

    def _take(self, found: Mapping[str, Run]) -> None:
        """What was told while it was read is newer."""
        self._runs = {run_id: run for run_id, run in {**found, **self._heard}.items() if run is not None}
        is_first = not self.state.is_known
        self._become(replace(self.state, is_known=True, trouble=None))
        if is_first and not self.state.selected and self.state.runs:
            self.select(self.state.runs[0].id)

    async def _rerun(self, run_id: str) -> None:
        run = await self._sender.rerun(run_id, stage=lambda words: self._say(run_id, words))
        self._deaf_until = time.monotonic() + REST_S
        self.submitted.emit(run)

    def _chosen(self, run_ids: Sequence[str]) -> list[Run]:
        return [self._runs[run_id] for run_id in run_ids if run_id in self._runs]

    def _on_changed(self, run: Run) -> None:
        self._heard[run.id] = run
        if self._runs.get(run.id) != run:
            self._runs[run.id] = run
            self._become(self.state)

    def _on_jobs(self, seen: JobsSeen) -> None:
        """What was submitted here and has no answer yet is ours by its name."""
        if not self.state.is_known:
            return
        names = {run.name for run in self._runs.values()} if seen.jobs.jobs else set()
        ids = {run.job_id for run in self._runs.values()} if seen.jobs.jobs else set()
        others = tuple(
            OtherJob(seen.profile, job) for job in seen.jobs.jobs if job.id not in ids and job.name not in names
        )
        if others != self._others.get(seen.profile, ()):
            self._others[seen.profile] = others
            self._show_rows()

    def _on_gone(self, run_id: str) -> None:
        self._heard[run_id] = None
        if run_id not in self._runs:
            return
        before = self.state
        del self._runs[run_id]
        self._become(before)
        if before.selected == run_id and self.state.runs:
            at = next(number for number, run in enumerate(before.runs) if run.id == run_id)
            self.select(self.state.runs[min(at, len(self.state.runs) - 1)].id)

    def _become(self, state: RunListState) -> None:
        runs = tuple(sorted(self._runs.values(), key=lambda run: (run.state.is_over, -run.number)))
        # What was selected the last time may not be read yet.
        is_there = state.selected in self._runs or not state.is_known
        selected = state.selected if is_there else ""
        self.state = replace(state, runs=runs, rows=self._rows(runs), selected=selected)
        live = takewhile(lambda run: not run.state.is_over, runs)
        _keep(self._seconds, any(run.started is not None for run in live))
        _keep(self._ages, bool(runs))
        self.search.runs_changed()
        self.changed.emit()
        if not is_there:
            self.selection_changed.emit()

    def _show_rows(self) -> None:
        self.state = replace(self.state, rows=self._rows(self.state.runs))
        self.changed.emit()

    def _rows(self, runs: Sequence[Run]) -> tuple[RunRow, ...]:
        if self.search.found is not None:
            return tuple(self._runs[run_id] for run_id in self.search.found.ids if run_id in self._runs)
        others = [one for jobs in self._others.values() for one in jobs]
        if not others:
            return tuple(runs)
        taken_in = self._taken_in(others)
        others = [one for one in others if one.job.id not in taken_in]
        live = sum(not run.state.is_over for run in runs)
        return (*runs[:live], *others, *runs[live:])

    def _taken_in(self, jobs: Sequence[OtherJob]) -> set[str]:
        """Adopted since the last look."""
        wanted = {one.job.id for one in jobs}
        return {run.job_id for run in self._runs.values() if run.job_id in wanted}


def _keep(timer: QTimer, wanted: bool) -> None:
    if wanted and not timer.isActive():
        timer.start()
    elif not wanted:
        timer.stop()
