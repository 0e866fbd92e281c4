"""`traindeck job stop` and `rm`: ending a run, and letting it go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from traindeck.cli import terminal
from traindeck.cli.exit_codes import DONE
from traindeck.cli.job import printing as run_words
from traindeck.cli.job.waiting import bring_up_to_date, find
from traindeck.cli.main import Call
from traindeck.domain.jobs.job import Run
from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import say, say_count, text
from traindeck.services.jobs.run_removal import RemovalPlan

if TYPE_CHECKING:
    from traindeck.assembly.run_core import RunCore


async def stop(call: Call) -> int:
    async with call.runs() as core:
        await bring_up_to_date(call, core)
        run = await find(call, core, call.options.run)
        run = await core.run_service.stop(run.id)
    words = say("Stopping {name}. It may be charged until the service confirms that it has ended.", name=run.name)
    if run.state.is_over:
        words = say(
            "{name} has already ended: {state}. Nothing was stopped.", name=run.name, state=say(run.state_words)
        )
    call.output.result(run_words.document(run), words)
    return DONE


async def rm(call: Call) -> int:
    async with call.runs() as core:
        await bring_up_to_date(call, core)
        run = await find(call, core, call.options.run)
        if run.state.is_open:
            return await _let_go(call, core, run)
        removal = await core.run_service.removal.look(run.id)
        with_code = call.options.code
        for line in _goes(removal, with_code=with_code):
            call.output.note(line)
        without_a_yes = text("Nothing was deleted: {name} and its job are deleted only when confirmed.", name=run.name)
        if not terminal.is_meant(call.options, without_a_yes, say("Delete {name}?", name=run.name)):
            call.output.note(say("Nothing was deleted."))
            return DONE
        await core.run_service.removal.remove(removal, code=with_code)
        if with_code and removal.code_files:
            call.output.note(
                say("Kept: files in OBS that other runs may share; “traindeck job clean” deletes those no run uses")
            )
    call.output.result(
        {
            **run_words.document(run),
            "removed": True,
            "code_removed": with_code,
            "code_files": removal.code_files,
            "code_bytes": removal.code_bytes,
            "local_files": removal.local_files,
            "local_bytes": removal.local_bytes,
            "kept": list(removal.kept),
        },
        say("Deleted {name}. Its outputs in OBS and its log on this computer are kept.", name=run.name),
    )
    return DONE


def _goes(removal: RemovalPlan, *, with_code: bool) -> Iterator[str]:
    """What is deleted and what is kept, with counts and bytes."""
    yield say("To be deleted: the record on this computer")
    if removal.has_job:
        yield say("To be deleted: the job at the service")
    state = text("To be deleted: {what}") if with_code else text("Kept, unless --code is given: {what}")
    if removal.code is not None and removal.code_trouble is None and removal.code_files:
        what = say_count(
            "{count} code file in {place} ({size})", "{count} code files in {place} ({size})",
            removal.code_files, place=str(removal.code), size=size_words(removal.code_bytes),
        )  # fmt: skip
        yield say(state.english, what=what)
    elif removal.code is not None and removal.code_trouble is not None:
        yield say(state.english, what=say("the code in {place}, of unknown size", place=str(removal.code)))
        yield removal.code_trouble.sentence()
    if removal.shared_with:
        yield say_count(
            "Kept: the code on this computer, which {count} other run uses",
            "Kept: the code on this computer, which {count} other runs use",
            removal.shared_with,
        )
    elif removal.local_files:
        what = say_count(
            "{count} code file on this computer ({size})", "{count} code files on this computer ({size})",
            removal.local_files, size=size_words(removal.local_bytes),
        )  # fmt: skip
        yield say(state.english, what=what)
    for place in removal.kept:
        yield say("Kept: {what}", what=place)
    yield say("Kept: the log on this computer")


async def _let_go(call: Call, core: RunCore, run: Run) -> int:
    """Of which nobody knows whether it was submitted."""
    without = text(
        "It is not known whether {name} was submitted. If its job exists, it goes on and is charged, and nothing here "
        "stops it.",
        name=run.name,
    )
    if not terminal.is_meant(call.options, without, f"{say(without)} {say('Delete its record?')}"):
        call.output.note(say("Nothing was deleted."))
        return DONE
    await core.submission.abandon(run.id)
    call.output.result(
        {**run_words.document(run), "removed": True}, say("Deleted the record of {name}.", name=run.name)
    )
    return DONE
