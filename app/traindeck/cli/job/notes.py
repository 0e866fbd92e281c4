"""`traindeck job note`, `tag`, `star`, `describe` and `adopt`: what a person adds to runs, and which runs there are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from traindeck.cli.exit_codes import DONE
from traindeck.cli.job import printing as run_words
from traindeck.cli.job.waiting import bring_up_to_date, find, say_records
from traindeck.cli.main import Call
from traindeck.domain.errors import InvalidInput
from traindeck.domain.jobs.job import Run
from traindeck.domain.texts import say, text

if TYPE_CHECKING:
    from traindeck.assembly.run_core import RunCore


async def note(call: Call) -> int:
    words = " ".join(call.options.words)

    async def change(core: RunCore, run: Run) -> Run:
        return await core.run_service.notes.note(run.id, words)

    def done(run: Run) -> str:
        if words:
            return say("Noted for {name}.", name=run.name)
        return say("Removed the note of {name}.", name=run.name)

    return await _changed(call, change, done)


async def tag(call: Call) -> int:
    if not call.options.tags and not call.options.remove:
        raise InvalidInput(
            text("No tag was specified."), text("Add tags as words or KEY=VALUE; --remove KEY removes one.")
        )

    async def change(core: RunCore, run: Run) -> Run:
        return await core.run_service.notes.tag(run.id, call.options.tags, call.options.remove)

    return await _changed(
        call, change, lambda run: say("Tags of {name}: {tags}", name=run.name, tags=" ".join(run.tags) or "–")
    )


async def star(call: Call) -> int:
    async def change(core: RunCore, run: Run) -> Run:
        return await core.run_service.notes.star(run.id, starred=not call.options.remove)

    def done(run: Run) -> str:
        if run.starred:
            return say("Starred {name}.", name=run.name)
        return say("Removed the star of {name}.", name=run.name)

    return await _changed(call, change, done)


async def describe(call: Call) -> int:
    words = " ".join(call.options.words)

    async def change(core: RunCore, run: Run) -> Run:
        return await core.run_service.notes.describe(run.id, words)

    return await _changed(
        call, change, lambda run: say("Changed the description of {name}, here and at the service.", name=run.name)
    )


async def adopt(call: Call) -> int:
    async with call.runs() as core:
        say_records(call, core)
        run = await core.adoption.adopt(call.options.job, call.profile(core))
        await bring_up_to_date(call, core)
        run = await core.records.existing(run.id)
    call.output.result(
        run_words.document(run),
        say("Adopted {name} as run {run}. “traindeck job rerun {run}” runs it again.", name=run.name, run=run.id),
    )
    return DONE


async def _changed(call: Call, change: Callable[[RunCore, Run], Awaitable[Run]], done: Callable[[Run], str]) -> int:
    async with call.runs() as core:
        say_records(call, core)
        run = await change(core, await find(call, core, call.options.run))
    call.output.result(run_words.document(run), done(run))
    return DONE
