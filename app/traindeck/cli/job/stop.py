"""`traindeck job stop` and `rm`: ending a run, and letting it go."""

from __future__ import annotations

from traindeck.cli import terminal
from traindeck.cli.exit_codes import DONE
from traindeck.cli.job import printing as run_words
from traindeck.cli.job.waiting import bring_up_to_date, find
from traindeck.cli.main import Call
from traindeck.domain.texts import say


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
