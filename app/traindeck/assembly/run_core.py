"""The accounts, the transfers and the runs: what a command for jobs needs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import date, timedelta
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.assembly.account_core import pool
from traindeck.assembly.data_core import DataCore
from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.jobs.checks import AcceptedFinding
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.settings import LOGS_IN_PROJECT, WEBHOOK, WebAddress
from traindeck.runtime.blocking import CancelToken
from traindeck.services.jobs.adoption import Adoption
from traindeck.services.jobs.code.code_bundles import CodeBundles
from traindeck.services.jobs.code.code_limits import CodeLimits
from traindeck.services.jobs.code.code_tree import FrozenCode
from traindeck.services.jobs.comparing import RunComparing
from traindeck.services.jobs.home_mark import HomeMark
from traindeck.services.jobs.run_metrics import RunMetrics
from traindeck.services.jobs.run_watch import JobsSeen, RunWatch
from traindeck.services.jobs.runs import RunService
from traindeck.services.jobs.submission import Accept, Submission
from traindeck.services.logs.log_search import LogFinder
from traindeck.services.logs.project_copies import ProjectCopies
from traindeck.services.logs.run_logs import RunLogs
from traindeck.services.notices.log_rules import LogRules
from traindeck.services.readings.explaining import LogExplaining
from traindeck.services.readings.run_curves import RunCurves
from traindeck.services.readings.run_phases import RunPhases
from traindeck.services.readings.run_readings import RunReadings
from traindeck.services.readings.run_resources import RunResources
from traindeck.services.storage.place_facts import PlaceService
from traindeck.store.events import EventStore
from traindeck.store.notice_outbox import NoticeOutbox
from traindeck.store.records import RecordsFile
from traindeck.store.rule_file import RuleFile
from traindeck.store.runs import RunStore
from traindeck.store.tracked_numbers import TrackedNumbers

if TYPE_CHECKING:
    from traindeck.services.accounts.connections import Connection
    from traindeck.services.http.webhook import Webhook
    from traindeck.services.jobs.billing import Billing
    from traindeck.services.jobs.checks.job_checks import JobChecks
    from traindeck.services.notices.hang_guard import HangGuard
    from traindeck.services.notices.nan_guard import NanGuard

_OF_CHECKS = ("assembly.lab_pythons", "services.jobs.checks.service_facts", "services.jobs.checks.job_checks")


class RunCore(DataCore):
    """What sends jobs, follows them, and keeps what is known of them."""

    async def _open(self, owned: AsyncExitStack) -> None:
        await super()._open(owned)
        paths, connections = self.paths, self.connections
        writer = pool(owned, 1, "records")
        self.records = RunStore(RecordsFile(paths.database, paths.runs), writer)
        owned.callback(self.records.close)
        await self.records.open()
        owned.push_async_callback(self._make_copy)
        self.logs = RunLogs(self.records, paths.run_log, self.disk)
        bundles = self.bundles = CodeBundles(paths.bundles, self.disk)
        self.places = PlaceService(connections, self.planes)
        self.choices = self.job_choices()
        self.submission = Submission(
            self.records, connections, self.planes, bundles, paths.run, self.disk, self.book, self._checked
        )
        self.submission.limits_of = self._limits_of
        self.submission.may_ask = self._may_ask
        mark = self.submission.mark_of_home = HomeMark(paths.home_mark, self.disk).read
        self.watch = RunWatch(self.records, connections, self.logs, settle=self.submission.settle)
        self.watch.planes = self.planes
        self.submission.changed.add(self.watch.tell)
        self.log_copies = ProjectCopies(self.records, self.logs, self.disk, lambda: self.book.value(LOGS_IN_PROJECT))
        self.log_search = LogFinder(self.logs, self.disk)
        self.run_metrics = RunMetrics(self.records, self.logs, self.disk)
        self.watch.measure = self.run_metrics.measure
        self.explaining = LogExplaining(self.logs, self.disk)
        self.readings = RunReadings(self.logs, self.explaining, TrackedNumbers(paths.tracked_numbers), self.disk)
        self.resources = RunResources(connections)
        self.phases = RunPhases(connections, self.disk, paths.run_phases)
        self.curves = RunCurves(self.logs, self.disk, paths.run_curve)
        self.adoption = Adoption(
            self.records, connections, self.watch, self.transfers, bundles, self.disk, paths.adopted, self.planes, mark,
            self.submission.claim,
        )  # fmt: skip
        self.watch.take_back = self._take_back
        self.comparing = RunComparing(self.records, connections, bundles)
        self.watch.look_at_data = self.comparing.look_at_data
        self.submission.bring_code = self.adoption.bring_code
        self.run_service = RunService(self.records, connections, self.watch, self.transfers, bundles)
        self.rules = LogRules(
            RuleFile(paths.rules), self.records, self.logs, self.run_service, self.disk, paths.run_rules
        )

        self.events = EventStore(paths.events, pool(owned, 1, "events"))
        owned.callback(self.events.close)
        # Waiting for somebody's server must not keep the services' calls waiting.
        self._webhook_calls = pool(owned, 1, "webhook")

    def webhook(self, value: Callable[[WebAddress], str]) -> Webhook:
        """What tells the user's own program, at the address that the settings have."""
        from traindeck.services.http.webhook import Webhook

        outbox = NoticeOutbox(self.paths.notices)
        return Webhook(lambda: value(WEBHOOK), outbox, self._webhook_calls, self.disk)

    def hang_guard(self, wait: Callable[[], timedelta | None], only: str = "") -> HangGuard:
        from traindeck.services.notices.hang_guard import HangGuard
        from traindeck.store.run_waits import RunWaits

        waits = RunWaits(self.paths.run_waits)
        return HangGuard(self.records, self.connections, self.watch, self.logs, waits, self.disk, wait, only=only)

    def nan_guard(self, only: str = "") -> NanGuard:
        from traindeck.services.notices.nan_guard import NanGuard

        return NanGuard(self.records, self.watch, self.logs, self.readings.of, only)

    async def _limits_of(self, profile: str) -> CodeLimits:
        """As the service has them; the Lab of this home may have others."""
        if not self.connections.profile(profile).is_lab:
            return CodeLimits()

        def read(_: CancelToken) -> CodeLimits:
            from traindeck.lab.training.lab_settings import SettingsError, read_settings

            try:
                return CodeLimits(entries=read_settings(self.paths.lab).code_entries)
            except SettingsError:
                return CodeLimits()  # the Lab says what is wrong with its file

        return await self.disk.run(read)

    async def _may_ask(self, profile: str) -> bool:
        return profile != LAB or await self.lab.is_running()

    async def _take_back(self, seen: JobsSeen) -> None:
        """What an account has and a record here lacks: late answers first, then lost records."""
        await self.submission.claim(seen.profile, seen.jobs.jobs)
        await self.adoption.take_back(seen)

    @cached_property
    def checks(self) -> JobChecks:
        """What is looked at before a job is sent; loaded by those who send one."""
        from traindeck.assembly.lab_pythons import LabPythons
        from traindeck.services.jobs.checks.job_checks import JobChecks
        from traindeck.services.jobs.checks.service_facts import ServiceFacts

        facts = ServiceFacts(self.connections, self.places, self.choices, self.records)
        pythons = LabPythons(self.paths.lab, self.lab.python, self.disk)
        return JobChecks(
            facts, self.disk, pythons.of_engine, self._limits_of, self.billing.cost_of, self.templates.existing
        )

    async def load_checks(self) -> JobChecks:
        """The same, loaded in a worker: it is much, and a window answers meanwhile."""
        await self.disk.run(lambda _: [import_module(f"traindeck.{name}") for name in _OF_CHECKS])
        return self.checks

    async def _checked(
        self, spec: JobSpec, base: Path, connection: Connection, frozen: FrozenCode | None, accept: Accept
    ) -> tuple[AcceptedFinding, ...]:
        checks = await self.load_checks()
        from traindeck.services.jobs.checks.job_checks import let_through

        profile = connection.profile.name
        report = await checks.check(spec, base, profile, frozen=frozen, connection=connection)
        await let_through(report, accept)
        return report.to_record

    @cached_property
    def billing(self) -> Billing:
        """What jobs cost; loaded by those who ask."""
        from traindeck.services.jobs.billing import Billing
        from traindeck.store.price_file import PriceFile

        prices = PriceFile(self.paths.prices)
        return Billing(self.records, self.connections, self.run_service, prices, self.disk, claim=self.submission.claim)

    async def _make_copy(self) -> None:
        """Who only uses commands has a copy of each day, too."""
        await self.records.make_copy(date.today())
