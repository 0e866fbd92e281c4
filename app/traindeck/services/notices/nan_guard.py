"""Finds losses and scores that became NaN or infinite, in the logs of live runs as they grow."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from traindeck.domain.errors import AppError
from traindeck.domain.jobs.job import Run
from traindeck.domain.readings.failures import RunReading
from traindeck.domain.readings.reading import NotFinite
from traindeck.runtime.clock import utc_now
from traindeck.runtime.tasks import Listeners

if TYPE_CHECKING:
    from traindeck.services.jobs.run_watch import RunWatch
    from traindeck.services.logs.run_logs import RunLogs
    from traindeck.store.runs import RunStore

log = logging.getLogger(__name__)

_BEAT_S = 1.0
_RECENT = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class NanFound:
    run: Run
    bad: NotFinite


@dataclass(eq=False, slots=True)
class NanGuard:
    """Reports each run once; callers keep the mark of its notice, so that it stays once over restarts."""

    records: RunStore
    watch: RunWatch
    logs: RunLogs
    read: Callable[[Run], Awaitable[RunReading]]
    only: str = ""
    """The id of a run; empty: all."""
    found: Listeners[NanFound] = field(default_factory=Listeners)
    _due: set[str] = field(default_factory=set)
    _woken: asyncio.Event = field(default_factory=asyncio.Event)
    _told: set[str] = field(default_factory=set)

    async def run(self) -> None:
        """Watch until cancelled; first those that are live, and those that ended while no window was open."""
        with self.logs.grew.heard_by(self._want), self.watch.changed.heard_by(lambda run: self._want(run.id)):
            try:
                for one in await self.records.measured(await self.records.since(utc_now() - _RECENT)):
                    if not one.run.state.is_over or not all(metric.is_finite for metric in one.metrics.values()):
                        self._want(one.run.id)
            except AppError as error:
                log.warning("looking for NaN: %s %s", error, error.detail)
            while True:
                await self._woken.wait()
                await asyncio.sleep(_BEAT_S)  # a chatty log is read once in so long
                self._woken.clear()
                due, self._due = self._due, set()
                for run_id in due:
                    await self.look_at(run_id)

    async def look_at(self, run_id: str) -> None:
        if run_id in self._told:
            return
        try:
            run = await self.records.get(run_id)
            bad = (await self.read(run)).values.not_finite if run is not None else None
        except AppError as error:
            log.warning("looking for NaN in %s: %s %s", run_id, error, error.detail)
            return
        if run is not None and bad is not None and bad.is_measured:
            self._told.add(run_id)
            self.found.tell(NanFound(run, bad))

    def _want(self, run_id: str) -> None:
        if self.only in ("", run_id) and run_id not in self._told:
            self._due.add(run_id)
            self._woken.set()
