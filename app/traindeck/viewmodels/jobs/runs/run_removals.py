"""Deleting runs: what goes and what stays is counted first, then the user is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from traindeck.domain.errors import AppError
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import Text, count_text, say, text
from traindeck.runtime.tasks import TaskScope
from traindeck.viewmodels.ports import Choose, Way

if TYPE_CHECKING:
    from traindeck.services.jobs.run_removal import BundleUse, RemovalPlan
    from traindeck.services.jobs.runs import RunService
    from traindeck.services.jobs.submission import Submission

_AT_ONCE = 8
_DELETE, _WITH_CODE = "delete", "code"

Say = Callable[[Sequence[str], Text | None], None]
"""What is being done with these runs; None: nothing any more."""


def can_be_deleted(run: Run) -> bool:
    return run.state.is_over or is_unsettled(run) or _is_damaged(run)


def is_unsettled(run: Run) -> bool:
    """Nobody knows whether it was submitted."""
    return run.state in (RunState.UNCONFIRMED, RunState.SUBMITTING)


def _is_damaged(run: Run) -> bool:
    return run.state is RunState.UNKNOWN and not run.job_id


class RunRemovals:
    """Looks at all that are meant, asks once, and tells of each while it goes."""

    def __init__(self, service: RunService, sender: Submission, scope: TaskScope, say_of: Say) -> None:
        self._service = service
        self._sender = sender
        self._scope = scope
        self._say = say_of

    def ask(self, runs: Sequence[Run], choose: Choose) -> None:
        unsettled = [run for run in runs if is_unsettled(run)]
        over = [run for run in runs if can_be_deleted(run) and not is_unsettled(run)]
        if over:
            self._scope.start("delete runs", lambda: self._delete(over, len(runs) - len(over), choose))
        elif unsettled:
            self._scope.start("delete records", lambda: self._let_go(unsettled, choose))

    async def _delete(self, runs: Sequence[Run], left: int, choose: Choose) -> None:
        """`left`: so many others were meant, too, and cannot be deleted with them."""
        plans = await self._looked_at(runs)
        if not plans:
            return
        question = count_text("Delete {count} run?", "Delete {count} runs?", len(plans))
        if len(plans) == 1:
            question = text("Delete “{name}”?", name=plans[0].run.name)
        ways = [Way(_DELETE, text("Delete"), is_loss=True)]
        if any(plan.code_files or plan.code_trouble or plan.local_files for plan in plans):
            ways.append(Way(_WITH_CODE, text("Delete with the code"), is_loss=True))
        facts = list(_facts(plans))
        if left:
            facts.append(
                count_text(
                    "Left alone: {count} selected run that is active or unconfirmed.",
                    "Left alone: {count} selected runs that are active or unconfirmed.",
                    left,
                )
            )
        answer = await choose(question, facts, ways)
        room = asyncio.Semaphore(_AT_ONCE)
        for plan in plans if answer else ():
            self._start(plan, room, with_code=answer == _WITH_CODE)

    def _start(self, plan: RemovalPlan, room: asyncio.Semaphore, *, with_code: bool) -> None:
        async def remove() -> None:
            async with room:
                self._say([plan.run.id], text("Deleting…"))
                try:
                    await self._service.removal.remove(plan, code=with_code)
                finally:
                    self._say([plan.run.id], None)

        self._scope.start(f"delete {plan.run.id}", remove)

    async def _looked_at(self, runs: Sequence[Run]) -> list[RemovalPlan]:
        """Of those that can be: one that began to go on meanwhile is left alone."""
        found: dict[str, RemovalPlan] = {}
        known: dict[str, BundleUse] = {}
        room, together = asyncio.Semaphore(_AT_ONCE), frozenset(run.id for run in runs)

        async def look(run: Run) -> None:
            async with room:
                try:
                    found[run.id] = await self._service.removal.look(run.id, together, known)
                except AppError:
                    if len(runs) == 1:
                        raise

        # Of all at once: the whole window looks up at each word about one of them.
        self._say([run.id for run in runs], text("Counting what would be deleted…"))
        try:
            await asyncio.gather(*map(look, runs))
        finally:
            self._say([run.id for run in runs], None)
        return [found[run.id] for run in runs if run.id in found]

    async def _let_go(self, runs: Sequence[Run], choose: Choose) -> None:
        question = count_text("Delete {count} record?", "Delete {count} records?", len(runs))
        if len(runs) == 1:
            question = text("Delete the record of “{name}”?", name=runs[0].name)
        warning = text(
            "It is not known whether it was submitted. If its job exists, it goes on and is charged, and nothing here "
            "stops it."
        )
        way = Way(_DELETE, text("Delete the record"), is_loss=True)
        if not await choose(question, [warning], [way]):
            return
        for run in runs:
            await self._sender.abandon(run.id)
            self._service.watch.forget(run.id)


def _facts(plans: Sequence[RemovalPlan]) -> Iterator[Text]:
    """What is deleted and what is kept, with counts and bytes."""
    jobs = sum(plan.has_job for plan in plans)
    yield count_text(
        "Deleted: {count} record on this computer.", "Deleted: {count} records on this computer.", len(plans)
    )
    if jobs:
        yield count_text("Deleted: {count} job at the service.", "Deleted: {count} jobs at the service.", jobs)
    files = sum(plan.code_files for plan in plans)
    if files:
        yield count_text(
            "Deleted with the code: {count} file in OBS ({size}).",
            "Deleted with the code: {count} files in OBS ({size}).",
            files, size=size_words(sum(plan.code_bytes for plan in plans)),
        )  # fmt: skip
    troubles = [plan.code_trouble for plan in plans if plan.code_trouble is not None]
    if troubles:
        yield text("The size of the code in OBS is unknown. {reason}", reason=say(troubles[0].title))
    local = {plan.run.bundle: plan for plan in plans if plan.local_files}
    if local:
        yield count_text(
            "Deleted with the code: {count} file on this computer ({size}).",
            "Deleted with the code: {count} files on this computer ({size}).",
            sum(plan.local_files for plan in local.values()),
            size=size_words(sum(plan.local_bytes for plan in local.values())),
        )
    if any(plan.shared_with for plan in plans):
        yield text("Kept: code on this computer that other runs use.")
    kept = [place for plan in plans for place in plan.kept]
    if len(plans) == 1 and kept:
        yield text("Kept: the log on this computer, and {places}.", places=", ".join(kept))
    else:
        yield text("Kept: what was written to OBS, and the logs on this computer.")
