"""`traindeck job init`: a form to fill in, for what is in a folder."""

from __future__ import annotations

from pathlib import Path

from traindeck.cli.exit_codes import DONE
from traindeck.cli.main import Call
from traindeck.domain.errors import Conflict
from traindeck.domain.jobs.job_spec import USUAL_BOOTS, Target, name_stem, usual_boots
from traindeck.domain.texts import say, text
from traindeck.runtime.files import local_errors

JOB_FILE = "job.toml"


async def init(call: Call) -> int:
    folder: Path = call.options.folder
    place = folder / JOB_FILE
    async with call.core() as core:
        with_sample = await core.sample.fits(folder)
        if with_sample:
            await core.sample.prepare(folder)
        else:
            at_lab = core.connections.profile(call.profile(core)).is_lab
            target = Target.LAB if at_lab else Target.MODELARTS
            _write_new(place, commented(folder, target))
    words = say("Wrote {place}", place=str(place))
    if with_sample:
        words += "\n" + say(
            "This is the sample project. Submit it with: traindeck job submit {place}", place=str(place)
        )
    call.output.result({"job_file": str(place), "sample": with_sample}, words)
    return DONE


def _write_new(place: Path, content: str) -> None:
    """A job file that is there is never replaced."""
    with local_errors(place):
        try:
            with place.open("x", encoding="utf-8", newline="\n") as file:
                file.write(content)
        except FileExistsError as error:
            raise Conflict(
                text("“{place}” already exists.", place=str(place)),
                text("Nothing was changed. Move it first, or specify another folder."),
            ) from error


def commented(folder: Path, target: Target) -> str:
    """The form for what is in `folder`, as far as that can be seen from outside."""
    name, boot = name_stem(folder.resolve().name), _boot(folder)
    lines = [
        ("", say("A TrainDeck training job. Edit it, then run: traindeck job submit job.toml")),
        ("[job]", ""),
        (f'name = "{name}"', say("each run adds the date and a short random part")),
        (f'target = "{target.value}"', say("“lab” for this computer, “modelarts” for the cloud")),
        ('description = ""', ""),
        ("[code]", ""),
        ('folder = "."', say("frozen on submission; later edits do not affect a running job")),
        (f'boot = "{boot}"', say("the Python file to start")),
        ('ignore = ["data/", "out/"]', say("not part of the code")),
        ("[engine]", say("“traindeck engines” lists what is available")),
        ('name = "PyTorch"', ""),
        ('version = "pytorch_2.1.0-cuda_12.1-py_3.10.6-ubuntu_22.04-x86_64"', ""),
        ("[resources]", say("“traindeck flavors” lists what is available")),
        ('flavor = "modelarts.vm.cpu.2u"', ""),
        ("nodes = 1", ""),
        ('stop_after = "4h"', say("stops the job after this time; “none” for no limit")),
        ("[inputs]", say("copied to the job; each folder is passed by its name, here as --data_url")),
        ('data_url = "obs://my-bucket/data/"', ""),
        ("[outputs]", say("what the script writes there is copied back; {{run}} gives each run its own folder")),
        ('train_url = "obs://my-bucket/out/{run}/"', ""),
        ("[logs]", ""),
        ('to = "obs://my-bucket/log/{run}/"', ""),
        ("[parameters]", say("passed in this order, for example lr = 0.01 as --lr 0.01")),
        ("[environment]", say("variables of the job, for example PYTHONUNBUFFERED = “1”")),
    ]
    return "\n".join(_line(toml, comment) for toml, comment in lines).lstrip("\n") + "\n"


def _line(toml: str, comment: str) -> str:
    before = "\n" if toml.startswith("[") else ""
    return before + "  ".join(part for part in (toml, f"# {comment}" if comment else "") if part)


def _boot(folder: Path) -> str:
    scripts = sorted(path.name for path in folder.glob("*.py"))
    return next(iter([*usual_boots(scripts), *scripts]), USUAL_BOOTS[0])
