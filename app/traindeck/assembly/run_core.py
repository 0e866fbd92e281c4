"""The accounts, the transfers and the runs: what a command for jobs needs."""

from __future__ import annotations

from contextlib import AsyncExitStack, closing
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.assembly.account_core import pool
from traindeck.assembly.data_core import DataCore
from traindeck.domain.jobs.checks import AcceptedFinding
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.services.jobs.choices import JobChoices
from traindeck.services.jobs.code_bundles import CodeBundles
from traindeck.services.jobs.run_watch import RunWatch
from traindeck.services.jobs.runs import RunService
from traindeck.services.jobs.submission import Accept, Submission
from traindeck.services.logs.run_logs import RunLogs
from traindeck.services.storage.place_facts import PlaceService
from traindeck.store.database import open_database
from traindeck.store.runs import RunStore

if TYPE_CHECKING:
    from traindeck.services.jobs.checks.job_checks import JobChecks

_OF_CHECKS = ("assembly.lab_pythons", "services.jobs.checks.service_facts", "services.jobs.checks.job_checks")


class RunCore(DataCore):
    """What sends jobs, follows them, and keeps what is known of them."""

    async def _open(self, owned: AsyncExitStack) -> None:
        await super()._open(owned)
        paths, connections = self.paths, self.connections
        writer = pool(owned, 1, "records")
        database = await writer.run(lambda _: open_database(paths.database))
        owned.enter_context(closing(database))
        self.records = RunStore(database, paths.database, writer)
        self.logs = RunLogs(self.records, paths.run_log, self.disk)
        bundles = self.bundles = CodeBundles(paths.bundles, self.disk)
        self.places = PlaceService(connections, self.planes)
        self.choices = JobChoices(connections, paths.choices, self.disk)
        self.submission = Submission(
            self.records, connections, self.planes, bundles, paths.run, self.disk, self.book, self._checked
        )
        self.watch = RunWatch(self.records, connections, self.logs, settle=self.submission.settle)
        self.submission.changed.add(self.watch.tell)
        self.run_service = RunService(self.records, connections, self.watch, self.transfers, bundles)

    @cached_property
    def checks(self) -> JobChecks:
        """What is looked at before a job is sent; loaded by those who send one."""
        from traindeck.assembly.lab_pythons import LabPythons
        from traindeck.services.jobs.checks.job_checks import JobChecks
        from traindeck.services.jobs.checks.service_facts import ServiceFacts

        facts = ServiceFacts(self.connections, self.places, self.choices, self.records)
        pythons = LabPythons(self.paths.lab, self.lab.python, self.disk)
        return JobChecks(facts, self.disk, pythons.of_engine)

    async def load_checks(self) -> JobChecks:
        """The same, loaded in a worker: it is much, and a window answers meanwhile."""
        await self.disk.run(lambda _: [import_module(f"traindeck.{name}") for name in _OF_CHECKS])
        return self.checks

    async def _checked(
        self, spec: JobSpec, base: Path, profile: str, frozen: Path | None, accept: Accept
    ) -> tuple[AcceptedFinding, ...]:
        checks = await self.load_checks()
        from traindeck.services.jobs.checks.job_checks import let_through

        report = await checks.check(spec, base, profile, frozen=frozen)
        await let_through(report, accept)
        return report.to_record
