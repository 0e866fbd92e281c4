"""`traindeck job stop` and `rm`: ending a run, and letting it go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traindeck.cli import terminal
from traindeck.cli.exit_codes import DONE
from traindeck.cli.job import printing as run_words
from traindeck.cli.job.waiting import bring_up_to_date, find
from traindeck.cli.main import Call
from traindeck.domain.jobs.job import Run
from traindeck.domain.texts import say, text

if TYPE_CHECKING:
    from traindeck.assembly.run_core import RunCore


async def stop(call: Call) -> int:
    async with call.runs() as core:
        await bring_up_to_date(call, core)
        run = await find(call, core, call.options.run)
        run = await core.run_service.stop(run.id)
    call.output.result(
        run_words.document(run),
        say("Stopping {name}. It may be charged until the service confirms that it has ended.", name=run.name),
    )
    return DONE


async def rm(call: Call) -> int:
    async with call.runs() as core:
        await bring_up_to_date(call, core)
        run = await find(call, core, call.options.run)
        if run.state.is_open:
            return await _let_go(call, core, run)
        question = say(
            "Delete {name}, with its record on this computer and its job at the service? Its log on "
            "this computer is kept.",
            name=run.name,
        )
        if terminal.somebody_is_there() and not call.options.yes and not terminal.confirmed(question):
            call.output.note(say("Nothing was deleted."))
            return DONE
        await core.run_service.remove(run.id)
    call.output.result(
        {**run_words.document(run), "removed": True},
        say("Deleted {name}. Its outputs in OBS and its log on this computer are kept.", name=run.name),
    )
    return DONE


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
