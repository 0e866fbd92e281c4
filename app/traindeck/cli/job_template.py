"""A commented job file for code that is already there."""

from __future__ import annotations

import re
from pathlib import Path

from traindeck.domain.jobs import STEM_LENGTH, Target
from traindeck.domain.texts import say

_USUAL_BOOTS = ("train.py", "main.py", "run.py")


def commented(folder: Path, target: Target) -> str:
    """The form for what is in `folder`, as far as that can be seen from outside."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", folder.resolve().name).strip("-")[:STEM_LENGTH] or "job"
    boot = _boot(folder)
    lines = [
        ("", say("A training job of TrainDeck. Change what differs, then: traindeck job submit job.toml")),
        ("[job]", ""),
        (f'name = "{name}"', say("the run adds the date and a short random part")),
        (f'target = "{target.value}"', say("“lab” is this computer, “modelarts” the cloud")),
        ('description = ""', ""),
        ("[code]", ""),
        ('folder = "."', say("frozen when submitted; later edits do not reach a running job")),
        (f'boot = "{boot}"', say("the Python file that is started")),
        ('ignore = ["data/", "out/"]', say("not part of the code")),
        ("[engine]", say("“traindeck engines” lists what is on offer")),
        ('name = "PyTorch"', ""),
        ('version = "pytorch_2.1.0-cuda_12.1-py_3.10.6-ubuntu_22.04-x86_64"', ""),
        ("[resources]", say("“traindeck flavors” lists what is on offer")),
        ('flavor = "modelarts.vm.cpu.2u"', ""),
        ("nodes = 1", ""),
        ('stop_after = "4h"', say("the job ends then at the latest; “none” must be written out")),
        ("[inputs]", say("copied to the job; each folder is passed by its name, here as --data_url")),
        ('data_url = "obs://my-bucket/data/"', ""),
        ("[outputs]", say("what the script writes there is copied back; {{run}} keeps every run apart")),
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
    usual = [name for name in _USUAL_BOOTS if name in scripts]
    return next(iter([*usual, *scripts]), _USUAL_BOOTS[0])
