"""The check of a whole job: what window and command line ask before anything is sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.domain.jobs.checks import CheckFix, CheckLevel, CheckReport, ChecksFailed, NotAccepted
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.jobs.start_kinds import StartKind
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.jobs.checks.account import KEYS
from traindeck.services.jobs.checks.all_checks import ALL_CHECKS
from traindeck.services.jobs.checks.code_facts import CodeFacts, SourceMemory
from traindeck.services.jobs.checks.frame import AskCost, AskTemplate, CheckedJob, OnFindings, run_checks
from traindeck.services.jobs.checks.script_findings import script_report
from traindeck.services.jobs.checks.service_facts import ServiceFacts
from traindeck.services.jobs.code.code_limits import LimitsOf, of_the_service
from traindeck.services.jobs.code.code_tree import FrozenCode

if TYPE_CHECKING:
    from traindeck.domain.scripts.findings import DoctorReport
    from traindeck.services.accounts.connections import Connection
    from traindeck.services.jobs.checks.lab_limits import AskLabPython
    from traindeck.services.jobs.submission import Accept


@dataclass(eq=False, slots=True)
class JobChecks:
    """Looks at jobs; what it found out is kept for the next look."""

    facts: ServiceFacts
    disk: BlockingCalls
    lab_python: AskLabPython | None = None
    limits_of: LimitsOf = of_the_service
    cost_of: AskCost | None = None
    template_of: AskTemplate | None = None
    memory: SourceMemory = field(default_factory=SourceMemory)

    async def check(
        self,
        spec: JobSpec,
        base: Path,
        profile: str,
        *,
        known: CheckReport | None = None,
        found: OnFindings = lambda _: None,
        frozen: FrozenCode | None = None,
        connection: Connection | None = None,
        kind: StartKind | None = None,
    ) -> CheckReport:
        """All findings. `known` is the report before, of which only what a change touches is looked at again.

        `frozen`: the code as an earlier run had it, of which nothing is left out any more. `kind`: the way to start
        that somebody chose.
        """
        job = await self._job(spec, base, profile, frozen, connection, kind)
        return await run_checks(ALL_CHECKS, job, known=known, found=found)

    async def script_report(
        self, spec: JobSpec, base: Path, profile: str, *, frozen: FrozenCode | None = None
    ) -> DoctorReport | None:
        """All that is found in the scripts, of which the checks name the first; None: there is no script here."""
        return await script_report(await self._job(spec, base, profile, frozen))

    async def _job(
        self,
        spec: JobSpec,
        base: Path,
        profile: str,
        frozen: FrozenCode | None,
        connection: Connection | None = None,
        kind: StartKind | None = None,
    ) -> CheckedJob:
        code = CodeFacts((base / spec.code_folder).absolute(), spec.ignore, self.disk, self.memory, frozen)
        code.limits = await self.limits_of(profile)
        account = self.facts.connections.profile(profile)
        service = self.facts.of(profile, connection)
        is_again = frozen is not None
        return CheckedJob(spec, account, code, service, self.lab_python, self.cost_of, self.template_of, is_again, kind)

    async def mend(self, profile: str, fix: CheckFix) -> None:
        """Make in OBS what a fix wants there; what it changes in the form is for whoever holds the form."""
        if fix.creates is not None:
            await self.facts.places.create(profile, fix.creates)
            self.facts.forget(profile)


async def let_through(report: CheckReport, accept: Accept) -> None:
    """Come back when the job may be sent; raises ChecksFailed, NotAccepted or KeysRefused."""
    if report.refused is not None and {one.check for one in report.of(CheckLevel.RED)} <= {KEYS}:
        raise report.refused  # for who can give other keys, and goes on then
    if report.is_red:
        raise ChecksFailed(report)
    if report.to_accept and not await accept(report):
        raise NotAccepted(report)
