"""What bills now, what this month came to, and what a job would add: ours, others', and what nobody knows."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from traindeck.domain.errors import AppError, InvalidInput, NotFound
from traindeck.domain.jobs.choices import Flavor
from traindeck.domain.jobs.job import RemoteJob
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.jobs.live_costs import Bill, BilledJob, RegionBill
from traindeck.domain.jobs.prices import JobEstimate, MonthCost, PriceTable, estimate, month_begins, month_cost
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.clock import Clock, utc_now
from traindeck.runtime.tasks import gather_or_raise
from traindeck.services.accounts.connections import Connection, Connections
from traindeck.services.jobs.runs import RunService

if TYPE_CHECKING:
    from traindeck.store.price_file import PriceFile
    from traindeck.store.runs import RunStore

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SubmissionCost:
    """What a job would cost, beside what this month may cost: for the button, and for the check before it."""

    estimate: JobEstimate
    month: MonthCost

    @property
    def needs_confirmation(self) -> bool:
        """With it the month would cost more than its limit, or nobody can tell that it would not."""
        return self.estimate.per_hour != 0 and self.month.is_over_with(self.estimate.at_most)


@dataclass(eq=False, slots=True)
class Billing:
    """Asks each account and region once; the window looks again as its poller does."""

    records: RunStore
    connections: Connections
    service: RunService
    prices: PriceFile
    disk: BlockingCalls
    clock: Clock = utc_now
    claim: Callable[[str, Sequence[RemoteJob]], Awaitable[object]] | None = None
    """Gives late jobs to the runs that they were submitted for."""

    async def table(self) -> PriceTable:
        return await self.disk.run(lambda _: self.prices.read())

    async def now(self, places: Sequence[tuple[str, str]]) -> Bill:
        """Of these accounts in these regions; an empty region is the account's own."""
        table = await self.table()
        found = await gather_or_raise(self._region(account, region, table) for account, region in places)
        return Bill(self.clock(), table.currency, tuple(found))

    async def billed(self, account: str, region: str, jobs: Sequence[RemoteJob]) -> tuple[BilledJob, ...]:
        """The same of jobs that somebody has asked for already, as the poller does."""
        return self._billed(account, region, jobs, await self.records.job_ids(account), await self.table())

    async def stop(self, account: str, region: str, job_id: str) -> None:
        """Ours or not; of ours the record says so at once."""
        run = await self.records.with_job(job_id)
        if run is not None and run.profile == account:
            await self.service.stop(run.id)
            return
        async with self._connection(account, region) as connection:
            if await connection.training.show(job_id) is None:
                raise NotFound(
                    text("The account “{profile}” has no job with the ID “{job}”.", profile=account, job=job_id),
                    text("“traindeck billing” lists its active jobs. Check the ID, and the account's region."),
                )
            await connection.training.stop(job_id)

    async def month(self) -> MonthCost:
        now = self.clock()
        return month_cost(await self.records.since(month_begins(now)), await self.table(), now)

    async def cost_of(self, spec: JobSpec, account: str, offered: Flavor | None = None) -> SubmissionCost:
        return SubmissionCost(estimate(spec, account, await self.table(), offered), await self.month())

    async def _region(self, account: str, region: str, table: PriceTable) -> RegionBill:
        try:
            async with self._connection(account, region) as connection:
                region = connection.profile.region
                is_own = connection is await self.connections.open(account)
                live = await connection.training.live_jobs()
        except AppError as error:
            log.warning("what %s runs in %s: %s %s", account, region, error, error.detail)
            return RegionBill(account, region, trouble=error, is_whole=False)
        if self.claim is not None and is_own:  # a run is looked for in the region of its account
            try:
                await self.claim(account, live.jobs)
            except AppError as error:
                log.warning("late jobs of %s: %s %s", account, error, error.detail)
        jobs = self._billed(account, region, live.jobs, await self.records.job_ids(account), table)
        return RegionBill(account, region, jobs, live.is_whole)

    def _billed(
        self, account: str, region: str, jobs: Sequence[RemoteJob], ours: dict[str, str], table: PriceTable
    ) -> tuple[BilledJob, ...]:
        now = self.clock()
        return tuple(
            BilledJob(account, region, job, ours.get(job.id, ""), table.of_job(job, account), _seconds(job, now))
            for job in jobs
        )

    @asynccontextmanager
    async def _connection(self, account: str, region: str) -> AsyncIterator[Connection]:
        own = await self.connections.open(account)
        if region in ("", own.profile.region):
            yield own
            return
        if own.profile.is_lab or own.profile.modelarts_endpoint or own.profile.iam_endpoint:
            raise InvalidInput(
                text("The account “{name}” has endpoints of its own, for one region.", name=account),
                text("Add an account for the region {region}.", region=region),
            )
        other = own.in_region(region)
        try:
            yield other
        finally:
            other.close()


def _seconds(job: RemoteJob, now: datetime) -> float | None:
    if job.duration_ms:
        return job.duration_ms / 1000
    return None if job.started is None else max(0.0, (now - job.started).total_seconds())
