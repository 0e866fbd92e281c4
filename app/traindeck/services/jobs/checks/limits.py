"""Whether the job ends by itself, and what it may cost until then."""

from __future__ import annotations

from collections.abc import Iterable

from traindeck.domain.jobs.checks import CheckFix, CheckLevel
from traindeck.domain.jobs.stop_time import stop_time
from traindeck.domain.texts import count_text, text
from traindeck.services.jobs.checks.form_mistakes import mistakes
from traindeck.services.jobs.checks.frame import CheckAnswer, CheckedJob, JobCheck, amber, green, levels

_USUAL = "4h"


async def _stop(job: CheckedJob) -> Iterable[CheckAnswer]:
    if wrong := mistakes(job, "stop_after"):
        return wrong
    found = stop_time(job.spec.stop_after)
    if found.hours is None:
        fact = text("Nothing stops this job: it may run, and be charged, for days.")
        limit = CheckFix(text("Stop after {time}", time=_USUAL), (("stop_after", _USUAL),))
        return [amber(fact, text("Enter a time, for example “4h”."), limit, field="stop_after")]
    if found.remark is not None:
        return [green(found.remark, field="stop_after")]
    return [
        green(
            count_text("The job stops after {count} hour.", "The job stops after {count} hours.", found.hours),
            field="stop_after",
        )
    ]


_SAID = levels(CheckLevel.GREEN, CheckLevel.AMBER, CheckLevel.RED)

CHECKS = (JobCheck("stop-time", text("Stop after"), frozenset({"stop_after"}), _stop, _SAID),)
