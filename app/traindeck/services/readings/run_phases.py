"""Where the time of a run went, from what its service tells of it."""

from __future__ import annotations

from datetime import datetime

from traindeck.domain.jobs.job import Run
from traindeck.domain.readings.phases import PhaseTime, phase_times
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.accounts.connections import Connections
from traindeck.services.readings.shipped import phase_rules


class RunPhases:
    """Asked when somebody looks; what is over is asked for once."""

    def __init__(self, connections: Connections, disk: BlockingCalls) -> None:
        self._connections = connections
        self._disk = disk
        self._known: dict[str, list[PhaseTime]] = {}

    async def of(self, run: Run, now: datetime) -> list[PhaseTime]:
        if not run.job_id or not run.state.is_remote:
            return []
        if (known := self._known.get(run.id)) is not None:
            return known
        connection = await self._connections.open(run.profile)
        events = await connection.training.events(run.job_id)
        rules = await self._disk.run(lambda _: phase_rules())
        found = phase_times(events, rules, None if run.state.is_over else now)
        if run.state.is_over and found:
            self._known[run.id] = found
        return found
