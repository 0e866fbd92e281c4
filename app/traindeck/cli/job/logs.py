"""`traindeck job logs` and `wait`: what a run says, and how it ends."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from traindeck.cli.exit_codes import DONE, FAILED
from traindeck.cli.job import printing as run_words
from traindeck.cli.job.log_following import RunLogPrinting
from traindeck.cli.job.log_printing import LogChoice
from traindeck.cli.job.waiting import (
    bring_up_to_date,
    check_again,
    find,
    following,
    said_how_it_ended,
    say_records,
    settle,
    until_over,
)
from traindeck.cli.main import Call
from traindeck.domain.errors import NotFound
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.texts import say, text
from traindeck.services.logs.bounded_expression import BoundedExpression

if TYPE_CHECKING:
    from traindeck.assembly.run_core import RunCore


async def logs(call: Call) -> int:
    options = call.options
    choice = LogChoice(BoundedExpression(options.grep) if options.grep else None, _since(options.since))
    async with call.runs() as core:
        run = await find(call, core, options.run)
        if options.follow and not run.state.is_over:
            say_records(call, core)
        else:
            await bring_up_to_date(call, core, run, {run.profile})
            run = await core.records.existing(run.id)
        workers = _workers(run, options.worker) if options.worker else ()
        printing = RunLogPrinting(call, core, run, workers, choice, is_merged=options.merged, as_documents=options.json)
        if options.follow and not run.state.is_over:
            async with following(call, core, run):
                await printing.print_on()
        else:
            await printing.print_now()
        run = await core.records.existing(run.id)
        if options.save:
            await _save(call, core, run)
        if not printing.has_begun:
            call.output.note(_why_nothing(run))
        elif choice.since is not None and not printing.has_times:
            call.output.note(say("No line of this log says when it was written, so none is known to be that new."))
    if call.output.json_wanted:
        call.output.document(run_words.document(run))
    return FAILED if options.exit_status and run.state is not RunState.COMPLETED else DONE


async def wait(call: Call) -> int:
    async with call.runs() as core:
        await check_again(call, core, call.options.run, patient=True)
        run = await find(call, core, call.options.run)
        trouble = await settle(call, core, patient=True, only={run.profile})
        run = await core.records.existing(run.id)
        if trouble is not None and not run.state.is_remote:
            raise trouble
        if run.state is not RunState.UNCONFIRMED:
            run = await until_over(call, core, run, follow=False)
    return said_how_it_ended(call, run)


async def _save(call: Call, core: RunCore, run: Run) -> None:
    copies = await core.log_copies.copy(run)
    if not copies:
        call.output.note(say("The log was not copied: it is empty, or the code directory is not on this computer."))
    for path in copies:
        call.output.note(say("Copied the log to {file}.", file=str(path)))


def _since(asked: object) -> datetime | None:
    return asked if isinstance(asked, datetime) else None


def _why_nothing(run: Run) -> str:
    """Nothing was printed, and nothing went wrong."""
    if not run.job_id:
        return say("{name} was not submitted, so it has no log.", name=run.name)
    if not run.state.is_over:
        return say("No output of {name} is known yet. -f waits for it.", name=run.name)
    return say("There is no log of {name}, here or at the service.", name=run.name)


def _workers(run: Run, asked: str) -> tuple[str, ...]:
    worker = f"worker-{asked}" if asked.isdigit() else asked
    if worker not in run.tasks:
        raise NotFound(
            text("{name} has no worker “{worker}”.", name=run.name, worker=asked),
            text("Available: {workers}.", workers=", ".join(run.tasks)),
        )
    return (worker,)
