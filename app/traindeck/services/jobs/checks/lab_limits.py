"""What the Lab runs a job with, and what it cannot stand for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import reduce

from traindeck.domain.jobs.checks import CheckLevel
from traindeck.domain.jobs.job import Isolation
from traindeck.domain.texts import Text, text
from traindeck.services.jobs.checks.frame import CheckAnswer, CheckedJob, JobCheck, green, levels, not_checked, red

_OWN_ENGINE = "local-python"


@dataclass(frozen=True, slots=True)
class LabPython:
    """The Python of this computer that runs an engine in the Lab, or why none does."""

    place: str = ""
    version: str = ""
    problem: str = ""
    isolation: Isolation = Isolation.UNKNOWN

    @property
    def short_version(self) -> tuple[int, int] | None:
        numbers = self.version.split(".")
        if len(numbers) < 2 or not (numbers[0].isdecimal() and numbers[1].isdecimal()):
            return None
        return int(numbers[0]), int(numbers[1])


AskLabPython = Callable[[str], Awaitable[LabPython]]
"""By the version of an engine."""


async def _python(job: CheckedJob) -> Iterable[CheckAnswer]:
    if not job.profile.is_lab or job.spec.command:
        return []
    if job.lab_python is None:
        return [not_checked(text("Not checked: this Lab is on another computer."))]
    python = await job.lab_python(job.spec.engine_version)
    if python.problem:
        hint = text("Correct lab.toml, or select a Python in the settings of the Lab.")
        return [red(text("{problem}", problem=python.problem), hint)]
    return [green(text("The Lab runs it with Python {version}: {place}", version=python.version, place=python.place))]


async def _isolation(job: CheckedJob) -> Iterable[CheckAnswer]:
    if not job.profile.is_lab or job.lab_python is None:
        return []
    isolation = (await job.lab_python(job.spec.engine_version)).isolation
    if isolation.warning is not None:
        return [not_checked(isolation.warning)]
    if isolation is Isolation.FULL:
        return [green(text("The job is isolated: it sees neither your files nor your programs nor your keyring."))]
    return []


async def _missing(job: CheckedJob) -> Iterable[CheckAnswer]:
    """What a good end in the Lab does not prove."""
    if not job.profile.is_lab:
        return []
    lacking: list[Text] = []
    flavor = (await job.service.offer()).flavor_of(job.spec)
    if flavor is not None and flavor.kind == "Ascend":
        lacking.append(text("an NPU"))
    if flavor is not None and flavor.kind == "GPU":
        lacking.append(text("a GPU"))
    if job.spec.engine_version and job.spec.engine_version != _OWN_ENGINE:
        lacking.append(text("the library versions of {engine}", engine=job.spec.engine_version))
    if job.spec.image:
        lacking.append(text("the image {image}", image=job.spec.image))
    if not lacking:
        return [green(text("The Lab has all this job asks for."))]
    parts = reduce(lambda some, more: text("{some}, {more}", some=some, more=more), lacking)
    return [
        not_checked(text("The Lab does not have: {parts}. In the cloud the job may behave differently.", parts=parts))
    ]


_FIELDS = frozenset({"engine_version", "image", "flavor", "command"})
CHECKS = (
    JobCheck("lab-python", text("Python of the Lab"), _FIELDS, _python,
             levels(CheckLevel.GREEN, CheckLevel.RED, CheckLevel.NOT_CHECKED)),
    JobCheck("lab-isolation", text("Isolation of the job"), _FIELDS, _isolation,
             levels(CheckLevel.GREEN, CheckLevel.NOT_CHECKED)),
    JobCheck("lab-limits", text("Limits of the Lab"), _FIELDS, _missing,
             levels(CheckLevel.GREEN, CheckLevel.NOT_CHECKED), is_remote=True),
)  # fmt: skip
