"""The accounts, the transfers and the runs: what a command for jobs needs."""

from __future__ import annotations

from contextlib import AsyncExitStack
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING

from traindeck.assembly.account_core import pool
from traindeck.assembly.data_core import DataCore
from traindeck.services.jobs.adoption import Adoption
from traindeck.services.jobs.code_bundles import CodeBundles
from traindeck.services.jobs.comparing import RunComparing
from traindeck.services.jobs.run_metrics import RunMetrics
from traindeck.services.jobs.run_notes import RunNotes
from traindeck.services.jobs.run_watch import RunWatch
from traindeck.services.jobs.runs import RunService
from traindeck.services.jobs.submission import Submission
from traindeck.services.logs.log_search import LogFinder
from traindeck.services.logs.run_logs import RunLogs
from traindeck.store.records import RecordsFile
from traindeck.store.runs import RunStore

if TYPE_CHECKING:
    from traindeck.services.jobs.billing import Billing


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
        bundles = CodeBundles(paths.bundles, self.disk)
        self.submission = Submission(self.records, connections, self.planes, bundles, paths.run, self.disk, self.book)
        self.watch = RunWatch(self.records, connections, self.logs, settle=self.submission.settle)
        self.submission.changed.add(self.watch.tell)
        self.log_search = LogFinder(self.logs, self.disk)
        self.run_metrics = RunMetrics(self.records, self.logs, self.disk)
        self.watch.measure = self.run_metrics.measure
        self.run_notes = RunNotes(self.records, connections, self.watch)
        self.adoption = Adoption(
            self.records, connections, self.watch, self.transfers, bundles, self.disk, paths.adopted
        )
        self.watch.take_back = self.adoption.take_back
        self.comparing = RunComparing(self.records, connections, bundles)
        self.watch.look_at_data = self.comparing.look_at_data
        self.submission.bring_code = self.adoption.bring_code
        self.run_service = RunService(self.records, connections, self.watch, self.transfers, bundles)

    @cached_property
    def billing(self) -> Billing:
        """What jobs cost; loaded by those who ask."""
        from traindeck.services.jobs.billing import Billing
        from traindeck.store.price_file import PriceFile

        return Billing(self.records, self.connections, self.run_service, PriceFile(self.paths.prices), self.disk)

    async def _make_copy(self) -> None:
        """Who only uses commands has a copy of each day, too."""
        await self.records.make_copy(date.today())
