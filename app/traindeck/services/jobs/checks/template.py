"""Whether a job made from a template still has what that one locks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from traindeck.domain.jobs.checks import CheckFix, CheckLevel
from traindeck.domain.jobs.form.form_fields import BY_NAME
from traindeck.domain.jobs.form.job_template import JobTemplate
from traindeck.domain.texts import Text, text
from traindeck.services.jobs.checks.frame import CheckAnswer, CheckedJob, JobCheck, green, levels, red


async def _locked(job: CheckedJob) -> Iterable[CheckAnswer]:
    if not job.spec.template or job.template_of is None:
        return []
    template = await job.template_of(job.spec.template)
    answers = [_changed(job, template, name) for name in template.changed_in(job.spec)]
    return answers or [green(text("The job has all that the template “{name}” locks.", name=template.name))]


def _changed(job: CheckedJob, template: JobTemplate, name: str) -> CheckAnswer:
    own = getattr(template.spec, name)
    back = CheckFix(text("Set it back"), ((name, own),))
    detach = CheckFix(text("Detach from the template"), (("template", ""),))
    hint = text("Set it back, or take the template out of the job (job.template).")
    return red(_fact(BY_NAME[name].label, template.name, own, getattr(job.spec, name)), hint, back, detach, field=name)


def _fact(field: Text, template: str, own: Any, here: Any) -> Text:
    if isinstance(own, tuple):
        # Of a table the rows: what stands in them may be long, or a password.
        rows = sorted({_row_name(row) for row in {*own} ^ {*here}}) or [_row_name(row) for row in own]
        return text("{field} is locked by the template “{name}”. Not as there: {rows}.",
                    field=field, name=template, rows=", ".join(rows))  # fmt: skip
    if own == "":
        return text("{field} is locked by the template “{name}”, where it is empty.", field=field, name=template)
    return text("{field} is locked by the template “{name}”: “{value}”.", field=field, name=template, value=str(own))


def _row_name(row: Any) -> str:
    match row:
        case str():
            return row
        case (name, _):
            return str(name)
        case _:
            return str(getattr(row, "name", "") or row.mount)


CHECKS = (
    JobCheck(
        "template", text("Template"), frozenset({"template"}), _locked,
        levels(CheckLevel.GREEN, CheckLevel.RED, CheckLevel.NOT_CHECKED),
    ),
)  # fmt: skip
