"""The records follow the service, through everything that comes between."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from support.servers.faults import Answer
from support.servers.lab_process import LabProcess
from support.stores.way import Way
from support.waiting import until
from support.work_bench import SEARCHES, SHOWS, Bench, bad_line, code_in, count, over, spec
from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.errors import AppError, LocalTrouble, NotFound, ServiceTrouble, Unreachable
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.storage.objects import ObjectPath
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.clock import utc_now
from traindeck.services.http import calls as retrying
from traindeck.services.jobs import run_watch

pytestmark = pytest.mark.usefixtures("no_waiting")


@pytest.fixture
def code(tmp_path: Path) -> Path:
    return code_in(tmp_path / "code")


async def whole_log(bench: Bench, run: Run) -> bytes:
    """The log as the service put it into object storage."""
    storage = (await bench.connections.open(LAB)).storage
    folder = ObjectPath.parse(run.spec.for_run(run.name).log_to)
    pages = [page async for page in storage.entries(folder, recursive=True)]
    (entry,) = [entry for page in pages for entry in page if entry.path.key.endswith("worker-0.log")]
    received = bytearray()
    await bench.planes.run(LAB, lambda plane: plane.get(entry.path, received.extend))
    return bytes(received)


# -- following ----------------------------------------------------------------------


async def test_state_and_log_are_followed_to_the_end_and_the_log_is_whole(way: Way, code: Path, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        bench.watch_runs()
        states: list[RunState] = []
        heard: list[bytes] = []
        bench.watch.changed.add(lambda run: states.append(run.state) if run.state not in states else None)
        run = await bench.submitted(code, seconds=0.8, lines=3000)

        async def follow() -> None:
            async for block in bench.logs.follow(run.id):
                heard.append(block)

        bench.scope.start("follow", follow)
        await until(lambda: b"first" in b"".join(heard))
        assert b"last" not in b"".join(heard)  # it streams: what comes later is not there yet
        ended = await bench.watch.until_over(run.id)
        await until(lambda: not bench.scope.is_running("follow"))
        assert ended.state is RunState.COMPLETED and ended.started and ended.ended
        assert RunState.RUNNING in states and states[-1] is RunState.COMPLETED
        held = bench.logs.file(run.id, "worker-0").read(0)
        assert held == b"".join(heard) == await whole_log(bench, run)
        assert "line 2999 行\n".encode() in held and bench.logs.file(run.id).gaps() == ()
        assert bench.watch.trouble(LAB) is None and bench.watch.accounts[LAB].last_answer is not None


async def test_a_listener_that_raises_ends_no_watching(way: Way, code: Path, tmp_path: Path) -> None:
    reported: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["exception"]))

    def broken(_: object) -> None:
        raise ZeroDivisionError

    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        for listeners in (bench.watch.changed, bench.watch.connection_state, bench.submission.changed, bench.logs.grew):
            listeners.add(broken)
        heard: list[RunState] = []
        bench.watch.changed.add(lambda run: heard.append(run.state))
        bench.watch_runs()
        run = await bench.submission.submit(spec(lines=5), code, stage=broken)
        assert (await bench.watch.until_over(run.id)).state is RunState.COMPLETED
        assert heard[-1] is RunState.COMPLETED and bench.scope.is_running("watch")
        assert not bench.reported
    assert reported and {type(error) for error in reported} == {ZeroDivisionError}


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("import sys; sys.stdout.write('0123456789 行\\n' * 2_000_000)", id="30 MB at once"),
        pytest.param("import sys; sys.stdout.buffer.write('第一轮：损失值 0.5\\n'.encode('gbk') * 50)", id="GBK"),
    ],
)
async def test_the_log_is_whole_however_it_comes(way: Way, tmp_path: Path, script: str) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        bench.watch_runs()
        run = await bench.submitted(code_in(tmp_path / "code", script))
        assert (await bench.watch.until_over(run.id)).state is RunState.COMPLETED
        assert bench.logs.file(run.id, "worker-0").read(0) == await whole_log(bench, run)
        assert bench.logs.file(run.id).gaps() == ()


async def test_a_large_log_that_grows_is_asked_for_line_by_line(lab: LabProcess, way: Way, tmp_path: Path) -> None:
    """Else each look would bring its newest five megabytes."""
    script = (
        "import time\nprint(('y' * 99 + '\\n') * 15_000, end='', flush=True)\n"
        "for number in range(10_000):\n    print('line', number, '行', flush=True)\n    time.sleep(0.1)\n"
    )
    by_line = re.compile(r"GET \S*/training-jobs/[^/]+/logs/worker-0\?\S*base_line=")
    async with bad_line(lab, way) as proxy, Bench(tmp_path / "home", over(proxy, way)) as bench:
        await bench.prepare()
        bench.watch_runs()
        run = await bench.submitted(code_in(tmp_path / "code", script))
        await until(lambda: count(proxy, by_line) > 3)
        await bench.run_service.stop(run.id)
        assert (await bench.watch.until_over(run.id)).state is RunState.TERMINATED
        assert bench.logs.file(run.id, "worker-0").read(0) == await whole_log(bench, run)
        assert bench.logs.file(run.id).marks() == ()


async def test_a_job_that_fails_says_so_with_its_reason(way: Way, tmp_path: Path) -> None:
    code = code_in(tmp_path / "code", "raise SystemExit(7)")
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        bench.watch_runs()
        run = await bench.watch.until_over((await bench.submitted(code)).id)
        assert run.state is RunState.FAILED
        assert "7" in str(run.reason)


async def test_stop_shows_as_stopping_until_the_service_says_it_is_over(way: Way, code: Path, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        bench.watch_runs()
        run = await bench.submitted(code, seconds=60.0)
        stopping = await bench.run_service.stop(run.id)
        assert stopping.state is RunState.TERMINATING
        assert (await bench.watch.until_over(run.id)).state is RunState.TERMINATED


async def test_a_second_program_sees_what_the_first_does(way: Way, code: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with Bench(home, way) as first, Bench(home, way) as second:
        await first.prepare()
        second.watch_runs()
        run = await first.submitted(code, lines=50)
        assert (await second.watch.until_over(run.id)).state is RunState.COMPLETED
        assert second.logs.file(run.id, "worker-0").read(0) == await whole_log(second, run)
        gone: list[str] = []
        second.watch.gone.add(gone.append)
        other = await first.submitted(code, seconds=30.0)
        await until(lambda: second.watch._known.get(other.id) is not None)
        await first.run_service.stop(other.id)
        await first.records.remove(other.id)
        await until(lambda: gone == [other.id])
        assert second.watch.trouble(LAB) is None


async def test_a_run_removed_while_it_is_asked_about_is_no_trouble(
    lab: LabProcess, way: Way, code: Path, tmp_path: Path
) -> None:
    async with bad_line(lab, way) as proxy, Bench(tmp_path / "home", over(proxy, way)) as bench:
        await bench.prepare()
        run = await bench.submitted(code)
        gone: list[str] = []
        troubles: list[AppError | None] = []
        bench.watch.gone.add(gone.append)
        bench.watch.connection_state.add(lambda name: troubles.append(bench.watch.trouble(name)))
        stale = await bench.records.get(run.id)
        assert stale is not None
        await bench.records.remove(run.id)
        await bench.watch._become(stale, state=RunState.RUNNING)
        assert gone == [run.id]
        assert not any(troubles)


# -- what comes between ----------------------------------------------------------------------


async def test_a_job_deleted_at_the_service_ends_as_abnormal_and_stays_on_record(
    way: Way, code: Path, tmp_path: Path
) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        run = await bench.submitted(code, seconds=60.0)
        with way.training() as training:
            await training.stop(run.job_id)
            while not (job := await training.show(run.job_id)) or not job.state.is_over:
                await asyncio.sleep(0.05)
            await training.delete(run.job_id)
        bench.watch_runs()
        ended = await bench.watch.until_over(run.id)
        assert ended.state is RunState.ABNORMAL and "no longer has" in str(ended.reason) and ended.ended is not None


async def test_one_run_that_cannot_be_asked_about_does_not_hide_the_others(
    lab: LabProcess, way: Way, code: Path, tmp_path: Path
) -> None:
    async with bad_line(lab, way) as proxy, Bench(tmp_path / "home", over(proxy, way)) as bench:
        await bench.prepare()
        good = await bench.submitted(code)
        bad = await bench.submitted(code)
        proxy.only = re.compile(rf"GET \S*/training-jobs/{bad.job_id}$")
        proxy.faults.extend([Answer(500, b"broken")] * 200)
        bench.watch_runs()
        assert (await bench.watch.until_over(good.id)).state is RunState.COMPLETED
        # While it is among the live ones nobody has to ask about it.
        await until(lambda: isinstance(bench.watch.trouble(LAB), ServiceTrouble))
        proxy.faults.clear()
        assert (await bench.watch.until_over(bad.id)).state is RunState.COMPLETED


async def test_a_service_that_is_away_is_asked_less_and_less_and_found_again(
    way: Way, unused_port: int, code: Path, tmp_path: Path
) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        run = await bench.submitted(code)
        there = bench._way
        bench._way = there.at(modelarts_endpoint=f"http://127.0.0.1:{unused_port}")
        waits: list[float] = []

        def note(profile: str) -> None:
            next_look = bench.watch.accounts[profile].next_look
            assert next_look is not None
            waits.append((next_look - utc_now()).total_seconds())

        bench.watch.connection_state.add(note)
        bench.watch_runs()
        for looks in (1, 2, 3):
            await until(lambda looks=looks: len(waits) >= looks)
            assert isinstance(bench.watch.trouble(LAB), Unreachable)
            before = await bench.records.get(run.id)
            assert before is not None and before.state == run.state  # unknown is not over
            if looks < 3:
                bench.watch.wake()  # as the user asks; the back-off grows all the same
        assert waits[0] <= 1.0 < waits[2] and waits[1] <= 2.0 and waits[2] <= 4.0
        bench._way = there
        bench.watch.wake()
        assert (await bench.watch.until_over(run.id)).state is RunState.COMPLETED
        await until(lambda: bench.watch.trouble(LAB) is None)


async def test_a_service_that_says_when_to_come_back_is_left_alone_until_then(
    lab: LabProcess, way: Way, code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retrying, "PATIENCE_S", 0.0)
    async with bad_line(lab, way) as proxy, Bench(tmp_path / "home", over(proxy, way)) as bench:
        await bench.prepare()
        run = await bench.submitted(code)
        proxy.only = SHOWS
        proxy.faults.append(Answer(429, b"{}", {"Retry-After": "2"}))
        before = utc_now()
        bench.watch_runs()
        await until(lambda: bench.watch.trouble(LAB))
        next_look = bench.watch.accounts[LAB].next_look
        assert next_look is not None and next_look - before >= timedelta(seconds=2)
        seen = count(proxy, SHOWS)
        while count(proxy, SHOWS) == seen:
            bench.watch.wake()  # nobody's impatience counts
            await asyncio.sleep(0.02)
        assert utc_now() >= next_look
        assert (await bench.watch.until_over(run.id)).state is RunState.COMPLETED


async def test_nothing_is_asked_when_nothing_is_live(lab: LabProcess, way: Way, code: Path, tmp_path: Path) -> None:
    async with bad_line(lab, way) as proxy, Bench(tmp_path / "home", over(proxy, way)) as bench:
        await bench.prepare()
        bench.watch_runs()
        run = await bench.submitted(code)
        await bench.watch.until_over(run.id)
        seen = len(proxy.seen)
        bench.watch.wake()
        await asyncio.sleep(1.2)
        assert len(proxy.seen) == seen


async def test_an_open_submission_is_looked_for_until_it_is_found(
    lab: LabProcess, way: Way, code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_watch, "_SETTLE_S", (0.05, 0.1))
    async with bad_line(lab, way) as proxy, Bench(tmp_path / "home", over(proxy, way), look_ups_s=()) as bench:
        await bench.prepare()
        run = await bench.submitted(code)
        proxy.only = SEARCHES
        proxy.faults.extend([Answer(503, b"busy")] * 1000)
        await bench.records.change(run.id, state=RunState.UNCONFIRMED, job_id="", phase="")
        bench.watch_runs()
        await until(lambda: len(proxy.faults) < 990)
        still = await bench.records.get(run.id)
        assert still is not None and still.state is RunState.UNCONFIRMED
        proxy.faults.clear()
        assert (await bench.watch.until_over(run.id)).state is RunState.COMPLETED


async def test_a_lab_killed_while_a_job_runs_ends_it_as_abnormal(tmp_path: Path, calls: BlockingCalls) -> None:
    with LabProcess(tmp_path / "own" / "root") as own:
        way = Way.to(own, calls)
        async with Bench(tmp_path / "home", way) as bench:
            await bench.prepare()
            bench.watch_runs()
            run = await bench.submitted(code_in(tmp_path / "code"), seconds=60.0)
            while (now := await bench.records.get(run.id)) and now.state is not RunState.RUNNING:
                await asyncio.sleep(0.02)
            await asyncio.to_thread(own.kill)
            await until(lambda: isinstance(bench.watch.trouble(LAB), Unreachable))
            await asyncio.to_thread(own.restart)
            bench._way = Way.to(own, calls)
            bench.watch.wake()
            assert (await bench.watch.until_over(run.id)).state is RunState.ABNORMAL


async def test_why_a_job_could_not_be_run_is_asked_of_its_events(tmp_path: Path, calls: BlockingCalls) -> None:
    with LabProcess(tmp_path / "own" / "root") as own:
        way = Way.to(own, calls)
        async with Bench(tmp_path / "home", way) as bench:
            await bench.prepare()
            bench.watch_runs()
            (tmp_path / "own" / "root" / "lab.toml").write_text("[engines\n")
            run = await bench.watch.until_over((await bench.submitted(code_in(tmp_path / "code"))).id)
            assert run.state is RunState.ABNORMAL
            assert "lab.toml" in str(run.reason) and "line 1" in str(run.reason)


async def test_waiting_for_a_run_that_is_not_on_record_says_so(way: Way, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        with pytest.raises(NotFound):
            await bench.watch.until_over("nobody")


async def test_records_that_cannot_be_read_for_a_while_do_not_end_the_watch(
    way: Way, code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_watch, "_RETRIES_S", (0.05, 0.1))
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        bench.watch_runs()
        run = await bench.submitted(code, seconds=0.5)
        await until(lambda: bench.watch.accounts[LAB].last_answer)
        with closing(sqlite3.connect(bench.paths.database)) as other:
            other.execute("ALTER TABLE runs RENAME TO gone")
            other.commit()
            await until(lambda: isinstance(bench.watch.trouble(LAB), LocalTrouble))
            bench.watch.wake()
            await asyncio.sleep(0.3)
            assert bench.scope.is_running("watch") and bench.reported == []
            other.execute("ALTER TABLE gone RENAME TO runs")
            other.commit()
        assert (await bench.watch.until_over(run.id)).state is RunState.COMPLETED
        await until(lambda: bench.watch.trouble(LAB) is None)
