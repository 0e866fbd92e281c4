"""Where the time of a run went, from what its service tells of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from traindeck.domain.jobs.job import Run
from traindeck.domain.readings.phases import PhaseTime, phase_times
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.accounts.connections import Connections
from traindeck.services.readings.shipped import phase_rules
from traindeck.store.phase_file import keep_phases, kept_phases


class RunPhases:
    """Asked when somebody looks; what is over is asked for once, and kept.

    The window starts with a run in sight, mostly one that is over: to ask for it took a third of a second of CPU and
    15 MB for the SDK, each time.
    """

    def __init__(self, connections: Connections, disk: BlockingCalls, file: Callable[[str], Path]) -> None:
        """`file`: the place to keep them, by the id of the run."""
        self._connections = connections
        self._disk = disk
        self._file = file

    async def of(self, run: Run, now: datetime) -> list[PhaseTime]:
        if not run.job_id or not run.state.is_remote:
            return []
        file = self._file(run.id)
        if run.state.is_over and (kept := await self._disk.run(lambda _: kept_phases(file))):
            return kept
        connection = await self._connections.open(run.profile)
        events = await connection.training.events(run.job_id)
        rules = await self._disk.run(lambda _: phase_rules())
        found = phase_times(events, rules, None if run.state.is_over else now)
        if run.state.is_over and found:
            await self._disk.run(lambda _: keep_phases(file, found))
        return found
