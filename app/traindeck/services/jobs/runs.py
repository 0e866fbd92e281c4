"""What can be done with runs that exist: find, stop, remove, fetch, and end those of the Lab before it ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.errors import AppError, Conflict, InvalidInput, NotFound
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.texts import count_text, text
from traindeck.services.accounts.connections import Connections
from traindeck.services.jobs.code.code_bundles import CodeBundles
from traindeck.services.jobs.run_code import RunCode
from traindeck.services.jobs.run_notes import RunNotes
from traindeck.services.jobs.run_outputs import RunOutputs
from traindeck.services.jobs.run_removal import RunRemoval
from traindeck.services.jobs.run_watch import RunWatch
from traindeck.services.transfers import Transfers

if TYPE_CHECKING:
    from traindeck.store.runs import RunStore


LAST = "last"


@dataclass(eq=False, slots=True)
class RunService:
    """The runs of this computer, for whoever wants to act on one."""

    records: RunStore
    connections: Connections
    watch: RunWatch
    transfers: Transfers
    bundles: CodeBundles
    outputs: RunOutputs = field(init=False)
    removal: RunRemoval = field(init=False)
    notes: RunNotes = field(init=False)
    kept_code: RunCode = field(init=False)

    def __post_init__(self) -> None:
        self.notes = RunNotes(self.records, self.connections, self.watch)
        self.removal = RunRemoval(self.records, self.connections, self.watch, self.transfers, self.bundles, self.notes)
        self.outputs = RunOutputs(self.records, self.connections, self.transfers)
        self.kept_code = RunCode(self.records, self.bundles)

    async def find(self, reference: str) -> Run:
        """By the number in the list, by id, by any unique beginning of id or name, or the last one."""
        if not reference.strip():  # every name begins with it; an unset variable of a script must not stop the only run
            raise InvalidInput(
                text("No run was specified."),
                text("Specify its number or ID, the beginning of its ID or name, or “last”."),
            )
        if reference == LAST:
            newest = await self.records.all(1)
            if newest:
                return newest[0]
            raise NotFound(text("No runs yet."), text("Submit one with “traindeck job submit FILE”."))
        found = await self.records.matching(reference)
        exact = [run for run in found if reference in (run.id, run.name)]
        exact = exact or [run for run in found if reference == str(run.number)]
        found = exact or found
        if not found:
            raise NotFound(
                text("No run matches “{reference}”.", reference=reference),
                text("“traindeck job ls” shows all of them."),
            )
        if len(found) > 1:
            names = ", ".join(run.name for run in found[:5])
            raise InvalidInput(
                count_text(
                    "“{reference}” matches {count} run: {names}.",
                    "“{reference}” matches {count} runs: {names}.",
                    len(found),
                    reference=reference,
                    names=names,
                ),
                text("Enter more of the name, or the ID."),
            )
        return found[0]

    async def stop(self, run_id: str) -> Run:
        """Ask for the end; the run is over when the service says so. One that is over stays as it is."""
        run = await self.records.existing(run_id)
        if run.state.is_over and run.state.is_remote:
            return run
        if not run.state.is_remote:
            hint = text("Its state is {state}.", state=run.state_words)
            if run.state.is_open:
                hint = text(
                    "Its state is {state}. “traindeck job wait {run}” finds out what became of it; "
                    "“traindeck job rm {run}” deletes its record.", state=run.state_words, run=run.id,
                )  # fmt: skip
            raise Conflict(text("“{name}” has no job that could be stopped.", name=run.name), hint)
        connection = await self.connections.open(run.profile)
        await connection.training.stop(run.job_id)
        if run.state.can_stop:
            run = await self.records.change(run.id, state=RunState.TERMINATING, phase=RunState.TERMINATING.value)
            self.watch.tell(run)
        return run


log = logging.getLogger(__name__)

_END_S = 10.0


async def own_runs(records: RunStore, begun: Collection[str]) -> list[Run]:
    """Of the ones that this program began, those that have not ended."""
    return [run for run in await records.live() if run.id in begun and run.state.is_remote]


async def end_lab_runs(records: RunStore, service: RunService, watch: RunWatch) -> None:
    """Stop them and wait until they are over; what does not end in time ends with the Lab."""
    live = [run for run in await records.live() if run.profile == LAB and run.job_id and run.state.is_remote]
    try:
        async with asyncio.timeout(_END_S):
            for run in live:
                await service.stop(run.id)
            for run in live:
                await watch.until_over(run.id)
    except TimeoutError:
        log.warning("not all runs of the Lab ended in time")
    except AppError as error:
        log.warning("the runs of the Lab could not be stopped one by one: %s %s", error, error.detail)
