"""`traindeck job submit` and `rerun`: a job is sent, and followed where that is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.cli import terminal
from traindeck.cli.exit_codes import DONE
from traindeck.cli.job import printing as run_words
from traindeck.cli.job.check import print_findings, tell_new_parameters, wanted_job
from traindeck.cli.job.waiting import find, said_how_it_ended, settle, until_over
from traindeck.cli.main import Call
from traindeck.cli.progress import Stages
from traindeck.domain.errors import AppError
from traindeck.domain.jobs.checks import CheckLevel
from traindeck.domain.jobs.code_choice import CodeOf
from traindeck.domain.jobs.form import job_file
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.texts import count_text, say, text

if TYPE_CHECKING:
    from traindeck.assembly.run_core import RunCore
    from traindeck.domain.jobs.checks import CheckReport


async def submit(call: Call) -> int:
    file, spec = wanted_job(call)
    async with call.runs() as core:
        if call.options.dry_run:
            from traindeck.cli.job.looking import show_what_would_go

            return await show_what_would_go(call, core, spec, file.absolute().parent)
        await settle(call, core, only={core.submission.profile_for(spec, call.options.profile)})
        send = partial(core.submission.submit, spec, file.absolute().parent, call.options.profile)
        return await _sent(call, core, send, call.options.file)


async def rerun(call: Call) -> int:
    async with call.runs() as core:
        before = await find(call, core, call.options.run)
        await settle(call, core, only={before.profile})
        code = CodeOf(call.options.code)
        await _say_what_differs(call, core, before, code)
        after = before.spec
        for change in call.options.changes:
            after = job_file.with_setting(after, change)
        tell_new_parameters(call, before.spec, after)
        again = partial(core.submission.rerun, before.id, changes=call.options.changes, code=code)
        return await _sent(call, core, again, Path(before.spec.code_folder) if code is CodeOf.NOW else None)


async def _say_what_differs(call: Call, core: RunCore, before: Run, code: CodeOf) -> None:
    """Between the code of then and that of the folder, so that nobody runs the one and means the other."""
    try:
        changes = await core.run_service.kept_code.since(before)
    except AppError:
        return  # the folder is gone, or cannot be read; what that means is said where it is needed
    count = len(changes.files)
    if not count:
        return
    then = count_text(
        "Code as then; {count} file in “{folder}” differs from it.",
        "Code as then; {count} files in “{folder}” differ from it.",
        count,
        folder=before.spec.code_folder,
    )
    now = count_text(
        "Code as it is now in “{folder}”; {count} file differs from run {run}.",
        "Code as it is now in “{folder}”; {count} files differ from run {run}.",
        count,
        folder=before.spec.code_folder,
        run=before.id,
    )
    call.output.note(say(then if code is CodeOf.THEN else now))
    call.output.note(say("“traindeck job code {run} --diff {folder}” shows them.", run=before.id,
                         folder=before.spec.code_folder))  # fmt: skip


async def _sent(call: Call, core: RunCore, send: Callable[..., Awaitable[Run]], code: Path | None) -> int:
    """Send, say what became of it, and wait for the end if that was asked for.

    `code`: where its scripts can be changed; None: they are as an earlier run had them.
    """
    seen: list[Run] = []
    core.submission.accept = partial(_accepted, call, code)
    core.submission.accept_beside = partial(_accepted_beside, call)
    try:
        news, rows = core.submission.changed, core.transfers.changed
        with news.heard_by(seen.append), Stages(call.output) as stages, rows.heard_by(stages.on_row):
            run = await send(stage=stages.at)
    except asyncio.CancelledError:
        words = say("Nothing was submitted.")
        if seen and seen[-1].state is RunState.SUBMITTING:
            words = say("{name} may have been submitted already. “traindeck job ls” checks it.", name=seen[-1].name)
        call.output.note(words)
        raise
    if not run.state.is_remote:
        return said_how_it_ended(call, run)
    words = say("Submitted {name}, run {run}.", name=run.name, run=run.id)
    if not (call.options.wait or call.options.follow):
        call.output.result(run_words.document(run), words)
        return DONE
    call.output.note(words)
    run = await until_over(call, core, run, follow=call.options.follow)
    return said_how_it_ended(call, run, beside_log=call.options.follow)


async def _accepted_beside(call: Call, beside: Sequence[Run]) -> bool:
    """Whether the user sends another one beside those of which nobody knows whether they are there."""
    name = beside[0].name
    without = text("It is not known whether {name} was submitted: it may run and be charged already.", name=name)
    return terminal.is_meant(call.options, without, f"{say(without)} {say('Submit another one?')}")


async def _accepted(call: Call, code: Path | None, report: CheckReport) -> bool:
    """Whether the user sends it in spite of the warnings, which are shown first."""
    told = (*report.to_accept, *report.of(CheckLevel.NOT_CHECKED))
    print_findings(call.output.note, told, code)
    without = count_text(
        "The checks have {count} warning, so nothing was submitted.",
        "The checks have {count} warnings, so nothing was submitted.",
        len(report.to_accept),
    )
    return terminal.is_meant(call.options, without, say("Submit anyway?"))
