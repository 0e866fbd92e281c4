"""`traindeck job init`: a form to fill in, for what is in a folder."""

from __future__ import annotations

from pathlib import Path

from traindeck.cli.exit_codes import DONE
from traindeck.cli.job.form_files import JOB_FILE
from traindeck.cli.main import Call
from traindeck.cli.target_file import TargetFile
from traindeck.domain.jobs.form.starter_file import starter_file
from traindeck.domain.jobs.job_spec import USUAL_BOOTS, Target, name_stem, usual_boots
from traindeck.domain.texts import say


async def init(call: Call) -> int:
    folder: Path = call.options.folder
    place = folder / JOB_FILE
    async with call.core() as core:
        template = call.options.template and await core.templates.existing(call.options.template)
        with_sample = not template and await core.sample.fits(folder)
        if with_sample:
            await core.sample.prepare(folder)
        elif template:
            _write(place, template.begin())
        else:
            at_lab = core.connections.profile(call.profile(core)).is_lab
            target = Target.LAB if at_lab else Target.MODELARTS
            _write(place, _starter(folder, target))
    words = say("Wrote {place}", place=str(place))
    if with_sample:
        words += "\n" + say(
            "This is the sample project. Submit it with: traindeck job submit {place}", place=str(place)
        )
    call.output.result({"job_file": str(place), "sample": with_sample}, words)
    return DONE


def _write(place: Path, content: str) -> None:
    """A project that has begun is never begun anew, whatever anybody says."""
    TargetFile(place).write(content.encode())


def _starter(folder: Path, target: Target) -> str:
    """The form for what is in `folder`, as far as that can be seen from outside."""
    return starter_file(name_stem(folder.resolve().name), target, _boot(folder))


def _boot(folder: Path) -> str:
    scripts = sorted(path.name for path in folder.glob("*.py"))
    return next(iter([*usual_boots(scripts), *scripts]), USUAL_BOOTS[0])
