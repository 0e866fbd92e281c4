"""Runs that say nothing any more and do nothing either, or leave their card idle; suspected, never touched."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from traindeck.domain.errors import AppError
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.jobs.resource_use import CPU, GPU, NPU, ResourceUse
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.clock import Clock, moment_at, utc_now
from traindeck.runtime.tasks import Listeners
from traindeck.services.notices.unused_cards import CardUnused, UnusedCards

if TYPE_CHECKING:
    from traindeck.services.accounts.connections import Connection, Connections
    from traindeck.services.jobs.run_watch import RunWatch
    from traindeck.services.logs.run_logs import RunLogs
    from traindeck.store.run_waits import RunWaits, Waited
    from traindeck.store.runs import RunStore

log = logging.getLogger(__name__)

# What a process that only waits takes all the same; a download takes more.
_IDLE_PERCENT = 0.1
_LOOKS_IN_WAIT = 10
_PAUSE_S = (0.2, 30.0)
_RUNNING = "running"
_SERVICE_MARKS = (b"[ModelArts Service Log]", b"[Modelarts Service Log]", b"Platform=ModelArts-Service")
_LOOKED_AT = 1 << 18


class Suspicion(StrEnum):
    """What a run may be stopped for, if the user wants it."""

    HANGS = "hang"
    CARD_UNUSED = "unused"


class Suspected(NamedTuple):
    run_id: str
    of: Suspicion


@dataclass(frozen=True, slots=True)
class Hang:
    """No line of any worker for so long, and none of them does anything."""

    run: Run
    silent_since: datetime
    held_bytes: int
    """Of all its logs: the same hang is known by them after a restart, too."""
    waits: int = 0
    """How often somebody said to wait before: the same hang once more."""


@dataclass(slots=True)
class _Silence:
    held_bytes: int
    since: datetime
    samples: dict[str, int] = field(default_factory=dict)
    """How many there were of each worker when it was last seen at something; the newer ones count."""
    idle_since: datetime | None = None
    is_told: bool = False


@dataclass(eq=False, slots=True)
class HangGuard:
    """Asks for what a run uses once it has been silent for a while, and each minute until it has used its card."""

    records: RunStore
    connections: Connections
    watch: RunWatch
    logs: RunLogs
    waits: RunWaits
    disk: BlockingCalls
    wait: Callable[[], timedelta | None]
    """How long a silence is too long; None: nobody wants to know."""
    clock: Clock = utc_now
    only: str = ""
    """Look at this run alone; empty: at all that live."""
    suspected: Listeners[Hang] = field(default_factory=Listeners)
    unused: Listeners[CardUnused] = field(default_factory=Listeners)
    refuted: Listeners[Suspected] = field(default_factory=Listeners)
    """What was suspected holds no longer: the run is at something, or nobody wants to know."""
    _cards: UnusedCards = field(default_factory=UnusedCards)
    _silences: dict[str, _Silence] = field(default_factory=dict)
    _told_cards: set[str] = field(default_factory=set)

    async def postpone(self, suspected: Suspected) -> timedelta:
        """The user wants to wait: nothing is heard of it for so long, also after a restart."""
        period = self.wait() or timedelta(0)
        until = self.clock() + period
        try:
            await self.disk.run(lambda _: self.waits.put(suspected.run_id, suspected.of, until))
        finally:  # what cannot be kept was not said, and is asked again
            self._take_back(suspected)
        return period

    def _take_back(self, suspected: Suspected) -> None:
        silence = self._silences.get(suspected.run_id)
        if suspected.of is Suspicion.CARD_UNUSED:
            self._told_cards.discard(suspected.run_id)
        elif silence is not None:
            silence.is_told = False

    def _refute(self, suspected: Suspected) -> None:
        self._take_back(suspected)
        self.refuted.tell(suspected)

    async def run(self) -> None:
        """Look as long as this runs."""
        while True:
            wait = self.wait()
            if wait is not None:
                await self._look_at_all(wait)
            else:
                self._ask_no_more()
            low, high = _PAUSE_S
            await asyncio.sleep(min(max((wait or timedelta(hours=1)).total_seconds() / _LOOKS_IN_WAIT, low), high))

    def _ask_no_more(self) -> None:
        for run_id in [run_id for run_id, silence in self._silences.items() if silence.is_told]:
            self._refute(Suspected(run_id, Suspicion.HANGS))
        for run_id in tuple(self._told_cards):
            self._refute(Suspected(run_id, Suspicion.CARD_UNUSED))

    async def _look_at_all(self, wait: timedelta) -> None:
        try:
            live = [run for run in await self.records.live() if run.state is RunState.RUNNING and run.job_id]
            live = [run for run in live if self.only in ("", run.id)]
        except AppError as error:
            log.warning("looking for hangs: %s %s", error, error.detail)
            return
        self._silences = {run.id: self._silences[run.id] for run in live if run.id in self._silences}
        self._cards.keep_only({run.id for run in live})
        self._told_cards &= {run.id for run in live}
        for run in live:
            try:
                await self._look_at(run, wait)
                await self._look_at_card(run)
            except AppError as error:
                # Nothing is known of it just now, so nothing is suspected.
                log.info("looking whether %s hangs: %s %s", run.name, error, error.detail)

    async def _look_at(self, run: Run, wait: timedelta) -> None:
        held_bytes, since, has_spoken = await self.disk.run(lambda _: self._standing(run))
        silence = self._silences.get(run.id)
        if silence is None or silence.held_bytes != held_bytes:
            if silence is not None and silence.is_told:
                self._refute(Suspected(run.id, Suspicion.HANGS))
            silence = self._silences[run.id] = _Silence(held_bytes, since)
        silent_for = self.clock() - silence.since
        # Where nobody answers, nobody knows whether there are new lines.
        if self.watch.trouble(run.profile) is not None or silent_for < wait / _LOOKS_IN_WAIT:
            return
        waited = await self._waited(run, Suspicion.HANGS)
        connection = await self.connections.open(run.profile)
        was_idle_since = silence.idle_since
        is_idle = await self._is_idle(connection, run, silence)
        if silence.is_told:
            if silence.idle_since != was_idle_since:  # it says nothing, and was at something after all
                self._refute(Suspected(run.id, Suspicion.HANGS))
            return
        if not is_idle or silent_for < wait:
            return
        if silence.idle_since is None or self.clock() - silence.idle_since < wait / 2 or self._is_put_off(waited):
            return
        if await self._script_runs(connection, run, has_spoken):
            silence.is_told = True
            self.suspected.tell(Hang(run, silence.since, held_bytes, waited.times if waited else 0))

    async def _look_at_card(self, run: Run) -> None:
        if self._silences[run.id].is_told or not self._cards.wants(run, self.clock()):
            return
        _, _, has_spoken = await self.disk.run(lambda _: self._standing(run))
        connection = await self.connections.open(run.profile)
        if await self._script_runs(connection, run, has_spoken):
            uses = {task: await connection.training.resource_use(run.job_id, task) for task in run.tasks}
            await self._tell_of_card(run, self._cards.take(run, uses, self.clock()))

    async def _tell_of_card(self, run: Run, found: CardUnused | None) -> None:
        if found is None:
            if run.id in self._told_cards and self._cards.has_used(run.id):
                self._refute(Suspected(run.id, Suspicion.CARD_UNUSED))
            return
        waited = await self._waited(run, Suspicion.CARD_UNUSED)
        if run.id not in self._told_cards and not self._is_put_off(waited):
            self._told_cards.add(run.id)
            self.unused.tell(replace(found, waits=waited.times if waited else 0))

    async def _waited(self, run: Run, of: Suspicion) -> Waited | None:
        return await self.disk.run(lambda _: self.waits.of(run.id, of))

    def _is_put_off(self, waited: Waited | None) -> bool:
        return waited is not None and self.clock() < waited.until

    @staticmethod
    async def _script_runs(connection: Connection, run: Run, has_spoken: bool) -> bool:
        """Before that the platform downloads code and data; where it does not say, the job has to have spoken."""
        stage = await connection.training.stage(run.job_id)
        return stage == _RUNNING or (not stage and has_spoken)

    def _standing(self, run: Run) -> tuple[int, datetime, bool]:
        """How much is held, since when it is so much, and whether the job itself has said anything."""
        files = [self.logs.file(run.id, task) for task in run.tasks]
        whens = [moment_at(file.path.stat().st_mtime) for file in files if file.size()]
        spoken = any(
            line and not any(mark in line for mark in _SERVICE_MARKS)
            for file in files
            for line in file.read(0, _LOOKED_AT).split(b"\n")
        )
        began = run.started or run.submitted or run.created
        return sum(file.size() for file in files), max([*whens, began]), spoken

    async def _is_idle(self, connection: Connection, run: Run, silence: _Silence) -> bool:
        """Whether what was measured since the last look at it is nothing; what was not measured tells nothing."""
        found = {task: await connection.training.resource_use(run.job_id, task) for task in run.tasks}
        counts = {task: _count(use) for task, use in found.items()}
        fresh = {task: counts[task] - silence.samples.get(task, 0) for task in run.tasks}
        is_busy = any(
            value is not None and value > _IDLE_PERCENT
            for task, use in found.items()
            if use is not None
            for name in (CPU, NPU, GPU)
            for value in use.newest(name, fresh[task])
        )
        if not silence.samples or is_busy:
            # The next sample may be the average of a time that began before this moment.
            silence.samples = {task: count + 1 for task, count in counts.items()}
            silence.idle_since = self.clock()
            return False
        return all(
            use is not None and fresh[task] > 0 and use.newest(CPU, 1)[0] is not None for task, use in found.items()
        )


def _count(use: ResourceUse | None) -> int:
    return 0 if use is None else len(use.values.get(CPU, ()))
