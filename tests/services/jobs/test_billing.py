"""All that bills, ours and others', with Stop; against a real Lab under the name of an account that is charged."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from support.stores.way import Way
from support.waiting import until
from support.work_bench import BUCKET, Bench, code_in, spec
from traindeck.domain.errors import InvalidInput, LocalTrouble, NotFound
from traindeck.domain.jobs.job import RunState
from traindeck.domain.jobs.job_spec import Target
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.services.accounts.connections import Connection
from traindeck.services.jobs.billing import Billing
from traindeck.store.price_file import PriceFile

pytestmark = pytest.mark.usefixtures("no_waiting")
FLAVOR = "modelarts.vm.cpu.2u"


def billing_of(bench: Bench) -> Billing:
    prices = PriceFile(bench.paths.home / "prices.toml")
    return Billing(bench.records, bench.connections, bench.run_service, prices, bench.disk)


async def test_jobs_of_ours_and_of_others_are_listed_with_their_price_and_stopped(
    way: Way, unused_port: int, tmp_path: Path
) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        await bench.add_account("cloud")
        await bench.add_account("away", modelarts_endpoint=f"http://127.0.0.1:{unused_port}")
        billing = billing_of(bench)
        ours = await bench.submission.submit(spec(60.0, target=Target.MODELARTS), code_in(tmp_path / "code"), "cloud")
        await way.put(b"import time; time.sleep(60)", ObjectPath(BUCKET, "theirs/train.py"))
        with way.training() as training:
            theirs = await training.create("theirs", spec(60.0), ObjectPath(BUCKET, "theirs/"))
        bill = await billing.now([("cloud", ""), ("away", ""), ("cloud", "cn-north-4")])
        found = {job.job.id: job for job in bill.jobs}
        assert found[ours.job_id].run_id == ours.id and found[theirs.id].run_id == ""
        assert found[theirs.id].per_hour is None and bill.unknown == 2 and bill.per_hour == 0.0
        assert not bill.is_whole and [region.trouble is not None for region in bill.regions] == [False, True, True]

        PriceFile(bench.paths.home / "prices.toml").change(flavors={FLAVOR: 3.5}, currency="EUR", limit=5)
        while not (priced := await billing.now([("cloud", "")])).jobs or priced.jobs[0].so_far is None:
            pass
        assert (priced.per_hour, priced.currency, priced.unknown, priced.is_whole) == (7.0, "EUR", 0, True)
        bench.watch_runs()
        while (await bench.records.existing(ours.id)).started is None:
            await asyncio.sleep(0.02)
        cost = await billing.cost_of(spec(stop_after="2h"), "cloud")
        assert cost.estimate.at_most == 7.0 and cost.needs_confirmation and cost.month.known_runs == 1
        assert not (await billing.cost_of(spec(stop_after="1h"), "cloud")).needs_confirmation
        assert (await billing.cost_of(spec(stop_after="none"), "cloud")).needs_confirmation
        assert not (await billing.cost_of(spec(stop_after="none"), "lab")).needs_confirmation

        await billing.stop("cloud", "", theirs.id)
        await billing.stop("cloud", "", ours.job_id)
        assert (await bench.records.existing(ours.id)).state is RunState.TERMINATING
        with pytest.raises(NotFound):
            await billing.stop("cloud", "", "nobody")
        assert (await bench.watch.until_over(ours.id)).state is RunState.TERMINATED
        over: list[bool] = []

        async def look() -> None:
            while (await billing.now([("cloud", "")])).jobs:
                pass
            over.append(True)

        bench.scope.start("look", look)
        await until(lambda: over)


async def test_a_bill_stands_though_no_job_can_be_claimed_and_claims_in_the_own_region_alone(
    way: Way, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    async def claim(account: str, _: object) -> None:
        asked.append(account)
        raise LocalTrouble(text("The disk is full."), text("Make room."))

    async with Bench(tmp_path / "home", way) as bench:
        await bench.add_account("cloud")
        billing = billing_of(bench)
        billing.claim = claim
        (bill,) = (await billing.now([("cloud", "")])).regions
        assert bill.trouble is None and bill.is_whole and asked == ["cloud"]
        await bench.add_account("far", modelarts_endpoint="", iam_endpoint="")
        far = await bench.connections.open("far")
        lab = way.profile
        other = replace(
            far.profile, region="elsewhere", modelarts_endpoint=lab.modelarts_endpoint, iam_endpoint=lab.iam_endpoint
        )
        there = Connection(other, way.credentials, bench.service)
        monkeypatch.setattr(Connection, "in_region", lambda *_: there)
        (bill,) = (await billing.now([("far", "elsewhere")])).regions
        assert bill.trouble is None and asked == ["cloud"]


def test_prices_are_edited_in_place_and_comments_stay(tmp_path: Path) -> None:
    file = PriceFile(tmp_path / "prices.toml")
    assert file.read().flavors == {}
    file.make()
    written = (tmp_path / "prices.toml").read_text("utf-8")
    file.change(flavors={"a": 1.5, "b": 2.0}, currency=None, limit=300.0)
    changed = file.change(flavors={"b": None}, currency="USD", limit=None)
    assert (changed.flavors, changed.currency, changed.monthly_limit) == ({"a": 1.5}, "USD", 300.0)
    assert file.read() == changed
    comments = [line for line in written.splitlines() if line.startswith("#")]
    assert [
        line for line in (tmp_path / "prices.toml").read_text("utf-8").splitlines() if line.startswith("#")
    ] == comments
    (tmp_path / "prices.toml").write_text("[flavors\n")
    for call in (file.read, lambda: file.change(flavors={"a": 1.0}, currency=None, limit=None)):
        with pytest.raises(InvalidInput, match=r"prices\.toml"):
            call()
    assert (tmp_path / "prices.toml").read_text() == "[flavors\n"
