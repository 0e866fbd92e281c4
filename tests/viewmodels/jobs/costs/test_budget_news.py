"""Most of a month's money, and all of it, are told of by themselves, each once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from support.folder_cloud import NPU, FolderCloud, digits_spec
from support.form_bench import billing_of
from support.waiting import until
from traindeck.domain.jobs.job import Run, RunState
from traindeck.store.price_file import PriceFile
from traindeck.viewmodels.jobs.costs.budget_news import BudgetNews
from traindeck.viewmodels.shell.journal import Happening, Journal, NewsKind, SystemNotice

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)


@asynccontextmanager
async def limited(folder: Path, limit: float) -> AsyncIterator[tuple[FolderCloud, Journal, BudgetNews]]:
    """One hour costs 10, and there is a limit for the month."""
    async with FolderCloud(folder) as cloud:
        PriceFile(cloud.paths.prices).change(flavors={NPU.id: 10.0}, currency="CNY", limit=limit)
        journal = Journal()
        billing = billing_of(cloud)
        billing.clock = lambda: NOW
        news = BudgetNews(billing, cloud.watch, journal, cloud.scope)
        news._soon.setInterval(1)
        yield cloud, journal, news
        news.close()


async def ran(cloud: FolderCloud, number: int, hours: float) -> None:
    """A run of this month has ended, and whoever watches runs says so."""
    spec = digits_spec(flavor=NPU.id)
    run = Run(f"r{number}", number, f"digits-{number}", "work", spec, RunState.COMPLETED, NOW, job_id=f"j{number}")
    run = replace(run, started=NOW - timedelta(hours=hours), ended=NOW)
    await cloud.records.add(run)
    cloud.watch.tell(run)


async def told(cloud: FolderCloud, journal: Journal, count: int) -> list[Happening]:
    await until(lambda: len(journal.entries) == count and not cloud.scope.is_running("add up the month"))
    return list(journal.entries)


async def test_80_percent_and_all_of_the_money_are_told_of_in_the_system_too(tmp_path: Path) -> None:
    async with limited(tmp_path, 100) as (cloud, journal, news):
        await ran(cloud, 1, 7.9)
        assert news._soon.isActive()
        await until(lambda: not news._soon.isActive() and not cloud.scope.is_running("add up the month"))
        assert not journal.entries, "79 of 100"
        await ran(cloud, 2, 0.2)
        (near,) = await told(cloud, journal, 1)
        assert str(near.title) == "81 % of the monthly limit is used."
        assert str(near.hint) == "Runs of this computer this month: 81.00 CNY of 100.00 CNY."
        assert (near.kind, near.notice, near.is_quiet) == (NewsKind.NOTE, SystemNotice.MONEY, True)
        await ran(cloud, 3, 0.1)
        _, again = await told(cloud, journal, 2)
        assert again.mark == near.mark, "who keeps what happened passes over it"
        await ran(cloud, 4, 2)
        *_, over = await told(cloud, journal, 3)
        assert (over.kind, str(over.title)) == (NewsKind.FAILED, "The monthly limit is reached.")
        assert over.mark != near.mark


async def test_another_limit_is_told_of_anew_and_none_never(tmp_path: Path) -> None:
    async with limited(tmp_path, 100) as (cloud, journal, news):
        await ran(cloud, 1, 9)
        (first,) = await told(cloud, journal, 1)
        PriceFile(cloud.paths.prices).change(flavors={}, currency=None, limit=110)
        await ran(cloud, 2, 0.1)
        _, second = await told(cloud, journal, 2)
        assert second.mark != first.mark
        PriceFile(cloud.paths.prices).change(flavors={}, currency=None, limit=0)
        await ran(cloud, 3, 50)
        assert news._soon.isActive()
        await until(lambda: not news._soon.isActive() and not cloud.scope.is_running("add up the month"))
        assert len(journal.entries) == 2
