"""What a person adds to a run: note, star, tags and description; the last two at the service as well."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from traindeck.domain.errors import NotFound
from traindeck.domain.jobs.job import Run
from traindeck.domain.jobs.run_tags import description_of, tag_of, with_tags, without_tags
from traindeck.runtime.clock import Clock, utc_now
from traindeck.services.accounts.connections import Connection, Connections
from traindeck.services.jobs.run_watch import RunWatch

if TYPE_CHECKING:
    from traindeck.store.runs import RunStore


@dataclass(eq=False, slots=True)
class RunNotes:
    """Changes the record in place; what the service refuses is not changed here either."""

    records: RunStore
    connections: Connections
    watch: RunWatch
    clock: Clock = utc_now

    async def note(self, run_id: str, words: str) -> Run:
        return await self._become(run_id, note=words.strip())

    async def star(self, run_id: str, *, starred: bool) -> Run:
        return await self._become(run_id, starred=starred)

    async def tag(self, run_id: str, add: Sequence[str], remove: Sequence[str] = ()) -> Run:
        """`key` or `key=value`; a key has one value, and goes whatever value it has."""
        run = await self.records.existing(run_id)
        new = [tag_of(tag) for tag in add]
        gone = [tag_of(tag)[0] for tag in remove]
        after = with_tags(without_tags(run.tags, gone), new)
        known = {tag_of(tag)[0] for tag in run.tags}

        async def tell(connection: Connection) -> None:
            if going := [key for key in gone if key in known]:
                await connection.training.remove_tags(run.job_id, going)
            if new:
                await connection.training.add_tags(run.job_id, dict(new))

        deleted = await self._at_service(run, tell)
        return await self._become(run_id, tags=after, gone=deleted)

    async def describe(self, run_id: str, words: str) -> Run:
        run = await self.records.existing(run_id)
        words = description_of(words)
        deleted = await self._at_service(run, lambda connection: connection.training.describe(run.job_id, words))
        return await self._become(run_id, spec=replace(run.spec, description=words), gone=deleted)

    async def look_at_job(self, run: Run) -> Run:
        """Ask whether the service still has the job of a run that ended, and keep the answer."""
        if not run.job_id or not run.state.is_over:
            return run
        connection = await self.connections.open(run.profile)
        is_there = await connection.training.show(run.job_id) is not None
        if is_there is (run.gone is None):
            return run
        return await self._become(run.id, gone=None if is_there else self.clock())

    async def _at_service(self, run: Run, tell: Callable[[Connection], Awaitable[None]]) -> datetime | None:
        """Return since when the service is known to have no such job; then the record is all that is left of it."""
        if not run.job_id:
            return run.gone
        connection = await self.connections.open(run.profile)
        try:
            await tell(connection)
        except NotFound:
            if await connection.training.show(run.job_id) is not None:
                raise
            return run.gone or self.clock()
        return None

    async def _become(self, run_id: str, **changes: Any) -> Run:
        run = await self.records.change(run_id, **changes)
        self.watch.tell(run)
        return run
