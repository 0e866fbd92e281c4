"""What runs and is charged at this moment, for the line below the window: ours, others', and what nobody knows."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer

from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.errors import AppError
from traindeck.domain.jobs.job import RemoteJob, Run
from traindeck.domain.jobs.live_costs import LiveCostsState, LiveJob
from traindeck.domain.jobs.prices import PriceTable
from traindeck.runtime.clock import Clock, utc_now
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.viewmodels.ports import Stateful

if TYPE_CHECKING:
    from traindeck.services.jobs.billing import Billing
    from traindeck.services.jobs.run_watch import JobsSeen, RunWatch
    from traindeck.store.runs import RunStore

_SOON_MS = 200
"""Many runs may change at once, and the sum of them is one."""


class LiveCosts(Stateful):
    """Counts what the records and the poller know; asks no service by itself."""

    def __init__(
        self, billing: Billing, records: RunStore, watch: RunWatch, scope: TaskScope, clock: Clock = utc_now
    ) -> None:
        super().__init__()
        self.state = LiveCostsState()
        self.clock = clock
        self._billing = billing
        self._records = records
        self._watch = watch
        self._scope = scope
        self._seen: dict[str, tuple[RemoteJob, ...]] = {}
        self._looks: dict[str, ExitStack] = {}
        self._soon = QTimer(self, singleShot=True, interval=_SOON_MS)
        self._soon.timeout.connect(self.count)
        self._deaf = (
            watch.changed.add(self._on_news), watch.gone.add(self._on_news), watch.jobs_seen.add(self._on_jobs)
        )  # fmt: skip

    def close(self) -> None:
        self._soon.stop()
        for stop_listening in self._deaf:
            stop_listening()
        for look in self._looks.values():
            look.close()
        self._looks.clear()

    def look_at(self, account: str) -> None:
        """Have the poller ask this account until nothing runs there; the Lab's jobs cost nothing."""
        if account and account != LAB and account not in self._looks:
            look = self._looks[account] = ExitStack()
            look.enter_context(self._watch.looking_at(account))
            self.count()

    def count(self) -> None:
        self._scope.start("count what is charged", self._count, Repeat.REPLACE)

    def _on_news(self, _: Run | str) -> None:
        if not self._soon.isActive():
            self._soon.start()

    def _on_jobs(self, seen: JobsSeen) -> None:
        if seen.jobs.jobs != self._seen.get(seen.profile):
            self._seen[seen.profile] = seen.jobs.jobs
            if not self._soon.isActive():
                self._soon.start()
        if not seen.jobs.jobs and (look := self._looks.pop(seen.profile, None)) is not None:
            look.close()

    async def _count(self) -> None:
        try:
            table = await self._billing.table()
        except AppError:
            table = PriceTable("")  # its page says what is wrong with it
        live = [run for run in await self._records.live() if run.state.is_remote or run.state.is_open]
        found = {run.job_id or run.name: _of_run(run, table) for run in live}
        names = {run.name for run in live}
        for account, jobs in self._seen.items():
            known = await self._records.job_ids(account) if jobs else {}
            for job in jobs:
                is_ours = job.id in known or job.name in names
                if is_ours and job.id not in found:
                    continue  # it is over by now
                found[job.id] = LiveJob(job.name, account, job.started, table.of_job(job, account), is_ours=is_ours)
        unheard = frozenset(self._looks) - self._seen.keys()
        self._become(jobs=tuple(found.values()), currency=table.currency, unheard=unheard)


def _of_run(run: Run, table: PriceTable) -> LiveJob:
    return LiveJob(
        run.spec.name or run.name, run.profile, run.started, table.of_form(run.spec, run.profile), is_ours=True
    )
