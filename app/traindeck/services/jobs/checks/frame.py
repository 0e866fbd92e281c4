"""What a check is, how all of them are run, and why one that fails says "not checked"."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from traindeck.domain.accounts.profiles import Profile
from traindeck.domain.errors import AppError, NotFound
from traindeck.domain.jobs.checks import CheckFinding, CheckFix, CheckLevel, CheckReport
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.texts import Text, text
from traindeck.runtime.tasks import safely

if TYPE_CHECKING:
    from traindeck.domain.jobs.choices import Flavor
    from traindeck.domain.jobs.form.job_template import JobTemplate
    from traindeck.domain.jobs.start_kinds import StartKind
    from traindeck.services.jobs.billing import SubmissionCost
    from traindeck.services.jobs.checks.code_facts import CodeFacts
    from traindeck.services.jobs.checks.lab_limits import AskLabPython
    from traindeck.services.jobs.checks.service_facts import AccountFacts

log = logging.getLogger(__name__)

REMOTE_LIMIT_S = 6.0
"""No check waits longer for services, so that all of them together have ended within 8 s."""
LOCAL_LIMIT_S = 30.0


AskCost = Callable[[JobSpec, str, "Flavor | None"], Awaitable["SubmissionCost"]]
"""What a form costs with an account, by the specification as it is offered."""


AskTemplate = Callable[[str], Awaitable["JobTemplate"]]
"""By its name; NotFound: there is none any more."""


@dataclass(frozen=True, slots=True)
class CheckedJob:
    """The form that is looked at, with all that is known about what it names."""

    spec: JobSpec
    profile: Profile
    code: CodeFacts
    service: AccountFacts
    lab_python: AskLabPython | None = None
    cost_of: AskCost | None = None
    template_of: AskTemplate | None = None
    is_again: bool = False
    """It was sent before, with this very code."""
    kind: StartKind | None = None
    """The way to start that was chosen, where somebody chose one."""


@dataclass(frozen=True, slots=True)
class CheckAnswer:
    """What a check says; whose answer it is, the frame knows."""

    level: CheckLevel
    fact: Text
    hint: Text | None = None
    fixes: tuple[CheckFix, ...] = ()
    field: str = ""
    file: str = ""
    line: int | None = None
    rule: str = ""
    source_line: str = ""
    did_not_run: bool = False


def green(fact: Text, *, field: str = "") -> CheckAnswer:
    return CheckAnswer(CheckLevel.GREEN, fact, field=field)


def amber(
    fact: Text, hint: Text | None = None, *fixes: CheckFix, field: str = "", file: str = "", line: int | None = None
) -> CheckAnswer:
    return CheckAnswer(CheckLevel.AMBER, fact, hint, fixes, field, file, line)


def red(
    fact: Text, hint: Text | None = None, *fixes: CheckFix, field: str = "", file: str = "", line: int | None = None
) -> CheckAnswer:
    return CheckAnswer(CheckLevel.RED, fact, hint, fixes, field, file, line)


def not_checked(reason: Text, hint: Text | None = None, *, field: str = "", did_not_run: bool = False) -> CheckAnswer:
    return CheckAnswer(CheckLevel.NOT_CHECKED, reason, hint, field=field, did_not_run=did_not_run)


LookAtJob = Callable[[CheckedJob], Awaitable[Iterable[CheckAnswer]]]


@dataclass(frozen=True, slots=True)
class JobCheck:
    """One thing that is looked at. It says nothing where the form has no such thing."""

    id: str
    title: Text
    fields: frozenset[str]
    """Of the form: when one of these changes, what was found says nothing any more. Those of code are always read."""
    look: LookAtJob
    levels: frozenset[CheckLevel]
    """All it can say; that it could not be looked at is always one of them where others are asked."""
    is_remote: bool = False

    @property
    def limit_s(self) -> float:
        return REMOTE_LIMIT_S if self.is_remote else LOCAL_LIMIT_S


def levels(*said: CheckLevel) -> frozenset[CheckLevel]:
    return frozenset(said)


OnFindings = Callable[[Sequence[CheckFinding]], None]


def _unheard(_: Sequence[CheckFinding]) -> None:
    """Nobody watches them come."""


async def run_checks(
    checks: Sequence[JobCheck], job: CheckedJob, *, known: CheckReport | None = None, found: OnFindings = _unheard
) -> CheckReport:
    """All of them at once; `found` is told those of each check as they come.

    `known` is an earlier report: what it says and no changed field touches is not looked at again.
    """
    tell = safely(found)
    results: dict[str, Sequence[CheckFinding]] = {}

    async def one(check: JobCheck) -> None:
        kept = _kept(check, job, known)
        results[check.id] = await _findings(check, job) if kept is None else kept
        tell(results[check.id])

    async with asyncio.TaskGroup() as group:
        for check in checks:
            group.create_task(one(check))
    everything = (finding for check in checks for finding in results[check.id])
    return CheckReport(job.spec, job.profile.name, tuple(everything), job.service.keys_refused)


def _kept(check: JobCheck, job: CheckedJob, known: CheckReport | None) -> Sequence[CheckFinding] | None:
    if known is None or not check.is_remote or known.profile != job.profile.name:
        return None
    if any(getattr(known.spec, name) != getattr(job.spec, name) for name in check.fields):
        return None
    mine = tuple(finding for finding in known.findings if finding.check == check.id)
    if any(finding.level is CheckLevel.NOT_CHECKED or not job.service.is_fresh(finding.as_of) for finding in mine):
        return None
    return mine or None


async def _findings(check: JobCheck, job: CheckedJob) -> Sequence[CheckFinding]:
    """Whatever becomes of it, it is told; a look that failed is no good news."""
    service = job.service.noting()
    try:
        async with asyncio.timeout(check.limit_s):
            answers = list(await check.look(replace(job, service=service)))
    except TimeoutError:
        answers = [_too_slow(check)]
    except AppError as error:
        log.debug("check %s: %s %s", check.id, error, error.detail)
        ran = isinstance(error, NotFound)  # what is not there was looked for
        answers = [not_checked(text("Not checked: {reason}", reason=error.title), error.hint, did_not_run=not ran)]
    except Exception as error:
        log.exception("check %s", check.id)
        detail = f"{type(error).__name__}: {error}"
        hint = text("This is a mistake of TrainDeck. Submit only if you know that this is right.")
        answers = [not_checked(text("Not checked: {reason}", reason=detail), hint, did_not_run=True)]
    return tuple(
        CheckFinding(
            check.id,
            check.title,
            one.level,
            one.fact,
            one.hint,
            one.fixes,
            one.field,
            one.file,
            one.line,
            service.as_of,
            one.rule,
            one.source_line,
            one.did_not_run,
        )
        for one in answers
    )


def _too_slow(check: JobCheck) -> CheckAnswer:
    return not_checked(
        text("Not checked: no response within {seconds} s.", seconds=round(check.limit_s)), text("Check again."),
        did_not_run=True,
    )  # fmt: skip
