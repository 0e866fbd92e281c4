"""`traindeck job export` and `import`: forms as other programs write them."""

from __future__ import annotations

import asyncio
from pathlib import Path

from traindeck.cli import terminal
from traindeck.cli.exit_codes import DONE
from traindeck.cli.job.form_files import read_form, write_new
from traindeck.cli.main import Call
from traindeck.domain.jobs import job_file
from traindeck.domain.jobs.job_format import JobFormat
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.texts import say


async def export(call: Call) -> int:
    from traindeck.services.jobs.formats.job_formats import write_job

    kind = JobFormat(call.options.kind)
    written = write_job(await _form(call), kind)
    for omission in written.omissions:
        call.output.note(say(omission))
    _give(call, written.content, {"format": kind.value, "lost": [say(one) for one in written.lost]})
    return DONE


async def import_(call: Call) -> int:
    from traindeck.services.jobs.formats.job_formats import read_job

    source = terminal.text_of(str(call.options.file))
    _give(call, job_file.to_toml(read_job(source)), {"format": "toml"})
    return DONE


async def _form(call: Call) -> JobSpec:
    """Of a file, where there is one of this name; else of a run, with the places it had."""
    named = Path(call.options.what)
    if await asyncio.to_thread(named.exists):
        return read_form(named)[1]
    async with call.runs() as core:
        return (await core.run_service.find(call.options.what)).filled_spec


def _give(call: Call, content: str, document: dict[str, object]) -> None:
    if call.options.to is None:
        call.output.result(document | {"content": content}, content.rstrip("\n"))
        return
    write_new(call.options.to, content)
    place = str(call.options.to)
    call.output.result(document | {"file": place}, say("Wrote {place}", place=place))
