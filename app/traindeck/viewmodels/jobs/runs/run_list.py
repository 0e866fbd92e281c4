"""The list of runs: what was submitted, how it goes, what else the accounts run, and what can be done to it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from traindeck.domain.errors import AppError
from traindeck.domain.jobs.job import RemoteJob, Run, RunState
from traindeck.domain.jobs.run_query import RunQuery
from traindeck.domain.texts import Text, count_text, text
from traindeck.runtime.clock import Clock, utc_now
from traindeck.runtime.tasks import Repeat, TaskScope, Work
from traindeck.viewmodels.jobs.runs.output_fetches import OutputFetches
from traindeck.viewmodels.jobs.runs.run_again import RunAgain
from traindeck.viewmodels.jobs.runs.run_pages import RunPages, page_around
from traindeck.viewmodels.jobs.runs.run_removals import RunRemovals
from traindeck.viewmodels.jobs.runs.run_search import RunSearch
from traindeck.viewmodels.ports import REST_S, Choose, Confirm

if TYPE_CHECKING:
    from traindeck.services.jobs.adoption import Adoption
    from traindeck.services.jobs.run_watch import JobsSeen, RunWatch
    from traindeck.services.jobs.runs import RunService
    from traindeck.services.jobs.submission import Submission
    from traindeck.services.logs.log_search import LogFinder
    from traindeck.viewmodels.readings.reading_feed import ReadingFeed

_OTHER = "job "  # no run has a blank in its id
_TICK_MS = 1000
_FIRST = 300
"""Runs that are over and are read before anybody looks."""
_PAGE = 100
MOST_OFFERED = 300
"""Runs that are named to somebody who looks for one."""
_AGE_MS = 30_000


@dataclass(frozen=True, slots=True)
class OtherJob:
    """An active job of an account that has no record here."""

    profile: str
    job: RemoteJob

    @property
    def id(self) -> str:
        return f"{_OTHER}{self.job.id}"

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
    """The active ones first; of those that are over the newest, and what somebody looked at."""
    live: tuple[Run, ...] = ()
    """All that are not over."""
    count: int = 0
    """Of all runs, read or not."""
    rows: tuple[str, ...] = ()
    """The ids of those that are looked for; without a search all of them, and the jobs of others."""
    is_known: bool = False
    trouble: AppError | None = None
    selected: str = ""
    busy: Mapping[str, Text] = field(default_factory=dict)

    @property
    def selected_run(self) -> Run | None:
        """None also while it is being read."""
        return next((run for run in self.runs if run.id == self.selected), None)


class RunList(QObject):
    """Live runs on top, then the newest; kept true by the watch."""

    changed = Signal()
    selection_changed = Signal()
    """Another run is selected; that no other thing changed, those with thousands of rows are glad to know."""
    chosen_changed = Signal()
    rows_changed = Signal(object)
    """Runs or jobs of these ids are read, or are otherwise than they were; which there are is not about it."""
    gone = Signal(str)
    """The run of this id was deleted."""
    ticked = Signal()
    """Only times moved on; no run did."""
    opened = Signal(object)
    log_wanted = Signal(object)
    line_wanted = Signal(object, str, int)
    """A run, one of its workers, and a byte of its log: the line that begins there."""
    chart_export_wanted = Signal(object)
    """The chart that is to be kept as a picture or a table."""
    mending_wanted = Signal(object, object)
    """A run that failed, and what is offered to do about it."""
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
        self.readings: ReadingFeed | None = None
        """What their logs tell; not for those who only want a list."""
        self.search = RunSearch(service.records, logs, scope, clock)
        self.search.changed.connect(self._show_rows)
        self.fetches = OutputFetches(service, watch, scope)
        self._removals = RunRemovals(service, sender, scope, self._say_of)
        self._changes: dict[str, asyncio.Event] = {}
        self._others: dict[str, tuple[OtherJob, ...]] = {}  # by account, as of its last look
        self.state = RunListState()
        self.chosen: tuple[str, ...] = ()
        """All that are selected in the list; what can be done to several is done to these."""
        self._pages = RunPages()
        self._heard: dict[str, Run | None] = {}  # since the reading began; None: it is gone
        self._gone: set[str] = set()
        self._wanted: dict[str, None] = {}  # to be read; what was asked for last comes first
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
        """None: there is none, or nobody looked at it yet."""
        return self._pages.get(run_id)

    def row(self, row_id: str) -> RunRow | None:
        return self._pages.get(row_id) or self.other(row_id)

    def look_at(self, number: int) -> None:
        """This row is in sight: read it, and those around it."""
        self.want(page_around(self.state.rows, number, _PAGE))

    def want(self, row_ids: Iterable[str]) -> None:
        """Read what is not read yet; `rows_changed` tells of it."""
        unread = [
            one for one in self._pages.unread(row_ids) if one and one not in self._gone and not one.startswith(_OTHER)
        ]
        if unread:
            for run_id in unread:
                self._wanted.pop(run_id, None)
                self._wanted[run_id] = None
            self._scope.start("read runs that are looked at", self._read_wanted)

    async def known(self, run_ids: Sequence[str]) -> list[Run]:
        """These runs, read now where nobody had; those that are gone are left out."""
        await self._read_these(list(self._pages.unread(run_ids)))
        return self._chosen(run_ids)

    def when_known(self, run_ids: Sequence[str], act: Callable[[Sequence[Run]], object]) -> None:
        """At once, or as soon as they are read."""
        if not any(self._pages.unread(run_ids)):
            act(self._chosen(run_ids))
            return

        async def read() -> None:
            act(await self.known(run_ids))

        self._scope.start(f"read {' '.join(run_ids[:3])} for {id(act)}", read)

    def look_up(self, words: str, tell: Callable[[Sequence[Run]], object]) -> None:
        """Some of all runs there ever were, for those who type."""

        async def look() -> None:
            tell(await self._service.records.found(RunQuery(tuple(words.split()), limit=MOST_OFFERED)))

        self._scope.start("look up runs", look, Repeat.REPLACE)

    async def all(self) -> list[Run]:
        """Every one, for those who look through them."""
        return await self.known(self._pages.ids)

    def select(self, run_id: str) -> None:
        if run_id != self.state.selected:
            self.state = replace(self.state, selected=run_id)
            self.want([run_id] if run_id and self.state.is_known else [])
            self.selection_changed.emit()

    def choose(self, row_ids: Sequence[str]) -> None:
        """These are selected in the list."""
        if tuple(row_ids) != self.chosen:
            self.chosen = tuple(row_ids)
            self.want(self.chosen)
            self.chosen_changed.emit()

    @property
    def chosen_runs(self) -> list[Run] | None:
        """None: not all of them are read yet."""
        run_ids = [one for one in self.chosen if one not in self._gone and not one.startswith(_OTHER)]
        runs = self._chosen(run_ids)
        return runs if len(runs) == len(run_ids) else None

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
        """Ask the service to end these jobs, when the user agrees. Those that are active are always read."""
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
        self.when_known(run_ids, lambda runs: self._removals.ask(runs, choose))

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
        run = self.run(run_id)
        words = text("Saving the changes of “{name}”…", name=run.name if run else run_id)
        self._scope.start(f"change {run_id} {id(done)}", change, words=words)

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

        self._scope.start(name, tell, words=words)

    def _say(self, run_id: str, words: Text | None) -> None:
        self._say_of([run_id], words)

    def _say_of(self, run_ids: Sequence[str], words: Text | None) -> None:
        meant = frozenset(run_ids)
        busy = {key: said for key, said in self.state.busy.items() if key not in meant}
        if words is not None:
            busy |= dict.fromkeys(run_ids, words)
        self.state = replace(self.state, busy=busy)
        self.changed.emit()

    async def _read(self) -> None:
        """Which there are, and of them the active ones, the newest, and what was looked at."""
        self._heard = {}
        looked_at = [run.id for run in self._pages.runs] + [self.state.selected]
        try:
            outline = await self._service.records.outline(_FIRST, looked_at)
        except AppError as error:
            self._become(replace(self.state, trouble=error))
            return
        # What was told while it was read is newer.
        self._pages.begin(outline)
        for run_id, run in self._heard.items():
            self._pages.drop(run_id) if run is None else self._pages.put(run)
        is_first = not self.state.is_known
        if is_first and len(self._pages.ids) > _FIRST:
            self.search.look_for_choices()
        self._become(replace(self.state, is_known=True, trouble=None))
        self.rows_changed.emit(self.state.rows)
        if is_first and not self.state.selected and self.state.runs:
            self.select(self.state.runs[0].id)

    async def _read_wanted(self) -> None:
        """What came into sight last is read first: somebody may scroll past thousands."""
        try:
            while self._wanted:
                part = list(self._wanted)[-_PAGE:]
                for run_id in part:
                    del self._wanted[run_id]
                await self._read_these(part)
        except AppError:
            self._wanted.clear()  # asked for again by whoever looks again
            raise

    async def _read_these(self, run_ids: Sequence[str]) -> None:
        if not run_ids:
            return
        found = {run.id: run for run in await self._service.records.those(run_ids)}
        for run_id in self._pages.unread(run_ids):
            if (run := found.get(run_id)) is not None:
                self._pages.put(run)
        gone = [run_id for run_id in run_ids if run_id not in found]
        self.state = replace(self.state, runs=self._pages.runs)
        self.rows_changed.emit(run_ids)
        for run_id in gone:
            self._on_gone(run_id)
        if self.state.selected in found:
            self.changed.emit()
        if not found.keys().isdisjoint(self.chosen):
            self.chosen_changed.emit()

    async def _rerun(self, run_id: str) -> None:
        run = await self._sender.rerun(run_id, stage=lambda words: self._say(run_id, words))
        self._deaf_until = time.monotonic() + REST_S
        self.submitted.emit(run)

    def _chosen(self, run_ids: Sequence[str]) -> list[Run]:
        return [run for run in map(self._pages.get, run_ids) if run is not None]

    def _on_changed(self, run: Run) -> None:
        self._heard[run.id] = run
        if self.run(run.id) != run:
            self._pages.put(run)
            self._become(self.state)
            self.rows_changed.emit([run.id])

    def _on_jobs(self, seen: JobsSeen) -> None:
        if self.state.is_known:
            self._scope.start(f"jobs of {seen.profile}", partial(self._tell_others, seen), Repeat.REPLACE)

    async def _tell_others(self, seen: JobsSeen) -> None:
        """What was submitted here and has no answer yet is ours by its name."""
        jobs = seen.jobs.jobs
        ids, names = set[str](), set[str]()
        if jobs:
            wanted = [job.id for job in jobs], [job.name for job in jobs]
            ids, names = await self._service.records.ours_among(*wanted)
        others = tuple(OtherJob(seen.profile, job) for job in jobs if job.id not in ids and job.name not in names)
        if others != self._others.get(seen.profile, ()):
            self._others[seen.profile] = others
            self._show_rows()
            self.rows_changed.emit([one.id for one in others])

    def _on_gone(self, run_id: str) -> None:
        self._heard[run_id] = None
        self._gone.add(run_id)
        self.gone.emit(run_id)
        before, ids = self.state, self._pages.ids
        if not self._pages.drop(run_id):
            return
        self._become(before)
        if before.selected == run_id and (left := self._pages.ids):
            self.select(left[min(ids.index(run_id), len(left) - 1)])

    def _become(self, state: RunListState) -> None:
        pages = self._pages
        # What was selected the last time may not be read yet.
        is_there = not state.is_known or state.selected in pages.ids
        selected = state.selected if is_there else ""
        live, runs = pages.live, pages.runs
        self.state = replace(
            state, runs=runs, live=live, count=len(pages.ids), rows=self._rows(live), selected=selected
        )
        _keep(self._seconds, any(run.started is not None for run in live))
        _keep(self._ages, bool(runs))
        self.search.runs_changed()
        self.changed.emit()
        if not is_there:
            self.selection_changed.emit()

    def _show_rows(self) -> None:
        self.state = replace(self.state, rows=self._rows(self.state.live))
        self.changed.emit()

    def _rows(self, live: Sequence[Run]) -> tuple[str, ...]:
        if self.search.found is not None:
            return tuple(run_id for run_id in self.search.found.ids if run_id not in self._gone)
        ids, others = self._pages.ids, [one for jobs in self._others.values() for one in jobs]
        if others:
            taken_in = {run.job_id for run in self._pages.runs}  # adopted since the last look
            others = [one for one in others if one.job.id not in taken_in]
        return (*ids[: len(live)], *(one.id for one in others), *ids[len(live) :])


def _keep(timer: QTimer, wanted: bool) -> None:
    if wanted and not timer.isActive():
        timer.start()
    elif not wanted:
        timer.stop()
