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
from traindeck.domain.texts import Text, say, text

if TYPE_CHECKING:
    from traindeck.assembly.run_core import RunCore


async def note(call: Call) -> int:
    words = _words(call)
    if words is None:
        return await _print(call, "note", lambda run: run.note, text("{name} has no note."))

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

    def done(run: Run) -> str:
        return say("Tags of {name}: {tags}", name=run.name, tags=" ".join(run.tags) or "–")

    return await _changed(call, change, done, is_at_service=True)


async def star(call: Call) -> int:
    async def change(core: RunCore, run: Run) -> Run:
        return await core.run_service.notes.star(run.id, starred=not call.options.remove)

    def done(run: Run) -> str:
        if run.starred:
            return say("Starred {name}.", name=run.name)
        return say("Removed the star of {name}.", name=run.name)

    return await _changed(call, change, done)


async def describe(call: Call) -> int:
    words = _words(call)
    if words is None:
        empty = text("{name} has no description.")
        return await _print(call, "description", lambda run: run.filled_spec.description, empty)

    async def change(core: RunCore, run: Run) -> Run:
        return await core.run_service.notes.describe(run.id, words)

    def done(run: Run) -> str:
        if run.gone is not None or not run.job_id:
            return say("Changed the description of {name} on this computer.", name=run.name)
        return say("Changed the description of {name}, here and at the service.", name=run.name)

    return await _changed(call, change, done, is_at_service=True)


def _words(call: Call) -> str | None:
    """Return the new text; None asks for the present one, which must not be lost by that."""
    if call.options.clear and call.options.words:
        raise InvalidInput(
            text("--clear removes the text, so no text can be given."), text("Specify either a text or --clear.")
        )
    return " ".join(call.options.words) if call.options.words or call.options.clear else None


async def _print(call: Call, key: str, read: Callable[[Run], str], empty: Text) -> int:
    async with call.runs() as core:
        run = await find(call, core, call.options.run)
    if call.output.json_wanted:
        call.output.document({**run_words.document(run), key: read(run)})
    elif words := read(run):
        call.output.line(words)
    else:
        call.output.note(say(empty.english, name=run.name))
    return DONE


async def adopt(call: Call) -> int:
    async with call.runs() as core:
        await core.records.ensure_writable()
        say_records(call, core)
        run = await core.adoption.adopt(call.options.job, call.profile(core))
        await bring_up_to_date(call, core, only={run.profile})
        run = await core.records.existing(run.id)
    call.output.result(
        run_words.document(run),
        say("Adopted {name} as run {run}. “traindeck job rerun {run}” runs it again.", name=run.name, run=run.id),
    )
    return DONE


async def _changed(
    call: Call,
    change: Callable[[RunCore, Run], Awaitable[Run]],
    done: Callable[[Run], str],
    *,
    is_at_service: bool = False,
) -> int:
    """Change a record, and its job too if `is_at_service`; what cannot be written down is not begun."""
    async with call.runs() as core:
        await core.records.ensure_writable()
        say_records(call, core)
        run = await change(core, await find(call, core, call.options.run))
        if core.records.trouble is not None:  # it is in memory only, which ends with this command
            raise core.records.trouble
    if is_at_service and run.gone is not None:
        call.output.note(say("The service no longer has this job: only the record on this computer was changed."))
    call.output.result(run_words.document(run), done(run))
    return DONE
