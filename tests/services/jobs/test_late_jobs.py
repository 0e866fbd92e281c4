"""Jobs that arrive after their submission was given up belong to the runs that sent them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from support.servers.faults import Answer, Reset
from support.stores.way import Way
from support.waiting import until
from support.work_bench import SEARCHES, Bench, Sending, an_intent, code_in, count, spec
from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.errors import AppError, Conflict
from traindeck.domain.jobs.job import RemoteJob, Run, RunState
from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.jobs import run_watch
from traindeck.services.jobs.locks import held

pytestmark = pytest.mark.usefixtures("no_waiting")
HOUR = timedelta(hours=1)


async def arrives(way: Way, run: Run) -> RemoteJob:
    with way.training() as training:
        return await training.create(run.name, run.spec, ObjectPath.parse(run.code_url))


async def given_up(bench: Bench, number: int, age: timedelta = timedelta()) -> Run:
    at = datetime.now(UTC) - age
    run = replace(an_intent(state=RunState.NOT_SENT, number=str(number)), submitted=at, checked=at)
    return await bench.records.add(replace(run, id=f"aabb{number:04}"))


async def test_settling_finds_it_without_a_live_run(sending: Sending, way: Way, code: Path) -> None:
    async with sending() as (proxy, bench):
        proxy.faults.append(Reset())
        run = await bench.submitted(code)
        job = await arrives(way, run)
        (claimed,) = await bench.submission.settle()
        assert (claimed.id, claimed.job_id) == (run.id, job.id) and claimed.reason == ""
        assert await bench.submission.settle() == []
        bench.watch_runs()
        assert (await bench.watch.until_over(run.id)).state is RunState.COMPLETED
        assert len(await bench.records.all()) == 1


async def test_the_watch_finds_it_without_a_live_run(
    sending: Sending, way: Way, code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_watch, "_SETTLE_S", (0.05, 0.1))
    async with sending() as (proxy, bench):
        proxy.faults.append(Reset())
        run = await bench.submitted(code)
        bench.watch_runs()
        job = await arrives(way, run)
        ended: list[Run] = []
        bench.watch.changed.add(lambda one: ended.append(one) if one.state is RunState.COMPLETED else None)
        await until(lambda: bool(ended))
        assert (ended[0].id, ended[0].job_id) == (run.id, job.id)


async def test_many_are_found_with_one_list_and_settled_for_good_after_an_hour(
    sending: Sending, way: Way, code: Path
) -> None:
    async with sending() as (proxy, bench):
        young = [await given_up(bench, number) for number in range(4)]
        old = [await given_up(bench, number, 2 * HOUR) for number in range(4, 8)]
        sent = await bench.submitted(code)
        job = await arrives(way, replace(old[0], code_url=sent.code_url))
        proxy.seen.clear()
        (claimed,) = await bench.submission.settle()
        assert (claimed.id, claimed.job_id) == (old[0].id, job.id) and count(proxy, SEARCHES) == 1
        assert {run.id for run in await bench.records.late()} == {run.id for run in young}
        proxy.seen.clear()
        assert await bench.submission.settle() == [] and count(proxy, SEARCHES) == len(young)


async def test_one_that_was_refused_is_not_looked_for(sending: Sending, code: Path) -> None:
    async with sending() as (_, bench):
        with pytest.raises(Exception, match="engine"):
            await bench.submitted(code, engine="Nonsense", engine_version="nonsense")
        (run,) = await bench.records.all()
        assert run.state is RunState.NOT_SENT and await bench.records.late() == []


async def test_the_job_of_a_refusal_that_was_none_is_claimed(sending: Sending, way: Way, code: Path) -> None:
    page = Answer(403, b"<!DOCTYPE html><html><body>Blocked</body></html>", {"Content-Type": "text/html"})
    async with sending() as (proxy, bench):
        proxy.faults.append(page)
        with pytest.raises(AppError):
            await bench.submitted(code)
        (run,) = await bench.records.all()
        assert run.state is RunState.NOT_SENT and await bench.records.late() == []
        (claimed,) = await bench.submission.claim(LAB, [await arrives(way, run)])
        assert claimed.id == run.id and claimed.job_id


async def test_an_account_that_does_not_answer_keeps_nothing_from_being_settled(
    way: Way, unused_port: int, code: Path, tmp_path: Path
) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        await bench.add_account("away", modelarts_endpoint=f"http://127.0.0.1:{unused_port}")
        away = await given_up(bench, 1)
        await bench.records.change(away.id, profile="away")
        gone = await given_up(bench, 2)
        await bench.records.change(gone.id, profile="no such account")
        sent = await bench.submitted(code)
        late = await given_up(bench, 3)
        await arrives(way, replace(late, code_url=sent.code_url))
        assert [run.id for run in await bench.submission.settle()] == [late.id]
        assert {run.id for run in await bench.records.late()} == {away.id, gone.id}


async def test_a_lab_that_does_not_run_is_not_started_for_it(way: Way, tmp_path: Path) -> None:
    async def no(_: str) -> bool:
        return False

    async with Bench(tmp_path / "home", way) as bench:
        bench.submission.may_ask = no
        await given_up(bench, 1)
        assert await bench.submission.settle() == [] and bench.made == []


async def test_one_of_an_account_that_does_not_answer_is_looked_for_for_some_days_alone(
    way: Way, tmp_path: Path
) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        old, young = await given_up(bench, 1, 8 * 24 * HOUR), await given_up(bench, 2, 6 * 24 * HOUR)
        assert {run.id for run in await bench.records.late()} == {old.id, young.id}, "their code is kept"
        assert [run.id for run in await bench.records.late(datetime.now(UTC))] == [young.id]
        assert await bench.submission.settle(()) == [] and bench.made == []


async def test_adopting_it_makes_no_second_record(way: Way, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        sent = await bench.submitted(code_in(tmp_path / "code"))
        late = await given_up(bench, 1)
        job = await arrives(way, replace(late, code_url=sent.code_url))
        async with held(bench.paths.run(late.id) / "submission.lock", bench.disk):
            with pytest.raises(Conflict, match="is being submitted"):
                await bench.adoption.adopt(job.id, LAB)
        adopted = await bench.adoption.adopt(late.name, LAB)
        assert (adopted.id, adopted.job_id) == (late.id, job.id)
        assert len(await bench.records.all()) == 2
        other = await arrives(way, replace(sent, name="made-elsewhere", spec=spec()))
        assert (await bench.adoption.adopt(other.id, LAB)).number == 3
