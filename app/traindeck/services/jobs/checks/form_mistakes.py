"""What can be seen of the form alone, by what `validate` says of each field."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from traindeck.domain.jobs.checks import CheckLevel
from traindeck.domain.jobs.choices import Choices
from traindeck.domain.jobs.form.validation import FieldError, validate
from traindeck.domain.texts import Text, text
from traindeck.services.jobs.checks.frame import CheckAnswer, CheckedJob, JobCheck, green, levels, red

ELSEWHERE = frozenset({
    "code_folder", "boot", "command", "engine", "engine_version", "image", "flavor", "nodes", "pool", "stop_after",
    "inputs", "outputs", "log_to", "checkpoint_folder", "checkpoint_pattern",
})  # fmt: skip
"""Fields whose mistakes the check says that knows more about them."""


def mistakes(job: CheckedJob, *fields: str, offer: Choices | None = None) -> list[CheckAnswer]:
    """Of these fields and of their rows."""
    return [_said(error) for error in validate(job.spec, offer, job.kind) if _name(error) in fields]


def _said(error: FieldError) -> CheckAnswer:
    row = error.field.partition(":")[2]
    fact = text("{row}: {problem}", row=row, problem=error.message) if row else error.message
    return red(fact, field=error.field)


def _name(error: FieldError) -> str:
    return error.field.partition(":")[0]


async def _look(fields: frozenset[str], good: Text, job: CheckedJob) -> Iterable[CheckAnswer]:
    return mistakes(job, *fields) or [green(good)]


async def _look_at_others(job: CheckedJob) -> Iterable[CheckAnswer]:
    """What no other check has taken: a mistake is never left unsaid."""
    taken = ELSEWHERE.union(*(fields for _, _, fields, _ in _FIELDS))
    others = [_said(error) for error in validate(job.spec, kind=job.kind) if _name(error) not in taken]
    return others or [green(text("Nothing is wrong with them."))]


_FIELDS = (
    ("name", text("Name"), frozenset({"name"}), text("The name can be used.")),
    ("target", text("Target"), frozenset({"target"}), text("Jobs can be sent there.")),
    ("parameters", text("Running parameters"), frozenset({"parameters"}), text("Names and values can be passed.")),
    ("environment", text("Environment"), frozenset({"environment"}), text("Names and values can be passed.")),
)
_SAID = levels(CheckLevel.GREEN, CheckLevel.RED)

CHECKS = (
    *(JobCheck(id, title, fields, partial(_look, fields, good), _SAID) for id, title, fields, good in _FIELDS),
    JobCheck("form", text("Other fields"), frozenset(), _look_at_others, _SAID),
)
