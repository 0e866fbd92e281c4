"""A submission is stopped, or its program dies: what was sent is found, what was not is known not to be."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.servers.faults import Answer, Stall
from support.servers.lab_process import LabProcess
from support.stores.way import Way
from support.waiting import AT_ONCE_S, until
from support.work_bench import (
    CREATES,
    SEARCHES,
    Bench,
    Sending,
    an_intent,
    bad_line,
    count,
    jobs_named,
    over,
    spec,
    was_not_sent,
)
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.texts import Text

THROTTLED = Answer(429, b'{"error_code": "ModelArts.2799", "error_msg": "slow"}', {"Content-Type": "application/json"})

pytestmark = pytest.mark.usefixtures("no_waiting")


SENDER = """
import asyncio, os, sys
from dataclasses import replace
from pathlib import Path
from traindeck.domain.accounts.profiles import Profile, Provider
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.runtime.blocking import BlockingCalls
from support.stores.way import Way
from support.work_bench import Bench, spec

home, code, obs, modelarts, project, region = sys.argv[1:]

async def main():
    profile = Profile("lab", Provider.LAB, region, obs, modelarts, modelarts, project)
    keys = Credentials(os.environ["AK"], Secret(os.environ["SK"]))
    async with Bench(Path(home), Way(profile, keys, BlockingCalls(1, "unused"))) as bench:
        await bench.submission.submit(spec(), Path(code))

asyncio.run(main())
"""


def sender(home: Path, code: Path, way: Way) -> subprocess.Popen[bytes]:
    """Another program that submits."""
    profile = way.profile
    places = [str(home), str(code), profile.obs_endpoint, profile.modelarts_endpoint]
    tests = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    keys = {"AK": way.credentials.access_key, "SK": way.credentials.secret_key.reveal(), "PYTHONPATH": tests}
    return subprocess.Popen(
        [sys.executable, "-c", SENDER, *places, profile.project_id, profile.region], env=os.environ | keys
    )


async def test_stopping_while_it_waits_for_its_turn_is_not_sent(sending: Sending, code: Path) -> None:
    async with sending() as (proxy, bench):
        bench.submission.throttled_s = (100.0, 100.0)
        proxy.faults.append(THROTTLED)
        waiting = asyncio.Event()

        def stage(words: Text) -> None:
            if "again in" in str(words):
                waiting.set()

        task = asyncio.ensure_future(bench.submission.submit(spec(), code, stage=stage))
        await waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await was_not_sent(bench, "Stopped before")


async def test_stopping_before_the_request_is_not_sent(sending: Sending, code: Path) -> None:
    async with sending() as (proxy, bench):
        tasks: list[asyncio.Task[Run]] = []

        def cancel(run: Run) -> None:
            if run.state is RunState.PREPARING:
                tasks[0].cancel()

        bench.submission.changed.add(cancel)
        tasks.append(asyncio.ensure_future(bench.submitted(code)))
        with pytest.raises(asyncio.CancelledError):
            await tasks[0]
        await was_not_sent(bench, "Stopped before")
        assert count(proxy, CREATES) == 0


async def test_stopping_while_the_request_is_under_way_leaves_it_to_be_settled(
    sending: Sending, way: Way, code: Path
) -> None:
    async with sending() as (proxy, bench):
        proxy.faults.append(Stall())
        task = asyncio.ensure_future(bench.submitted(code))
        await until(lambda: count(proxy, CREATES))
        (run,) = await bench.records.all()
        while not await jobs_named(way, run.name):
            await asyncio.sleep(0.01)
        begin = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.monotonic() - begin < AT_ONCE_S
        (run,) = await bench.records.all()
        assert run.state is RunState.SUBMITTING
        (settled,) = await bench.submission.settle()
        assert settled.job_id and settled.state.is_remote
        assert count(proxy, CREATES) == await jobs_named(way, run.name) == 1


async def test_a_program_killed_between_intent_and_answer_leaves_one_job_that_is_adopted(
    lab: LabProcess, way: Way, code: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    async with bad_line(lab, way) as proxy, Bench(home, over(proxy, way)) as bench:
        await bench.prepare()
        proxy.faults.append(Stall())
        process = sender(home, code, over(proxy, way))
        try:
            await until(lambda: count(proxy, CREATES))
            (run,) = await bench.records.all()
            assert run.state is RunState.SUBMITTING
            # Still at it: another program leaves it alone, on demand too.
            assert await bench.submission.settle() == []
            assert await bench.submission.check_again(run.id) == run
            assert count(proxy, SEARCHES) == 0
            while not await jobs_named(way, run.name):  # the proxy saw it; what it hands on takes its time
                pass
        finally:
            process.kill()
            await asyncio.to_thread(process.wait, 10)
    async with Bench(home, way) as bench:
        (settled,) = await bench.submission.settle()
        assert (settled.id, settled.state.is_remote) == (run.id, True)
        assert await jobs_named(way, run.name) == 1
        bench.watch_runs()
        assert (await bench.watch.until_over(run.id)).state is RunState.COMPLETED
        assert bench.logs.file(run.id).size() > 0


async def test_a_program_that_died_before_sending_sent_nothing(lab: LabProcess, way: Way, tmp_path: Path) -> None:
    async with bad_line(lab, way) as proxy, Bench(tmp_path / "home", over(proxy, way)) as bench:
        await bench.records.add(an_intent(state=RunState.PREPARING))
        (settled,) = await bench.submission.settle()
        assert settled.state is RunState.NOT_SENT
        assert proxy.seen == []


async def test_five_programs_that_start_at_once_adopt_it_once(
    lab: LabProcess, way: Way, code: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    async with bad_line(lab, way) as proxy, Bench(home, over(proxy, way)) as first:
        await first.prepare()
        run = await first.submitted(code)
        await first.records.change(run.id, state=RunState.SUBMITTING, job_id="", phase="")
        programs = [Bench(home, over(proxy, way)) for _ in range(4)]
        opened = [first, *[await program.__aenter__() for program in programs]]
        try:
            settled = await asyncio.gather(*(program.submission.settle() for program in opened))
        finally:
            for program in programs:
                await program.__aexit__(None, None, None)
        assert [each.id for runs in settled for each in runs] == [run.id]
        assert count(proxy, CREATES) == count(proxy, SEARCHES) == 1
