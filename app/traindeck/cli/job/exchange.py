"""`traindeck job export` and `import`: forms as other programs write them."""

from __future__ import annotations

import asyncio
from pathlib import Path

from traindeck.cli import terminal
from traindeck.cli.exit_codes import DONE
from traindeck.cli.job.form_files import read_form
from traindeck.cli.main import Call
from traindeck.cli.target_file import target_file
from traindeck.domain.jobs.choices import Choices
from traindeck.domain.jobs.form import job_file
from traindeck.domain.jobs.form.job_format import JobFormat
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
    from traindeck.services.jobs.formats.reading import with_engine

    source = terminal.text_of(str(call.options.file))

    async def offered() -> Choices:
        async with call.runs() as core:
            return await core.choices.load(call.profile(core))

    read = await with_engine(read_job(source), offered)
    for remark in read.remarks:
        call.output.note(say(remark))
    content = job_file.to_toml(read.spec)
    _give(call, content, {"format": "toml", "remarks": [say(one) for one in read.remarks]})
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
    elif (target := target_file(call, call.options.to)) is not None:
        target.write(content.encode())
        place = str(target.path)
        call.output.result(document | {"file": place}, say("Wrote {place}", place=place))
