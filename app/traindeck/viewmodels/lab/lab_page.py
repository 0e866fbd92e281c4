"""The Lab on a page: how it stands, what it holds, and starting, ending, emptying it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from PySide6.QtCore import QObject, Signal

from traindeck.domain.errors import AppError
from traindeck.domain.lab import LabDiskUsage, LabOwner, LabSight, LabState
from traindeck.domain.storage.objects import count_words, size_words
from traindeck.domain.texts import Text, text
from traindeck.runtime.clock import Clock, utc_now
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.viewmodels.ports import ConfirmLoss, LabService, Loss

START = "start the Lab"
_LOOKING, _MEASURING = "look at the Lab", "measure the Lab"
_STOP, _EMPTY = "stop the Lab", "empty the Lab"
_LOOK_EVERY_S = 1.0
_MEASURE_EVERY_S = 3.0
_REST = 9  # times as long as a count took, so that counting never takes more than a tenth of the time
_NAMED = 5
# From here on a click alone is too little.
_MANY_OBJECTS = 1000
_MANY_BYTES = 1_000_000_000
_NOTHING = LabDiskUsage()


@dataclass(frozen=True, slots=True)
class LabPageState:
    """None is what nobody knows yet; what is old says when it was true."""

    sight: LabSight | None = None
    seen_at: datetime | None = None
    blind: AppError | None = None  # why the last look saw nothing
    held: LabDiskUsage = _NOTHING
    measured_at: datetime | None = None
    is_counting: bool = False
    unmeasured: AppError | None = None
    work: Text | None = None
    trouble: AppError | None = None  # what came of the last wish

    @property
    def state(self) -> LabState | None:
        """None where it is not known at this moment."""
        return None if self.sight is None or self.blind is not None else self.sight.state

    @property
    def can_start(self) -> bool:
        return self.work is None and self.state is LabState.STOPPED

    @property
    def can_stop(self) -> bool:
        sight = self.sight
        is_there = self.state in (LabState.RUNNING, LabState.SILENT)
        return self.work is None and is_there and sight is not None and sight.is_ours_to_end

    @property
    def can_empty(self) -> bool:
        return self.work is None and (self.state is LabState.STOPPED or self.can_stop)


class LabPage(QObject):
    """Looks and counts only while somebody watches."""

    changed = Signal()
    emptied = Signal()
    """Nothing that was shown of the Lab's buckets and jobs holds any more."""

    def __init__(self, service: LabService, scope: TaskScope, clock: Clock = utc_now) -> None:
        super().__init__()
        self._service = service
        self._scope = scope
        self.now = clock
        self.root = service.root
        self._look_now, self._measure_now = asyncio.Event(), asyncio.Event()
        self.state = LabPageState()
        self._watchers: set[object] = set()

    def watch(self, watcher: object, is_seen: bool) -> None:
        """Whether this page is in sight; those of two windows may be there at the same time."""
        if is_seen:
            self._watchers.add(watcher)
        else:
            self._watchers.discard(watcher)
        for name, work in ((_LOOKING, self._keep_looking), (_MEASURING, self._keep_measuring)):
            if is_seen:
                self._scope.start(name, work, Repeat.REPLACE)
            elif not self._watchers:
                self._scope.cancel(name)

    def start(self) -> None:
        self._scope.start(START, lambda: self._done(text("Starting…"), self._service.start))

    def stop(self, confirm: ConfirmLoss) -> None:
        """End it with its jobs; asked before where that takes something from somebody."""
        self._scope.start(_STOP, lambda: self._stop(confirm))

    def empty(self, confirm: ConfirmLoss) -> None:
        """Count what would be lost, ask, and remove it."""
        self._scope.start(_EMPTY, lambda: self._empty(confirm))

    async def _keep_looking(self) -> None:
        while True:
            self._look_now.clear()
            await self._look()
            await _pause(_LOOK_EVERY_S, self._look_now)

    async def _look(self) -> None:
        try:
            sight = await self._service.look()
        except AppError as error:
            self._become(replace(self.state, blind=error))
            return
        # One that is silent tells nothing: what was known of it stays, with its time.
        before = self.state.sight
        if sight.state is LabState.SILENT and before is not None and before.pid == sight.pid:
            sight = replace(before, state=LabState.SILENT, live_jobs=None)
            self._become(replace(self.state, sight=sight, blind=None))
        else:
            seen_at = None if sight.state is LabState.SILENT else self.now()
            self._become(replace(self.state, sight=sight, blind=None, seen_at=seen_at))

    async def _keep_measuring(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self._measure_now.clear()
            began = loop.time()
            await self._measure()
            await _pause(max(_MEASURE_EVERY_S, _REST * (loop.time() - began)), self._measure_now)

    async def _measure(self) -> None:
        self._become(replace(self.state, is_counting=True))
        known = self.state.measured_at is not None

        def part(held: LabDiskUsage) -> None:
            if not self.state.is_counting:
                return  # late news of a count that is over
            if known:  # the size of before is nearer to the truth than the half of a sum
                held = replace(held, disk_bytes=self.state.held.disk_bytes)
            self._become(replace(self.state, held=held))

        try:
            held = await self._service.measure(part)
        except AppError as error:
            self._become(replace(self.state, is_counting=False, unmeasured=error))
            return
        except asyncio.CancelledError:
            self._become(replace(self.state, is_counting=False))
            raise
        measured = replace(self.state, held=held, measured_at=self.now(), unmeasured=None)
        self._become(replace(measured, is_counting=False))

    async def _done(self, words: Text, work: Callable[[], Awaitable[None]]) -> None:
        self._become(replace(self.state, work=words, trouble=None))
        try:
            await work()
            await self._look()
        except AppError as error:
            self._become(replace(self.state, trouble=error))
            await self._look()
            raise
        finally:
            self._become(replace(self.state, work=None))
            self._look_now.set()
            self._measure_now.set()

    async def _stop(self, confirm: ConfirmLoss) -> None:
        sight = await self._service.look()
        live = (await self._service.contents()).live if sight.state is LabState.RUNNING and sight.live_jobs else ()
        facts = [*_live_facts(sight, live), *_company_facts(sight)]
        if facts and not await confirm(Loss(text("Stop the Lab?"), tuple(facts), text("Stop the Lab"))):
            return
        await self._done(text("Stopping…"), self._service.stop)

    async def _empty(self, confirm: ConfirmLoss) -> None:
        self._become(replace(self.state, work=text("Counting what would be deleted…"), trouble=None))
        try:
            sight, held = await self._service.look(), await self._service.contents()
        finally:
            self._become(replace(self.state, work=None))
        if not await confirm(_loss(sight, held)):
            return
        # The count looks into what is about to go.
        is_watched = self._scope.is_running(_MEASURING)
        self._scope.cancel(_MEASURING)
        try:
            await self._done(text("Emptying…"), lambda: self._service.empty(self._say_removed))
        finally:
            self._become(replace(self.state, held=_NOTHING, measured_at=None))
            if is_watched:
                self._scope.start(_MEASURING, self._keep_measuring, Repeat.REPLACE)
            self.emptied.emit()

    def _say_removed(self, files: int) -> None:
        if self.state.work is not None:
            words = text("Emptying… Files deleted: {count}", count=count_words(files))
            self._become(replace(self.state, work=words))

    def _become(self, state: LabPageState) -> None:
        if state != self.state:
            self.state = state
            self.changed.emit()


async def _pause(seconds: float, woken: asyncio.Event) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await woken.wait()


def _loss(sight: LabSight, held: LabDiskUsage) -> Loss:
    facts = [
        text(
            "Buckets: {buckets}. Objects: {objects} ({size}). Jobs: {jobs}. They are deleted permanently.",
            buckets=count_words(held.buckets),
            objects=count_words(held.objects),
            size=size_words(held.object_bytes),
            jobs=count_words(held.jobs),
        ),
        *_live_facts(sight, held.live),
        *_company_facts(sight),
        text("The runs in your list are kept with their logs and code, and so are the keys and settings of the Lab."),
        text("The Lab restarts automatically."),
    ]
    is_much = (held.objects or 0) >= _MANY_OBJECTS or (held.object_bytes or 0) >= _MANY_BYTES
    word = text("empty", "to type") if is_much else None
    return Loss(text("Empty the Lab?"), tuple(facts), text("Empty the Lab"), word)


def _live_facts(sight: LabSight, live: Sequence[str]) -> list[Text]:
    if sight.state is not LabState.RUNNING or not sight.live_jobs:
        return []
    names = ", ".join(live[:_NAMED]) + (" …" if len(live) > _NAMED else "")
    if not names:
        return [text("Active jobs that stop with it: {count}.", count=sight.live_jobs)]
    return [text("Active jobs that stop with it: {count} ({names}).", count=sight.live_jobs, names=names)]


def _company_facts(sight: LabSight) -> list[Text]:
    if sight.owner is not LabOwner.NOBODY:
        return []
    return [text("A command started it in the background. Programs that still use it lose access.")]
