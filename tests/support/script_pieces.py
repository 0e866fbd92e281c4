"""Small scripts, faulty and right, as they stand in the corpus: read, and looked at without any disk or service."""

from __future__ import annotations

import secrets
import string
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from traindeck.domain.jobs.job_spec import Channel, ChannelAccess, ChannelStyle
from traindeck.domain.scripts.findings import DoctorReport, ScriptFinding
from traindeck.domain.scripts.script_job import AcceleratorKind, ScriptJob
from traindeck.services.scripts.arguments import script_arguments
from traindeck.services.scripts.doctor import examine
from traindeck.services.scripts.python_source import engine_python
from traindeck.services.scripts.script_tree import read_scripts

CORPUS = Path(__file__).parents[1] / "scripts_corpus" / "findings"
HERE = "# HERE"
_BOOT = "train.py"
_ENGINES = {
    "torch-gpu": ("pytorch_2.1.0-cuda_12.1-py_3.10.6-ubuntu_22.04-x86_64", AcceleratorKind.GPU),
    "torch-310": ("pytorch_2.1.0-cuda_12.1-py_3.10.6-ubuntu_22.04-x86_64", AcceleratorKind.GPU),
    "torch-37": ("pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64", AcceleratorKind.GPU),
    "torch-ascend": ("pytorch_2.1.0-cann_7.0.1.1-py_3.9-euler_2.10.7-aarch64-snt3p", AcceleratorKind.ASCEND),
    "mindspore-ascend": ("mindspore_2.2.12-cann_7.0.1.1-py_3.9-euler_2.10.7-aarch64-snt3p", AcceleratorKind.ASCEND),
    "mindspore-gpu": ("mindspore_1.3.0-cuda_10.1-py_3.7-ubuntu_18.04-x86_64", AcceleratorKind.GPU),
    "tf-gpu": ("tensorflow_2.1.0-cuda_10.1-py_3.7-ubuntu_18.04-x86_64", AcceleratorKind.GPU),
    "tf-ascend": ("tensorflow_1.15-cann_5.1.0-py_3.7-euler_2.8.3-aarch64", AcceleratorKind.ASCEND),
}


def _made(alphabet: str, length: int, beginning: str = "") -> str:
    """With a digit and a letter of each case at least, as such things have."""
    return (
        beginning + "a7K"[: 3 if alphabet != _UPPER else 0] + "".join(secrets.choice(alphabet) for _ in range(length))
    )


# Without vowels and x: by chance they would spell “xxx”, “todo” or “your”, which stand where no key is yet.
_UPPER = "".join(sorted(set(string.ascii_uppercase) - set("AEIOUX"))) + string.digits
_ANY = _UPPER + _UPPER.lower()
SECRETS = {
    "%AK%": _made(_UPPER, 16, "HPUA"), "%SK%": _made(_ANY, 37), "%HF%": _made(_ANY, 34, "hf_"),
    "%PASSWORD%": _made(_ANY, 9) + "!",
}  # fmt: skip
"""Made anew each time, and nowhere else: one that is found in an answer came from a script."""


@dataclass(frozen=True)
class ScriptPiece:
    """One script with what is to be said of it."""

    name: str
    files: dict[str, str]
    heads: dict[str, str] = field(default_factory=dict)

    @property
    def boot(self) -> str:
        return self.heads.get("boot", _BOOT)

    @property
    def job(self) -> ScriptJob:
        return _job(self.heads.get("job", "").split())

    @property
    def expected(self) -> tuple[str, str, str]:
        """The rule, its level and the file."""
        rule, level, *file = self.heads["expect"].split()
        return rule, level, file[0] if file else self._marked or self.boot

    @property
    def _marked(self) -> str:
        return next((path for path, words in self.files.items() if HERE in words), "")

    @property
    def line(self) -> int | None:
        """None: any."""
        lines = self.files.get(self.expected[2], "").splitlines()
        return next((number for number, line in enumerate(lines, start=1) if HERE in line), None)

    def examined(self, job: ScriptJob | None = None) -> DoctorReport:
        job = job or self.job
        contents = {path: words.replace(HERE, "").encode() for path, words in self.files.items()}
        for path in self.heads.get("crlf", "").split():
            contents[path] = contents[path].replace(b"\n", b"\r\n")
        python = next((one for one in self.heads.get("job", "").split() if one.startswith("python=")), "")
        tree = read_scripts(
            list(contents), contents.__getitem__, self.boot, engine_python(python.replace("=", "_"))
            or engine_python(job.engine_version),
        )  # fmt: skip
        return examine(tree, job, script_arguments(tree))

    def found(self, report: DoctorReport) -> ScriptFinding | None:
        rule, level, file = self.expected
        for one in report.findings:
            is_it = one.rule == rule and one.level.value == level and one.file == file
            if is_it and self.line in (None, one.line) and self.heads.get("says", "") in str(one.hint):
                return one
        return None


def _job(words: Iterable[str]) -> ScriptJob:
    version, kind = _ENGINES["torch-gpu"]
    job = ScriptJob(engine_version=version, flavor_kind=kind, cards=1, reaches_internet=False, has_form=True)
    for word in words:
        name, _, value = word.partition("=")
        match name:
            case _ if name in _ENGINES:
                version, kind = _ENGINES[name]
                job = replace(job, engine_version=version, flavor_kind=kind)
            case "ascend":
                job = replace(job, flavor_kind=AcceleratorKind.ASCEND)
            case "engine":
                job = replace(job, engine_version=value)
            case "cards":
                job = replace(job, cards=int(value))
            case "image":
                job = replace(job, image=value, engine_version="")
            case "mount":
                job = replace(job, mounts=(value,))
            case "in":
                job = replace(job, inputs=(*job.inputs, Channel(value, "obs://b/d/")))
            case "in-obs":
                job = replace(job, inputs=(*job.inputs, Channel(value, "obs://b/d/", style=ChannelStyle.OBS)))
            case "in-env":
                job = replace(job, inputs=(*job.inputs, Channel(value, "obs://b/d/", ChannelAccess.ENVIRONMENT)))
            case "out":
                job = replace(job, outputs=(*job.outputs, Channel(value, "obs://b/o/")))
            case "param":
                known, _, given = value.partition(":")
                job = replace(job, parameters=(*job.parameters, (known, given)))
    return job


@cache
def pieces(kind: str) -> tuple[ScriptPiece, ...]:
    return tuple(_read(path) for path in sorted((CORPUS / kind).glob("*.txt")))


def _read(path: Path) -> ScriptPiece:
    words = path.read_text(encoding="utf-8")
    for mark, value in SECRETS.items():
        words = words.replace(mark, value)
    lines = words.splitlines(keepends=True)
    heads: dict[str, str] = {}
    while lines and lines[0].startswith(("# expect:", "# job:", "# boot:", "# crlf:", "# says:")):
        name, _, value = lines.pop(0)[2:].partition(":")
        heads[name] = value.strip()
    files: dict[str, str] = {}
    name = _BOOT
    for line in lines:
        if line.startswith("#### "):
            name = line[5:].strip()
            files[name] = ""
        else:
            files[name] = files.get(name, "") + line
    files.setdefault(_BOOT, "")
    return ScriptPiece(path.stem, files, heads)
