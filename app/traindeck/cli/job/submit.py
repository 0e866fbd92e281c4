"""`traindeck job submit` and `rerun`: a job is sent, and followed where that is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.cli.exit_codes import DONE
from traindeck.cli.job import printing as run_words
from traindeck.cli.job.init import JOB_FILE
from traindeck.cli.job.waiting import find, said_how_it_ended, settle, until_over
from traindeck.cli.main import Call
from traindeck.cli.progress import Stages
from traindeck.domain.jobs import job_file
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.texts import say
from traindeck.runtime.files import local_errors, text_in

if TYPE_CHECKING:
    from traindeck.assembly.run_core import RunCore


async def submit(call: Call) -> int:
    file, spec = _read(call.options.file)
    for change in call.options.changes:
        spec = job_file.with_setting(spec, change)
    async with call.runs() as core:
        await settle(call, core)
        return await _sent(
            call, core, partial(core.submission.submit, spec, file.absolute().parent, call.options.profile)
        )


async def rerun(call: Call) -> int:
    async with call.runs() as core:
        await settle(call, core)
        before = await find(call, core, call.options.run)
        return await _sent(call, core, partial(core.submission.rerun, before.id, changes=call.options.changes))


def _read(path: Path) -> tuple[Path, JobSpec]:
    with local_errors(path):
        file = path / JOB_FILE if path.is_dir() else path
    return file, job_file.parse(text_in(file))


async def _sent(call: Call, core: RunCore, send: Callable[..., Awaitable[Run]]) -> int:
    """Send, say what became of it, and wait for the end if that was asked for."""
    seen: list[Run] = []
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
    if run.state is RunState.UNCONFIRMED:
        return said_how_it_ended(call, run)
    words = say("Submitted {name}, run {run}.", name=run.name, run=run.id)
    if not (call.options.wait or call.options.follow):
        call.output.result(run_words.document(run), words)
        return DONE
    call.output.note(words)
    run = await until_over(call, core, run, follow=call.options.follow)
    return said_how_it_ended(call, run, beside_log=call.options.follow)
