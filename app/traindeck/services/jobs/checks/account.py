"""Whether the account can send jobs at all: its clock, keys, project, rights and quota."""

from __future__ import annotations

from collections.abc import Iterable

from traindeck.domain.errors import AccessRefused, ClockOff, KeyringMissing, KeysRefused, NoRight, NotFound
from traindeck.domain.jobs.checks import CheckLevel
from traindeck.domain.texts import count_text, text
from traindeck.services.accounts.key_checks import BAD_CLOCK_S, GOOD_CLOCK_S
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

KEYS = "keys"
_TURN_ON = text("Turn on automatic time. Requests are rejected from a difference of 15 minutes.")


async def _clock(job: CheckedJob) -> Iterable[CheckAnswer]:
    try:
        ahead_s = await job.service.clock_ahead_s()
    except ClockOff as error:
        return [red(error.title, error.hint)]
    if ahead_s is None:
        return [not_checked(text("Not checked: OBS did not report its time."))]
    off_s = abs(ahead_s)
    if off_s <= GOOD_CLOCK_S:
        return [green(text("Accurate to {seconds} s.", seconds=max(1, round(off_s))))]
    minutes = text("The clock of this computer is off by {minutes} minutes.", minutes=max(1, round(off_s / 60)))
    return [(red if off_s >= BAD_CLOCK_S else amber)(minutes, _TURN_ON)]


async def _keys(job: CheckedJob) -> Iterable[CheckAnswer]:
    """OBS and ModelArts may differ in what they take."""
    try:
        buckets = await job.service.bucket_count()
        await job.service.project()
    except ClockOff:
        raise
    except (KeysRefused, KeyringMissing, NotFound) as error:
        return [red(error.title, error.hint)]
    except AccessRefused as error:
        if isinstance(error, NoRight) or await _were_taken(job):
            raise
        return [red(error.title, error.hint)]
    if buckets is None:
        return [green(text("The credential is valid."))]
    return [
        green(
            count_text(
                "The credential is valid: {count} bucket visible.",
                "The credential is valid: {count} buckets visible.",
                buckets,
            )
        )
    ]


async def _were_taken(job: CheckedJob) -> bool:
    """By OBS: then it is not the keys that ModelArts refuses."""
    try:
        await job.service.bucket_count()
    except AccessRefused:
        return False
    return True


async def _project(job: CheckedJob) -> Iterable[CheckAnswer]:
    try:
        project = await job.service.project()
    except (KeysRefused, ClockOff, NoRight, KeyringMissing):
        raise
    except AccessRefused as error:
        return [red(error.title, error.hint)]
    return [green(text("{project} belongs to the region {region}.", project=project, region=job.profile.region or "–"))]


async def _authorised(job: CheckedJob) -> Iterable[CheckAnswer]:
    if await job.service.is_authorised():
        return [green(text("ModelArts is authorized for this account."))]
    hint = text("Open ModelArts in the console once and grant it access under Permission Management.")
    return [red(text("ModelArts is not authorized for this account."), hint)]


async def _quota(job: CheckedJob) -> Iterable[CheckAnswer]:
    quota = await job.service.quota()
    if quota is None:
        return [not_checked(text("Not checked: the service does not say how many jobs there may be."))]
    said = text("{used} of {most} jobs.", used=f"{quota.used:,}", most=f"{quota.most:,}")
    if quota.used >= quota.most:
        return [red(said, text("Delete finished jobs you no longer need, or ask for a larger quota."))]
    return [green(said)]


_ACCOUNT = frozenset({"target"})
_SAID = levels(CheckLevel.GREEN, CheckLevel.RED, CheckLevel.NOT_CHECKED)

CHECKS = (
    JobCheck("clock", text("Clock"), _ACCOUNT, _clock, _SAID | {CheckLevel.AMBER}, is_remote=True),
    JobCheck(KEYS, text("Keys"), _ACCOUNT, _keys, _SAID, is_remote=True),
    JobCheck("project", text("Project"), _ACCOUNT, _project, _SAID, is_remote=True),
    JobCheck("authorization", text("ModelArts"), _ACCOUNT, _authorised, _SAID, is_remote=True),
    JobCheck("quota", text("Quota of jobs"), _ACCOUNT, _quota, _SAID, is_remote=True),
)
