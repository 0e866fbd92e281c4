"""An answer that is lost is looked up and never sent again; what becomes known late is taken in."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from support.servers.faults import Answer, Reset
from support.stores.way import Way
from support.waiting import AT_ONCE_S
from support.work_bench import (
    CREATES,
    SEARCHES,
    SOON_S,
    Bench,
    Sending,
    an_intent,
    code_in,
    count,
    jobs_named,
    spec,
)
from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.errors import (
    AppError,
    Conflict,
    NotFound,
    ServiceTrouble,
)
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.http import calls as retrying
from traindeck.services.jobs.locks import held

ABOUT_SENDING = re.compile(f"{CREATES.pattern}|{SEARCHES.pattern}")
NAME_EXISTS = Answer(
    400,
    b'{"error_code": "ModelArts.2751", "error_msg": "exists"}',
    {"Content-Type": "application/json"},
)

pytestmark = pytest.mark.usefixtures("no_waiting")


@pytest.mark.parametrize("fault", [Reset(served=True), Answer(502, b"<html>bad gateway"), Answer(200, b"{}")])
async def test_an_answer_that_is_lost_is_looked_up_and_never_sent_again(
    sending: Sending, way: Way, code: Path, fault: Reset | Answer
) -> None:
    async with sending() as (proxy, bench):
        proxy.faults.append(fault)
        stages: list[str] = []
        run = await bench.submission.submit(spec(), code, stage=lambda words: stages.append(str(words)))
        arrived = isinstance(fault, Reset)
        assert run.state.is_remote is arrived
        assert count(proxy, CREATES) == 1
        assert await jobs_named(way, run.name) == arrived
        assert stages[-1] == "No response. Checking whether the job was submitted…"
        if not arrived:
            assert run.state is RunState.NOT_SENT and "responded that it has no job of this name" in str(run.reason)
            assert run.checked and f"{run.checked.astimezone():%Y-%m-%d %H:%M}" in str(run.reason)
            assert count(proxy, SEARCHES) == 4  # at each of the moments


@pytest.mark.parametrize("on_demand", [True, False])
async def test_one_that_could_not_be_looked_up_is_found_later(
    sending: Sending, way: Way, code: Path, on_demand: bool
) -> None:
    async with sending() as (proxy, bench):
        proxy.only = ABOUT_SENDING
        looks = len(SOON_S) * retrying.TRIES
        proxy.faults.extend([Reset(served=True), *[Answer(503, b"busy")] * looks])
        run = await bench.submitted(code)
        assert run.state is RunState.UNCONFIRMED
        assert "could not be looked up" in str(run.reason) and "may exist and be charged" in str(run.reason)
        proxy.faults.extend([Answer(503, b"busy")] * retrying.TRIES)
        with pytest.raises(ServiceTrouble):
            await bench.submission.check_again(run.id)
        assert await bench.records.get(run.id) == run
        settled = [await bench.submission.check_again(run.id)] if on_demand else await bench.submission.settle()
        assert [each.id for each in settled] == [run.id]
        assert settled[0].state.is_remote and settled[0].job_id and settled[0].reason == ""
        assert count(proxy, CREATES) == await jobs_named(way, run.name) == 1
        assert await bench.submission.check_again(run.id) == settled[0]
        assert await bench.submission.settle() == []


async def test_one_that_never_arrived_is_settled_and_a_late_one_is_taken_back(
    sending: Sending, way: Way, code: Path
) -> None:
    async with sending() as (proxy, bench):
        proxy.faults.append(Reset())
        run = await bench.submitted(code)
        assert run.state is RunState.NOT_SENT and not run.job_id
        assert await bench.submission.settle() == []
        looked_up = await bench.submission.check_again(run.id)
        assert looked_up.checked and run.checked and looked_up.checked > run.checked
        assert looked_up == replace(run, checked=looked_up.checked)
        with way.training() as training:
            late = await training.create(run.name, run.spec, ObjectPath.parse(run.code_url))
            other = replace(late, id="1234", name="somebody-elses")
        assert await bench.submission.claim("another account", [late]) == []
        (claimed,) = await bench.submission.claim(LAB, [other, late])
        assert claimed.id == run.id and claimed.job_id == late.id and claimed.state.is_remote and not claimed.reason
        assert await bench.submission.claim(LAB, [other, late]) == []
        with pytest.raises(NotFound):
            await bench.submission.check_again("nobody")


async def test_a_look_before_its_time_is_over_settles_nothing(way: Way, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way, look_ups_s=(30.0, 60.0)) as bench:
        run = replace(an_intent(state=RunState.UNCONFIRMED), submitted=datetime.now(UTC))
        await bench.records.add(run)
        assert (await bench.submission.check_again(run.id)).state is RunState.UNCONFIRMED


async def test_while_the_service_does_not_answer_it_stays_unconfirmed_and_is_looked_up_again(
    sending: Sending, code: Path
) -> None:
    async with sending() as (proxy, bench):
        proxy.only = ABOUT_SENDING
        looks = len(SOON_S) * retrying.TRIES
        proxy.faults.extend([Reset(), *[Answer(503, b"busy")] * looks])
        run = await bench.submitted(code)
        assert run.state is RunState.UNCONFIRMED
        proxy.faults.extend([Answer(503, b"busy")] * retrying.TRIES)
        with pytest.raises(ServiceTrouble):
            await bench.submission.settle()
        assert (await bench.records.existing(run.id)).state is RunState.UNCONFIRMED
        (settled,) = await bench.submission.settle()
        assert settled.state is RunState.NOT_SENT and count(proxy, CREATES) == 1


async def test_a_name_that_exists_is_ours_and_adopted(sending: Sending, way: Way, code: Path) -> None:
    async with sending() as (proxy, bench):

        async def arrived_before(run: Run) -> None:
            with way.training() as training:
                await training.create(run.name, run.spec, ObjectPath.parse(run.code_url))

        tasks: list[asyncio.Task[None]] = []

        def send_it_first(run: Run) -> None:
            if run.state is RunState.SUBMITTING and not tasks:
                tasks.append(asyncio.ensure_future(arrived_before(run)))

        bench.submission.changed.add(send_it_first)
        proxy.faults.append(NAME_EXISTS)
        run = await bench.submitted(code)
        await tasks[0]
        assert run.state.is_remote and run.job_id
        assert count(proxy, CREATES) == 1
        assert await jobs_named(way, run.name) == 1


async def test_one_of_which_nothing_is_known_can_be_let_go_of(way: Way, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        run = an_intent(profile="gone", state=RunState.UNCONFIRMED)
        await bench.records.add(run)
        async with held(bench.paths.run(run.id) / "submission.lock", bench.disk):
            with pytest.raises(Conflict, match="is being submitted"):
                await bench.submission.abandon(run.id)
        await bench.submission.abandon(run.id)
        assert await bench.records.all() == []


async def test_an_intent_whose_job_is_over_by_now_still_gets_its_log_and_times(way: Way, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        run = await bench.submitted(code_in(tmp_path / "code"), lines=5)
        with way.training() as training:
            while not (job := await training.show(run.job_id)) or not job.state.is_over:
                await asyncio.sleep(0.05)
        await bench.records.change(run.id, state=RunState.SUBMITTING, job_id="", phase="")
        (adopted,) = await bench.submission.settle()
        assert not adopted.state.is_over
        bench.watch_runs()
        ended = await bench.watch.until_over(run.id)
        assert ended.state is RunState.COMPLETED and ended.started and ended.duration_ms is not None
        assert "\nlast\n" in bench.logs.file(run.id, "worker-0").read(0).decode()


async def test_one_account_that_does_not_answer_keeps_no_other_waiting(
    way: Way, unused_port: int, code: Path, tmp_path: Path
) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        await bench.add_account("away", modelarts_endpoint=f"http://127.0.0.1:{unused_port}")
        arrived = await bench.submitted(code)
        await bench.records.change(arrived.id, state=RunState.SUBMITTING, job_id="", phase="")
        away = await bench.records.add(an_intent("away", number="2"))
        gone = await bench.records.add(an_intent("no such profile", number="3"))
        unsent = await bench.records.add(an_intent("away", RunState.PREPARING, number="4"))
        with pytest.raises(AppError):
            await bench.submission.settle()
        after = {run.id: run.state for run in await bench.records.all()}
        assert after[arrived.id].is_remote
        assert after[away.id] is after[gone.id] is RunState.SUBMITTING
        assert after[unsent.id] is RunState.NOT_SENT


async def test_an_old_intent_is_looked_for_once_a_fresh_one_until_its_last_moment(way: Way, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way, look_ups_s=(30.0, 60.0)) as bench:
        run = an_intent()
        await bench.records.add(replace(run, submitted=datetime.now(UTC) - timedelta(seconds=61)))
        async with asyncio.timeout(AT_ONCE_S):
            (settled,) = await bench.submission.settle()
        (after,) = await bench.records.all()
        assert after == settled and after.state is RunState.NOT_SENT
