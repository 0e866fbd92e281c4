"""`traindeck job ls` and `show`: what runs there are."""

from __future__ import annotations

from traindeck.cli.exit_codes import DONE
from traindeck.cli.job import printing as run_words
from traindeck.cli.job.waiting import bring_up_to_date, check_again, find
from traindeck.cli.main import Call
from traindeck.domain.texts import say


async def ls(call: Call) -> int:
    profile = call.options.profile
    async with call.runs() as core:
        await bring_up_to_date(call, core)
        runs = await core.records.all()
    runs = [run for run in runs if profile in (None, run.profile)][: call.options.limit or None]
    if call.output.json_wanted:
        call.output.document([run_words.document(run) for run in runs])
    elif runs:
        call.output.table(run_words.heads(), [run_words.row(run) for run in runs], right=frozenset({0, 4}))
    else:
        call.output.note(say("No runs yet. “traindeck job init DIR” creates a sample to submit."))
    return DONE


async def show(call: Call) -> int:
    async with call.runs() as core:
        await check_again(call, core, call.options.run)
        await bring_up_to_date(call, core)
        run = await find(call, core, call.options.run)
    call.output.result(run_words.full_document(run), "\n".join(run_words.page(run)))
    return DONE
