"""What is charged: the page and the line below the window, with real services over hand-made jobs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from support.folder_cloud import NPU, FolderCloud, digits_spec, offline
from support.panel_bench import User
from support.waiting import until
from traindeck.domain.jobs.job import LiveJobs, RemoteJob, Run, RunState
from traindeck.domain.texts import Text
from traindeck.runtime import tasks
from traindeck.services.jobs.billing import Billing
from traindeck.services.jobs.run_watch import JobsSeen
from traindeck.store.price_file import PriceFile
from traindeck.viewmodels.jobs.costs.billing_page import BillingPage, BillingPlaces
from traindeck.viewmodels.jobs.costs.live_costs import LiveCosts
from traindeck.viewmodels.ports import Way

NOW = datetime.now(UTC)


def job(name: str, flavor: str = NPU.id, phase: str = "Running", hours: float = 2.0) -> RemoteJob:
    return RemoteJob(f"id-{name}", name, phase, NOW, NOW - timedelta(hours=hours), user="zhang", flavor=flavor)


@asynccontextmanager
async def billed(folder: Path, *jobs: RemoteJob) -> AsyncIterator[tuple[FolderCloud, Billing, BillingPage]]:
    async with FolderCloud(folder) as cloud:
        await cloud.add_cloud_profile("work")
        cloud.jobs.jobs = {one.id: one for one in jobs}
        prices = PriceFile(cloud.paths.home / "prices.toml")
        billing = Billing(cloud.records, cloud.connections, cloud.service, prices, cloud.disk)
        page = BillingPage(billing, cloud.choices, cloud.profiles, cloud.watch, cloud.scope)
        yield cloud, billing, page
        page.close()


async def test_all_jobs_of_an_account_with_what_is_known_of_their_price(tmp_path: Path) -> None:
    async with billed(tmp_path, job("one"), job("other", "unknown.flavor", hours=5)) as (_, billing, page):
        billing.prices.change(flavors={NPU.id: 23.5}, currency="CNY", limit=100)
        assert page.state.places == BillingPlaces(("work",)), "the Lab costs nothing"
        page.open()
        await until(lambda: page.state.is_known and page.state.table is not None)
        assert [(one.job.name, one.per_hour, one.run_id) for one in page.state.jobs] == [
            ("other", None, ""), ("one", 23.5, ""),
        ]  # fmt: skip
        seconds = page.seconds(page.state.jobs[1])
        assert seconds is not None and seconds >= 7200
        await until(lambda: NPU.id in [row.flavor for row in page.state.prices])


async def test_a_job_of_others_is_stopped_when_agreed_and_shows_so_until_it_is_over(tmp_path: Path) -> None:
    async with billed(tmp_path, job("theirs")) as (cloud, _, page):
        user = User(False)
        page.open()
        await until(lambda: page.state.jobs)
        page.stop(page.state.jobs, user.choose)
        await until(lambda: user.asked)
        assert "theirs (zhang)" in user.facts[0] and not page.state.stopping
        user.answer = True
        page.stop(page.state.jobs, user.choose)
        await until(lambda: bool(page.state.stopping))
        cloud.watch_runs()
        await until(lambda: not page.state.jobs and not page.state.stopping)
        assert cloud.jobs.jobs["id-theirs"].phase == "Terminated"


async def test_one_that_cannot_be_stopped_keeps_no_other_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "SHOWN_AFTER_S", 0)
    async with billed(tmp_path, job("gone"), job("theirs")) as (cloud, _, page):
        page.open()
        await until(lambda: len(page.state.jobs) == 2)
        del cloud.jobs.jobs["id-gone"]
        told: list[object] = []
        cloud.scope.under_way.add(told.append)

        async def thinking(_question: Text, _facts: Sequence[Text], ways: Sequence[Way]) -> str:
            for _ in range(20):
                await asyncio.sleep(0)
            assert not told, "nothing is being stopped while the question is open"
            return ways[0].id

        page.stop(page.state.jobs, thinking)
        await until(lambda: cloud.jobs.jobs["id-theirs"].phase == "Terminated")
        await until(lambda: cloud.reported)
        assert told
        cloud.reported.clear()


async def test_prices_currency_and_limit_are_edited_in_place(tmp_path: Path) -> None:
    async with billed(tmp_path) as (_, billing, page):
        page.open()
        await until(lambda: page.state.table is not None)
        page.set_price(NPU.id, "23.5")
        await until(lambda: page.state.table is not None and page.state.table.flavors == {NPU.id: 23.5})
        page.set_price(NPU.id, "cheap")
        assert page.state.trouble is not None and "cheap" in page.state.trouble.sentence()
        page.set_limit("1,200")
        await until(lambda: page.state.table is not None and page.state.table.monthly_limit == 1200)
        page.set_currency("USD")
        await until(lambda: page.state.table is not None and page.state.table.currency == "USD")
        page.set_price(NPU.id, "")
        await until(lambda: page.state.table is not None and not page.state.table.flavors)
        billing.prices.path.write_text("currency = 7\n")
        page.load()
        await until(lambda: page.state.trouble is not None and page.state.table is None)


async def test_what_cannot_be_asked_is_unknown_and_not_nothing(tmp_path: Path) -> None:
    async with billed(tmp_path, job("one")) as (cloud, _, page):
        cloud.jobs.trouble = offline()
        page.open()
        await until(lambda: page.state.is_known)
        assert page.state.jobs == () and len(page.state.unreached) == 1
        cloud.jobs.trouble = None
        cloud.watch_runs()
        await until(lambda: len(page.state.jobs) == 1 and not page.state.unreached)


async def test_the_line_below_the_window_counts_ours_and_others(tmp_path: Path) -> None:
    async with billed(tmp_path) as (cloud, billing, _):
        billing.prices.change(flavors={NPU.id: 10.0}, currency="CNY", limit=None)
        costs = LiveCosts(billing, cloud.records, cloud.watch, cloud.scope)
        begun = NOW - timedelta(hours=3)
        ours = Run(
            "r1", 1, "mine-1", "work", digits_spec(name="mine"), RunState.RUNNING, NOW, started=begun, job_id="id-mine"
        )
        await cloud.records.add(ours)
        costs.count()
        await until(lambda: costs.state.jobs is not None)
        assert (costs.state.ours, costs.state.others, costs.state.unknown) == (1, 0, 1)
        seen = (job("mine"), job("theirs"), job("strange", "no.such"))
        cloud.watch.jobs_seen.tell(JobsSeen("work", LiveJobs(seen)))
        await until(lambda: costs.state.others == 2)
        assert (costs.state.ours, costs.state.per_hour, costs.state.unknown) == (1, 20.0, 1)
        assert costs.state.longest is not None
        await cloud.records.change("r1", state=RunState.COMPLETED)
        cloud.watch.jobs_seen.tell(JobsSeen("work", LiveJobs(())))
        await until(lambda: costs.state.jobs == ())
        assert costs.state.paid == 0
        costs.close()


async def test_an_account_is_looked_at_until_nothing_runs_there(tmp_path: Path) -> None:
    async with billed(tmp_path, job("theirs")) as (cloud, billing, _):
        costs = LiveCosts(billing, cloud.records, cloud.watch, cloud.scope)
        costs.look_at("lab")
        costs.look_at("work")
        cloud.watch_runs()
        await until(lambda: costs.state.others == 1)
        cloud.jobs.move("Completed", "id-theirs")
        cloud.watch.wake()
        await until(lambda: costs.state.jobs == ())
        await until(lambda: cloud.watch.accounts["work"].jobs is None)
        costs.close()


async def test_what_an_account_runs_is_unknown_until_it_has_answered(tmp_path: Path) -> None:
    async with billed(tmp_path) as (cloud, billing, _):
        cloud.jobs.trouble = offline()
        costs = LiveCosts(billing, cloud.records, cloud.watch, cloud.scope)
        costs.look_at("work")
        cloud.watch_runs()
        await until(lambda: cloud.watch.trouble("work") is not None and costs.state.jobs == ())
        assert costs.state.unheard == {"work"}
        cloud.jobs.trouble = None
        cloud.watch.wake()
        await until(lambda: not costs.state.unheard)
        assert costs.state.jobs == ()
        costs.close()


async def test_runs_of_an_account_that_is_gone_are_not_passed_over(tmp_path: Path) -> None:
    async with billed(tmp_path) as (cloud, _, page):
        begun = NOW - timedelta(hours=3)
        run = Run("r1", 1, "mine-1", "gone", digits_spec(), RunState.RUNNING, NOW, started=begun, job_id="id-mine")
        await cloud.records.add(run)
        page.open()
        await until(lambda: page.state.is_known)
        assert page.state.strays == (("gone", 1),) and not page.state.is_certain
        await cloud.records.change("r1", state=RunState.COMPLETED)
        page.load()
        await until(lambda: page.state.is_certain)
