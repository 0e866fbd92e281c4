"""Whether the buckets of the form are there, where the job can use them, and open to writing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace

from traindeck.domain.errors import NoRight, NotFound
from traindeck.domain.jobs.checks import CheckFix, CheckLevel, make_bucket
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import Text, text
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
from traindeck.services.jobs.checks.job_places import INPUTS, LOG, OUTPUTS, JobPlace, places_of
from traindeck.services.jobs.checks.service_facts import BucketThere

_CODE_NEEDS = "traindeck/code/"


def _by_bucket(job: CheckedJob) -> dict[str, list[JobPlace]]:
    found: dict[str, list[JobPlace]] = {}
    for place in places_of(job.spec):
        found.setdefault(place.whole.bucket, []).append(place)
    return found


async def _of_each(
    job: CheckedJob, look: Callable[[CheckedJob, BucketThere, list[JobPlace]], Awaitable[CheckAnswer | None]]
) -> list[CheckAnswer]:
    """What there is to say of each bucket that is there."""

    async def one(name: str, places: list[JobPlace]) -> CheckAnswer | None:
        there = await job.service.bucket(name)
        return await look(job, there, places) if there.exists else None

    found = await gather_or_raise(one(name, places) for name, places in _by_bucket(job).items())
    return [answer for answer in found if answer is not None]


def _named(names: Iterable[str]) -> str:
    return ", ".join(names)


async def _exist(job: CheckedJob) -> Iterable[CheckAnswer]:
    by_bucket = _by_bucket(job)
    if not by_bucket:
        return []
    there = await gather_or_raise(job.service.bucket(name) for name in by_bucket)
    missing = [_missing(one, by_bucket[one.name]) for one in there if not one.exists]
    return missing or [green(text("All are there: {names}.", names=_named(by_bucket)))]


def _missing(bucket: BucketThere, places: list[JobPlace]) -> CheckAnswer:
    """An output that ends nowhere loses the whole run."""
    fact = text(
        "The bucket “{bucket}” does not exist: {fields}.",
        bucket=bucket.name,
        fields=_named(place.row or place.kind for place in places),
    )
    ways = [_instead(near, places) for near in bucket.nearest]
    hint = text("Check the name and the account's region, or create the bucket.")
    return red(fact, hint, *ways, make_bucket(bucket.name), field=places[0].field)


def _instead(bucket: str, places: list[JobPlace]) -> CheckFix:
    changes = tuple((place.field, place.spelling.replace(place.whole.bucket, bucket, 1)) for place in places)
    return CheckFix(text("Use the bucket {bucket}", bucket=bucket), changes)


async def _region(job: CheckedJob, there: BucketThere, places: list[JobPlace]) -> CheckAnswer | None:
    here = job.profile.region
    if not there.region or not here:
        return not_checked(
            text("Not checked: the service does not say in which region “{bucket}” is.", bucket=there.name)
        )
    if there.region == here:
        return None
    fact = text(
        "The bucket “{bucket}” is in {there}, the job runs in {here}.", bucket=there.name, there=there.region, here=here
    )
    hint = text("Use a bucket in {here}, or an account for {there}.", here=here, there=there.region)
    return red(fact, hint, field=places[0].field)


async def _regions(job: CheckedJob) -> Iterable[CheckAnswer]:
    if not _by_bucket(job):
        return []
    said = await _of_each(job, _region)
    return said or [green(text("The buckets are in the region of the job: {region}.", region=job.profile.region))]


async def _encryption(job: CheckedJob, there: BucketThere, places: list[JobPlace]) -> CheckAnswer | None:
    try:
        method = await job.service.encryption(there.name)
    except NoRight as error:
        return not_checked(text("Not checked: {reason}", reason=error.title), error.hint, field=places[0].field)
    if not method:
        return None
    fact = text("The bucket “{bucket}” encrypts its objects ({method}).", bucket=there.name, method=method)
    hint = text("ModelArts cannot use encrypted buckets. Use another bucket, or turn off its encryption.")
    return (amber if job.profile.is_lab else red)(fact, hint, field=places[0].field)


async def _encrypted(job: CheckedJob) -> Iterable[CheckAnswer]:
    if not _by_bucket(job):
        return []
    return await _of_each(job, _encryption) or [green(text("No bucket encrypts its objects."))]


def _written(job: CheckedJob) -> dict[ObjectPath, JobPlace]:
    """The folders that are written to: outputs, the log, and where the code goes."""
    found = {place.head.as_folder(): place for place in reversed(list(places_of(job.spec, OUTPUTS, LOG)))}
    first = next(iter(places_of(job.spec, LOG, OUTPUTS, INPUTS)), None)
    if first is not None and not job.spec.has_algorithm:
        found.setdefault(ObjectPath(first.whole.bucket, _CODE_NEEDS), first)
    return found


async def _may_write(job: CheckedJob) -> Iterable[CheckAnswer]:
    async def one(folder: ObjectPath, place: JobPlace) -> CheckAnswer | None:
        try:
            await job.service.check_may_write(folder)
        except NoRight as error:
            fact = text("Cannot write to {place}.", place=str(folder))
            return red(fact, error.hint, field=place.field)
        except NotFound:
            return None  # the bucket is missing, which is said once
        return green(text("Can write to {place}.", place=str(folder)), field=place.field)

    found = await gather_or_raise(one(folder, place) for folder, place in _written(job).items())
    said = [answer for answer in found if answer is not None]
    bad = [answer for answer in said if answer.level is not CheckLevel.GREEN]
    if bad or not said:
        return bad
    return [replace(said[0], fact=_all_writable([str(folder) for folder in _written(job)]), field="")]


def _all_writable(folders: list[str]) -> Text:
    return text("Can write to {place}.", place=_named(folders))


_FIELDS = frozenset({"inputs", "outputs", "log_to", "name"})
_SAID = levels(CheckLevel.GREEN, CheckLevel.RED, CheckLevel.NOT_CHECKED)

CHECKS = (
    JobCheck("buckets", text("Buckets"), _FIELDS, _exist, _SAID, is_remote=True),
    JobCheck("region", text("Region of the buckets"), _FIELDS, _regions, _SAID, is_remote=True),
    JobCheck("encryption", text("Encryption"), _FIELDS, _encrypted, _SAID | {CheckLevel.AMBER}, is_remote=True),
    JobCheck("write-right", text("Write permission"), _FIELDS, _may_write, _SAID, is_remote=True),
)
