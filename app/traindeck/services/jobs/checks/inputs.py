"""Whether there is something to train on, and room for it where the job runs."""

from __future__ import annotations

from collections.abc import Iterable

from traindeck.domain.jobs.checks import CheckLevel
from traindeck.domain.storage.objects import bytes_of, size_words
from traindeck.domain.texts import text
from traindeck.runtime.tasks import gather_or_raise
from traindeck.services.jobs.checks.frame import (
    CheckAnswer,
    CheckedJob,
    JobCheck,
    amber,
    green,
    levels,
    not_checked,
    red,
)
from traindeck.services.jobs.checks.job_places import INPUTS, JobPlace, mistyped, places_of
from traindeck.services.storage.place_facts import Missing, PlaceFacts

_MOST_NAMED = 3


async def _inputs(job: CheckedJob) -> Iterable[CheckAnswer]:
    wrong = mistyped(job, INPUTS)
    known = {answer.field for answer in wrong}
    places = [place for place in places_of(job.spec, INPUTS) if place.field not in known]
    return [*wrong, *(await gather_or_raise(_input(job, place) for place in places))]


async def _input(job: CheckedJob, place: JobPlace) -> CheckAnswer:
    if place.is_own:
        return red(
            text("{row}: an input cannot be named after the run, which does not exist yet.", row=place.row),
            text("Enter the place of your data without {{run}}."),
            field=place.field,
        )
    found = await job.service.place(place.whole)
    if found.missing is not None:
        return _missing(place, found)
    if not found.count and not found.is_object:
        fact = text("{place} is empty.", place=str(place.whole))
        return red(fact, text("Upload your data, or select the folder it is in."), field=place.field)
    if found.takes_in and not found.is_object:
        return _ambiguous(place, found)
    return green(text("{place}: {amount}", place=str(place.whole), amount=found.amount), field=place.field)


def _missing(place: JobPlace, found: PlaceFacts) -> CheckAnswer:
    ways = [place.at(near) for near in found.nearest]
    if found.missing is Missing.BUCKET:
        fact = text("The bucket “{bucket}” does not exist.", bucket=place.whole.bucket)
    else:
        fact = text("{place} does not exist.", place=str(place.whole))
    return red(fact, text("Upload your data, or select the folder it is in."), *ways, field=place.field)


def _ambiguous(place: JobPlace, found: PlaceFacts) -> CheckAnswer:
    names = ", ".join(found.takes_in[:_MOST_NAMED]) + (" …" if len(found.takes_in) > _MOST_NAMED else "")
    fact = text("“{name}” also matches {names}.", name=place.whole.name, names=names)
    hint = text("End it with a slash, so that only this folder is meant.")
    return amber(fact, hint, place.at(place.whole.as_folder()), field=place.field)


async def _room(job: CheckedJob) -> Iterable[CheckAnswer]:
    """All inputs together lie on the one disk of a node."""
    places = [place for place in places_of(job.spec, INPUTS) if place.is_copied and not place.is_own]
    if not places or not job.spec.flavor:
        return []
    flavor = (await job.service.offer()).flavor_of(job.spec)
    if flavor is None:
        return []  # said by the check of the specification
    disk_bytes = bytes_of(flavor.disk)
    if not disk_bytes:
        return [not_checked(text("Not checked: the service does not say how large the disk of {flavor} is.",
                                 flavor=flavor.id))]  # fmt: skip
    found = await gather_or_raise(job.service.place(place.whole) for place in places)
    least = sum(one.size_bytes for one in found)
    disk = size_words(disk_bytes)
    if least > disk_bytes:
        fact = text("The inputs take {size}, the disk has {disk}.", size=size_words(least), disk=disk)
        hint = text("Select a specification with a larger disk, or let the script read from OBS as it goes.")
        return [red(fact, hint, field=places[0].field)]
    if not all(one.is_all for one in found):
        return [await _bounded(job, places, least, disk_bytes)]
    return [green(text("The inputs take {size} of {disk}.", size=size_words(least), disk=disk))]


async def _bounded(job: CheckedJob, places: list[JobPlace], least: int, disk_bytes: int) -> CheckAnswer:
    """Too many to count each time: what all of the buckets hold is more than what is in these folders."""
    buckets = sorted({place.whole.bucket for place in places})
    used = await gather_or_raise(job.service.bucket_bytes(bucket) for bucket in buckets)
    if all(size is not None for size in used) and sum(size or 0 for size in used) <= disk_bytes:
        most = size_words(sum(size or 0 for size in used))
        return green(text("The inputs take at most {size} of {disk}.", size=most, disk=size_words(disk_bytes)))
    return not_checked(
        text(
            "Not checked: too many objects to count; the first take {size} of {disk}.",
            size=size_words(least), disk=size_words(disk_bytes),
        ),
        text("“traindeck obs du” counts them all."),
    )  # fmt: skip


_FIELDS = frozenset({"inputs", "name"})
_SAID = levels(CheckLevel.GREEN, CheckLevel.RED, CheckLevel.NOT_CHECKED)

CHECKS = (
    JobCheck("inputs", text("Inputs"), _FIELDS, _inputs, _SAID | {CheckLevel.AMBER}, is_remote=True),
    JobCheck("disk", text("Room for the inputs"), _FIELDS | {"flavor"}, _room, _SAID, is_remote=True),
)
