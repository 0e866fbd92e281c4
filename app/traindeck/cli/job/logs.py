"""`traindeck job logs` and `wait`: what a run says, and how it ends."""

from __future__ import annotations

from traindeck.cli.exit_codes import DONE
from traindeck.cli.job import printing as run_words
from traindeck.cli.job.printing import LogPrinter, pattern_of
from traindeck.cli.job.waiting import (
    bring_up_to_date,
    check_again,
    find,
    following,
    print_held,
    print_logs,
    print_straight,
    said_how_it_ended,
    say_records,
    settle,
    until_over,
)
from traindeck.cli.main import Call
from traindeck.domain.errors import NotFound
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.texts import say, text


async def logs(call: Call) -> int:
    pattern = pattern_of(call.options.grep) if call.options.grep else None
    async with call.runs() as core:
        if call.options.follow:
            say_records(call, core)
        else:
            await bring_up_to_date(call, core)
        run = await find(call, core, call.options.run)
        workers = _workers(run, call.options.worker)
        named, as_documents = len(workers) > 1, call.output.json_wanted
        printers = [LogPrinter(call.output, worker, named, pattern, as_documents) for worker in workers]
        cannot_keep = core.records.trouble or core.watch.log_trouble
        if cannot_keep is not None and run.job_id:
            call.output.note(say("The log is read from the service and not kept on this computer."))
        if call.options.follow:
            async with following(call, core, run):
                if cannot_keep is not None:
                    await print_straight(core, run, printers, follow=True)
                else:
                    await print_logs(call, core, run, printers)
        elif cannot_keep is not None and run.job_id:
            await print_straight(core, run, printers, follow=False)
        else:
            for printer in printers:
                print_held(core, run, printer)
        run = await core.records.existing(run.id)
    if call.output.json_wanted:
        call.output.document(run_words.document(run))
    return DONE


async def wait(call: Call) -> int:
    async with call.runs() as core:
        await check_again(call, core, call.options.run)
        trouble = await settle(call, core, limit_s=None)
        run = await find(call, core, call.options.run)
        if trouble is not None and not run.state.is_remote:
            raise trouble
        if run.state is not RunState.UNCONFIRMED:
            run = await until_over(call, core, run, follow=False)
    return said_how_it_ended(call, run)


def _workers(run: Run, asked: str | None) -> tuple[str, ...]:
    if asked is None:
        return run.tasks
    worker = f"worker-{asked}" if asked.isdigit() else asked
    if worker not in run.tasks:
        raise NotFound(
            text("{name} has no worker “{worker}”.", name=run.name, worker=asked),
            text("Available: {workers}.", workers=", ".join(run.tasks)),
        )
    return (worker,)
