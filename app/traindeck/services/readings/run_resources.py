"""What the workers of a run used of their machines, as its service measured it."""

from __future__ import annotations

from collections.abc import Mapping

from traindeck.domain.errors import AppError
from traindeck.domain.jobs.job import Run
from traindeck.domain.jobs.resource_use import ResourceUse
from traindeck.services.accounts.connections import Connections

_MOST_WORKERS = 16


class RunResources:
    """Asked of the service each time: it keeps the samples, and there are few."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def of(self, run: Run) -> Mapping[str, ResourceUse]:
        """By worker; those of which nothing was measured are not in it."""
        if not run.job_id:
            return {}
        connection = await self._connections.open(run.profile)
        found: dict[str, ResourceUse] = {}
        for task in run.tasks[:_MOST_WORKERS]:
            try:
                use = await connection.training.resource_use(run.job_id, task)
            except AppError:
                if found:
                    break  # what there is is shown
                raise
            if use is not None:
                found[task] = use
        return found
