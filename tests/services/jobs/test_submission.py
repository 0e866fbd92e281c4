"""A job is sent exactly once, whatever happens to the answer, the line or the program."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from support.servers.faults import Answer, Reset, Stall
from support.servers.lab_process import LabProcess
from support.stores.way import Way
from support.waiting import AT_ONCE_S, until
from support.work_bench import (
    BUCKET,
    CREATES,
    SEARCHES,
    SOON_S,
    Bench,
    bad_line,
    code_in,
    count,
    jobs_named,
    over,
    spec,
)
from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.errors import (
    AppError,
    Conflict,
    InvalidInput,
    LocalTrouble,
    NotFound,
    ServiceTrouble,
    Throttled,
    Unreachable,
)
from traindeck.domain.jobs.code_choice import CodeOf
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.jobs.job_spec import Channel, Target
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import CHINESE, Text
from traindeck.runtime import language
from traindeck.services.http import calls as retrying
from traindeck.services.jobs.locks import held

ABOUT_SENDING = re.compile(f"{CREATES.pattern}|{SEARCHES.pattern}")
NAME_EXISTS = Answer(
    400,
    b'{"error_code": "ModelArts.2751", "error_msg": "exists"}',
    {"Content-Type": "application/json"},
)

pytestmark = pytest.mark.usefixtures("no_waiting")


@pytest.fixture
def code(tmp_path: Path) -> Path:
    return code_in(tmp_path / "代码 code")


def an_intent(profile: str = LAB, state: RunState = RunState.SUBMITTING, number: str = "1") -> Run:
    """What a killed program leaves in the records."""
    now = datetime.now(UTC)
    return Run(f"aabb000{number}", 0, f"job-left-{number}-{time.monotonic_ns()}", profile, spec(), state, now)


# -- one that goes well ----------------------------------------------------------------------


async def test_a_job_is_recorded_uploaded_and_sent_once(lab: LabProcess, way: Way, code: Path, tmp_path: Path) -> None:
    stages: list[str] = []

    def stage(words: Text) -> None:
        stages.append(str(words))

    async with bad_line(lab, way) as proxy, Bench(tmp_path / "home", over(proxy, way)) as bench:
        await bench.prepare()
        told: list[Run] = []
        bench.submission.changed.add(told.append)
        run = await bench.submission.submit(spec(), code, stage=stage)
        assert [each.state for each in told[:2]] == [RunState.PREPARING, RunState.SUBMITTING]
        assert run.state.is_remote and run.job_id and run.profile == LAB and run.number == 1
        assert run == await bench.records.get(run.id)
        assert ObjectPath.parse(run.code_url).join("train.py").key in await bench.objects("traindeck/code/")
        assert count(proxy, CREATES) == await jobs_named(way, run.name) == 1
    assert stages[0].startswith("Checking") and stages[-1].startswith("Submitting")


async def test_the_code_is_that_of_the_click(way: Way, code: Path, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()

        def edit_meanwhile(run: Run) -> None:
            (code / "train.py").write_text("raise SystemExit(3)", encoding="utf-8")

        bench.submission.changed.add(edit_meanwhile)
        bench.watch_runs()
        run = await bench.submitted(code)
        assert (await bench.watch.until_over(run.id)).state is RunState.COMPLETED
        assert run.spec.code_folder == str(code.absolute())


async def test_the_same_again_needs_the_folder_no_longer(way: Way, code: Path, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        bench.watch_runs()
        first = await bench.submitted(code)
        shutil.rmtree(code)
        second = await bench.submission.rerun(first.id, changes=["lines=3", "resources.stop_after=2h"])
        assert second.name != first.name and second.resubmission_of == first.id and second.bundle == first.bundle
        assert dict(second.spec.parameters)["lines"] == 3 and second.spec.stop_after == "2h"
        assert (await bench.watch.until_over(second.id)).state is RunState.COMPLETED
        assert "line 2 行" in bench.logs.file(second.id, "worker-0").read(0).decode()


async def test_five_at_once_are_five_jobs_and_share_one_connection(way: Way, code: Path, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        runs = await asyncio.gather(*(bench.submitted(code) for _ in range(5)))
        assert len({run.name for run in runs}) == len({run.job_id for run in runs}) == 5
        assert sorted(run.number for run in runs) == [1, 2, 3, 4, 5]
        assert len({run.bundle for run in runs}) == 1
        assert len(bench.made) == 1


# -- refused before anything leaves ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"flavor": ""}, InvalidInput),
        ({"parameters": (("lr", 1), ("lr", 2))}, InvalidInput),
        ({"boot": "missing.py"}, NotFound),
        ({"ignore": ("*.py",)}, InvalidInput),
        ({"code_folder": "nowhere"}, NotFound),
    ],
)
async def test_what_cannot_be_sent_sends_nothing(
    lab: LabProcess, way: Way, code: Path, tmp_path: Path, changes: dict[str, Any], kind: type[AppError]
) -> None:
    async with bad_line(lab, way) as proxy, Bench(tmp_path / "home", over(proxy, way)) as bench:
        with pytest.raises(kind):
            await bench.submission.submit(replace(spec(), **changes), code)
        assert proxy.seen == []
        assert await bench.records.all() == []


async def test_a_job_for_the_lab_is_not_sent_to_a_paid_account(way: Way, code: Path, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.add_account("paid")
        with pytest.raises(InvalidInput, match="are charged"):
            await bench.submission.submit(spec(), code, "paid")
        assert await bench.records.all() == []


async def was_not_sent(bench: Bench, why: str) -> None:
    (run,) = await bench.records.all()
    assert run.state is RunState.NOT_SENT and why in str(run.reason)


async def test_a_refusal_of_the_service_is_not_sent_and_says_why(
    lab: LabProcess, way: Way, code: Path, tmp_path: Path
) -> None:
    quota = Answer(400, b'{"error_code": "ModelArts.2815", "error_msg": "quota"}', NAME_EXISTS.headers)
    async with bad_line(lab, way) as proxy, Bench(tmp_path / "home", over(proxy, way)) as bench:
        await bench.prepare()
        proxy.faults.append(quota)
        with pytest.raises(Conflict, match="quota"):
            await bench.submitted(code)
        await was_not_sent(bench, "quota")
        assert count(proxy, CREATES) == 1 and count(proxy, SEARCHES) == 0


async def test_a_missing_bucket_stops_before_the_request(lab: LabProcess, way: Way, code: Path, tmp_path: Path) -> None:
    async with bad_line(lab, way) as proxy, Bench(tmp_path / "home", over(proxy, way)) as bench:
        elsewhere = (Channel("train_url", "obs://no-such-bucket/out/{run}/"),)
        with pytest.raises(NotFound, match="no-such-bucket"):
            await bench.submission.submit(spec(outputs=elsewhere, log_to=""), code)
        await was_not_sent(bench, "no-such-bucket")
        assert count(proxy, CREATES) == 0


async def test_a_service_that_was_never_reached_got_nothing(
    way: Way, unused_port: int, code: Path, tmp_path: Path
) -> None:
    nowhere = way.at(modelarts_endpoint=f"http://127.0.0.1:{unused_port}")
    async with Bench(tmp_path / "home", nowhere) as bench:
        await bench.prepare()
        with pytest.raises(Unreachable):
            await bench.submitted(code)
        (run,) = await bench.records.all()
        assert run.state is RunState.NOT_SENT
        in_english = str(run.reason)
        language.speak(CHINESE)
        assert str(run.reason) != in_english


# -- the answer is lost ----------------------------------------------------------------------


@pytest.mark.parametrize("fault", [Reset(served=True), Answer(502, b"<html>bad gateway"), Answer(200, b"{}")])
async def test_an_answer_that_is_lost_is_looked_up_and_never_sent_again(
    lab: LabProcess, way: Way, code: Path, tmp_path: Path, fault: Reset | Answer
) -> None:
    async with bad_line(lab, way) as proxy, Bench(tmp_path / "home", over(proxy, way)) as bench:
        await bench.prepare()
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
    lab: LabProcess, way: Way, code: Path, tmp_path: Path, on_demand: bool
) -> None:
    async with bad_line(lab, way) as proxy, Bench(tmp_path / "home", over(proxy, way)) as bench:
        await bench.prepare()
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
    lab: LabProcess, way: Way, code: Path, tmp_path: Path
) -> None:
    async with bad_line(lab, way) as proxy, Bench(tmp_path / "home", over(proxy, way)) as bench:
        await bench.prepare()
        proxy.faults.append(Reset())
        run = await bench.submitted(code)
        assert run.state is RunState.NOT_SENT and not run.job_id
        assert await bench.submission.settle() == []
        assert await bench.submission.check_again(run.id) == run
        with way.training() as training:
            late = await training.create(run.name, run.spec, ObjectPath.parse(run.code_url))
            other = replace(late, id="1234", name="somebody-elses")
        assert await bench.submission.claim("another account", [late]) == []
        (claimed,) = await bench.submission.claim(LAB, [other, late])
        assert claimed.id == run.id and claimed.job_id == late.id and claimed.state.is_remote and not claimed.reason
        assert await bench.submission.claim(LAB, [other, late]) == []
        with pytest.raises(NotFound):
            await bench.submission.check_again("nobody")


async def test_a_look_before_its_time_is_over_settles_nothing(
    lab: LabProcess, way: Way, code: Path, tmp_path: Path
) -> None:
    async with Bench(tmp_path / "home", way, look_ups_s=(30.0, 60.0)) as bench:
        run = replace(an_intent(state=RunState.UNCONFIRMED), submitted=datetime.now(UTC))
        await bench.records.add(run)
        assert (await bench.submission.check_again(run.id)).state is RunState.UNCONFIRMED


async def test_while_the_service_does_not_answer_it_stays_unconfirmed_and_is_looked_up_again(
    lab: LabProcess, way: Way, code: Path, tmp_path: Path
) -> None:
    async with bad_line(lab, way) as proxy, Bench(tmp_path / "home", over(proxy, way)) as bench:
        await bench.prepare()
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


# -- the service takes no more for now --------------------------------------------------------


THROTTLED = Answer(429, b'{"error_code": "ModelArts.2799", "error_msg": "slow"}', {"Content-Type": "application/json"})


async def test_a_service_that_takes_no_more_for_now_is_asked_again(
    lab: LabProcess, way: Way, code: Path, tmp_path: Path
) -> None:
    async with bad_line(lab, way) as proxy, Bench(tmp_path / "home", over(proxy, way)) as bench:
        await bench.prepare()
        bench.submission.throttled_s = (0.01, 0.02)
        asks_for_time = replace(THROTTLED, headers={**THROTTLED.headers, "Retry-After": "1"})
        proxy.faults.extend([THROTTLED, asks_for_time, THROTTLED])
        stages: list[str] = []
        begin = time.monotonic()
        run = await bench.submission.submit(spec(), code, stage=lambda words: stages.append(str(words)))
        assert time.monotonic() - begin >= 1.0, "as long as it asked for"
        assert run.state.is_remote and count(proxy, CREATES) == 4 and await jobs_named(way, run.name) == 1
        assert sum("limiting requests. Trying again in 1 s" in words for words in stages) == 3


async def test_who_asks_for_too_much_patience_is_told_of_at_once(
    lab: LabProcess, way: Way, code: Path, tmp_path: Path
) -> None:
    async with bad_line(lab, way) as proxy, Bench(tmp_path / "home", over(proxy, way)) as bench:
        await bench.prepare()
        proxy.faults.append(replace(THROTTLED, headers={**THROTTLED.headers, "Retry-After": "3600"}))
        with pytest.raises(Throttled):
            await bench.submitted(code)
        await was_not_sent(bench, "limiting requests")
        assert count(proxy, CREATES) == 1


async def test_stopping_while_it_waits_for_its_turn_is_not_sent(
    lab: LabProcess, way: Way, code: Path, tmp_path: Path
) -> None:
    async with bad_line(lab, way) as proxy, Bench(tmp_path / "home", over(proxy, way)) as bench:
        await bench.prepare()
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


# -- the disk -----------------------------------------------------------------------------------


def nothing_can_be_written(bench: Bench) -> None:
    """From now on, to the records; SQLite itself says so."""
    disk = bench.records._records._disk
    assert disk is not None
    bench.records._writer._pool.submit(lambda: disk.execute("PRAGMA query_only = ON")).result()


async def test_nothing_is_sent_when_the_intent_cannot_be_written(
    lab: LabProcess, way: Way, code: Path, tmp_path: Path
) -> None:
    async with bad_line(lab, way) as proxy, Bench(tmp_path / "home", over(proxy, way)) as bench:
        await bench.prepare()

        def fill(run: Run) -> None:
            if run.state is RunState.PREPARING:
                nothing_can_be_written(bench)

        bench.submission.changed.add(fill)
        with pytest.raises(LocalTrouble):
            await bench.submitted(code)
        assert count(proxy, CREATES) == 0


async def test_a_job_that_was_made_is_never_called_not_sent_for_want_of_room(
    lab: LabProcess, way: Way, code: Path, tmp_path: Path
) -> None:
    async with bad_line(lab, way) as proxy, Bench(tmp_path / "home", over(proxy, way)) as bench:
        await bench.prepare()

        def fill(run: Run) -> None:
            if run.state is RunState.SUBMITTING:
                nothing_can_be_written(bench)

        bench.submission.changed.add(fill)
        run = await bench.submitted(code)
        assert run.state.is_remote and run.job_id
        assert (await bench.records.existing(run.id)).job_id == run.job_id
        assert count(proxy, CREATES) == await jobs_named(way, run.name) == 1


# -- letting go, and another one beside ------------------------------------------------------------


async def test_one_of_which_nothing_is_known_can_be_let_go_of(way: Way, code: Path, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        run = an_intent(profile="gone", state=RunState.UNCONFIRMED)
        await bench.records.add(run)
        async with held(bench.paths.run(run.id) / "submission.lock", bench.disk):
            with pytest.raises(Conflict, match="is being submitted"):
                await bench.submission.abandon(run.id)
        await bench.submission.abandon(run.id)
        assert await bench.records.all() == []


@pytest.mark.parametrize("state", [RunState.UNCONFIRMED, RunState.SUBMITTING])
async def test_another_one_beside_an_unsettled_one_is_asked_about(
    lab: LabProcess, way: Way, code: Path, tmp_path: Path, state: RunState
) -> None:
    async with bad_line(lab, way) as proxy, Bench(tmp_path / "home", over(proxy, way)) as bench:
        await bench.prepare()
        first = await bench.submitted(code)
        lost = replace(an_intent(state=state), submitted=datetime.now(UTC))
        await bench.records.add(lost)
        with pytest.raises(Conflict, match="not known whether"):
            await bench.submission.rerun(first.id)
        asked: list[str] = []

        async def accept(beside: Sequence[Run]) -> bool:
            asked.extend(run.name for run in beside)
            return True

        bench.submission.accept_beside = accept
        assert (await bench.submission.rerun(first.id)).state.is_remote
        assert asked == [lost.name] and count(proxy, CREATES) == 2


async def test_the_code_of_now_is_that_of_the_folder(way: Way, code: Path, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        first = await bench.submitted(code)
        (code / "new.py").write_text("1", encoding="utf-8")
        then = await bench.submission.rerun(first.id)
        now = await bench.submission.rerun(first.id, code=CodeOf.NOW)
        assert then.bundle == first.bundle != now.bundle
        assert now.resubmission_of == first.id and now.profile == first.profile
        assert {file.path for file in (await bench.bundles.open(now.bundle)).files} == {"train.py", "new.py"}


async def test_a_name_that_exists_is_ours_and_adopted(lab: LabProcess, way: Way, code: Path, tmp_path: Path) -> None:
    async with bad_line(lab, way) as proxy, Bench(tmp_path / "home", over(proxy, way)) as bench:
        await bench.prepare()

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


# -- the submission is stopped, or its program dies ------------------------------------------------


async def test_stopping_before_the_request_is_not_sent(lab: LabProcess, way: Way, code: Path, tmp_path: Path) -> None:
    async with bad_line(lab, way) as proxy, Bench(tmp_path / "home", over(proxy, way)) as bench:
        await bench.prepare()
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
    lab: LabProcess, way: Way, code: Path, tmp_path: Path
) -> None:
    async with bad_line(lab, way) as proxy, Bench(tmp_path / "home", over(proxy, way)) as bench:
        await bench.prepare()
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


async def test_code_that_is_in_obs_is_used_as_it_is_and_nothing_of_this_computer_goes(
    way: Way, code: Path, tmp_path: Path
) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        folder = ObjectPath(BUCKET, "kept/code/")
        await way.put((code / "train.py").read_bytes(), folder.join("train.py"))
        run = await bench.submission.submit(spec(code_folder="", code_url=str(folder)), tmp_path)
        again = await bench.submission.rerun(run.id)
        with way.training() as training:
            for one in (run, again):
                form = await training.form(one.job_id, Target.LAB)
                assert form is not None and form.code_url == str(folder) and form.boot == "train.py"
        names = [name for run in (run, again) for name in await bench.objects(f"traindeck/code/{run.name}/")]
        assert names == []
