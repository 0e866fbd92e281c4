"""The places in OBS that a form names, as the checks look at them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from traindeck.domain.errors import InvalidInput
from traindeck.domain.jobs.checks import CheckFix, use_place
from traindeck.domain.jobs.form.form_field import nearest
from traindeck.domain.jobs.job_spec import PLACE_FIELDS, ChannelStyle, JobSpec, fields_in, filled_in
from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.jobs.checks.form_mistakes import mistakes
from traindeck.services.jobs.checks.frame import CheckAnswer, CheckedJob

RUN = "{run}"
INPUTS, OUTPUTS, LOG = "inputs", "outputs", "log_to"


@dataclass(frozen=True, slots=True)
class JobPlace:
    """One place as it stands in the form, with all filled in but the name of the run."""

    kind: str
    row: str
    spelling: str
    whole: ObjectPath
    """With `{run}` still in it, if it has any."""
    is_copied: bool = True
    """The service fills and empties a folder of the job; else the script goes to OBS itself."""

    @property
    def field(self) -> str:
        return f"{self.kind}:{self.row}" if self.row else self.kind

    @property
    def is_own(self) -> bool:
        """Each run has one of its own."""
        return "run" in fields_in(self.spelling)

    @property
    def head(self) -> ObjectPath:
        """The deepest folder that all runs share; the place itself where it is not a run's own."""
        begun, found, _ = self.whole.key.partition(RUN)
        if not found:
            return self.whole
        return ObjectPath(self.whole.bucket, begun.rpartition("/")[0] + "/" if "/" in begun else "")

    def own_folder(self) -> CheckFix:
        """The same place with a folder for each run."""
        return use_place(self.field, f"{ObjectPath.parse(self.spelling).as_folder()}{RUN}/")

    def at(self, path: ObjectPath) -> CheckFix:
        return use_place(self.field, path)


def places_of(spec: JobSpec, *kinds: str) -> Iterator[JobPlace]:
    """Those that can be read as places; of the others `validate` tells."""
    for kind in kinds or (INPUTS, OUTPUTS, LOG):
        if kind == LOG:
            if spec.log_to.strip():
                yield from _place(spec, LOG, "", spec.log_to)
            continue
        for channel in getattr(spec, kind):
            if channel.place.strip():
                yield from _place(
                    spec, kind, channel.name, channel.place, is_copied=channel.style is ChannelStyle.LOCAL
                )


def _place(spec: JobSpec, kind: str, row: str, spelling: str, *, is_copied: bool = True) -> Iterator[JobPlace]:
    filled = filled_in(spelling, {"name": spec.name, "run": RUN})
    try:
        yield JobPlace(kind, row, spelling, ObjectPath.parse(filled), is_copied)
    except InvalidInput:
        return


def mistyped(job: CheckedJob, kind: str) -> list[CheckAnswer]:
    """What is wrong with places as they are written; a field in braces that there is not may be meant otherwise."""
    ways = {place.field: way for place in places_of(job.spec, kind) if (way := _meant(place)) is not None}
    return [
        replace(answer, fixes=(ways[answer.field],)) if answer.field in ways else answer
        for answer in mistakes(job, kind)
    ]


def _meant(place: JobPlace) -> CheckFix | None:
    for name in fields_in(place.spelling):
        near = None if name in PLACE_FIELDS else nearest(name, PLACE_FIELDS, 0.4)
        if near is not None:
            return use_place(place.field, place.spelling.replace(f"{{{name}}}", f"{{{near}}}"))
    return None
