"""All live jobs of an account in one look, ours or not, and what others do to ours."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from support.servers.faults import Answer
from support.servers.lab_process import LabProcess
from support.stores.way import Way
from support.waiting import until
from support.work_bench import BUCKET, SEARCHES, SHOWS, Bench, bad_line, code_in, count, over, spec
from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.errors import Conflict, InvalidInput, NotFound
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.jobs.modelarts import job_search
from traindeck.services.jobs.modelarts.job_search import live_jobs, pages
from traindeck.services.jobs.run_watch import JobsSeen

pytestmark = pytest.mark.usefixtures("no_waiting")


@pytest.fixture
def code(tmp_path: Path) -> Path:
    return code_in(tmp_path / "code")


class Shelf:
    """Answers a search as a service does that takes the offset for an index of pages, or for one of jobs."""

    def __init__(self, ids: Sequence[str], *, by_jobs: bool = False, phase: str = "Running") -> None:
        self.ids, self.by_jobs, self.phase = list(ids), by_jobs, phase
        self.offsets: list[int] = []

    async def ask(self, body: dict[str, Any]) -> Sequence[Mapping[str, Any]]:
        self.offsets.append(body["offset"])
        start = body["offset"] if self.by_jobs else body["offset"] * body["limit"]
        return [
            {"metadata": {"id": one, "name": one}, "status": {"phase": self.phase}}
            for one in self.ids[start : start + body["limit"]]
        ]


@pytest.mark.parametrize("by_jobs", [False, True])
@pytest.mark.parametrize("total", [0, 1, 49, 50, 51, 99, 100, 101, 250])
async def test_every_job_is_found_once_however_pages_are_counted(total: int, *, by_jobs: bool) -> None:
    shelf = Shelf([f"job-{number}" for number in range(total)], by_jobs=by_jobs)
    found = await live_jobs(shelf.ask)
    assert [job.id for job in found.jobs] == shelf.ids and found.is_whole
    assert len(shelf.offsets) <= total // 50 + 2


async def test_a_job_made_between_two_pages_is_not_told_twice() -> None:
    shelf = Shelf([f"job-{number}" for number in range(120)])
    found = []
    async for jobs, _ in pages(shelf.ask):
        found += [job.id for job in jobs]
        shelf.ids.insert(0, f"new-{len(found)}")
    assert len(found) == len(set(found)) and {f"job-{number}" for number in range(120)} <= set(found)


async def test_more_than_anybody_asks_for_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_search, "MOST_PAGES", 2)
    found = await live_jobs(Shelf([f"job-{number}" for number in range(101)]).ask)
    assert len(found.jobs) == 100 and not found.is_whole


async def test_a_service_that_does_not_know_the_filter_tells_no_ended_jobs_as_live() -> None:
    assert (await live_jobs(Shelf(["a", "b"], phase="Completed").ask)).jobs == ()
    assert len((await live_jobs(Shelf(["a"], phase="Hibernating").ask)).jobs) == 1  # unknown is not over


@pytest.mark.parametrize("number_of_jobs", [3, pytest.param(10, marks=pytest.mark.long)])
async def test_live_jobs_each_with_its_own_log_are_followed_with_one_search(
    lab: LabProcess, way: Way, tmp_path: Path, number_of_jobs: int
) -> None:
    async with bad_line(lab, way) as proxy, Bench(tmp_path / "home", over(proxy, way)) as bench:
        await bench.prepare()
        seen: list[JobsSeen] = []
        bench.watch.jobs_seen.add(seen.append)
        script = "import sys, time; print('I am', sys.argv, flush=True); time.sleep(4); print('done', flush=True)"
        code = code_in(tmp_path / "code", script)
        runs = await asyncio.gather(
            *(bench.submission.submit(spec(parameters=(("number", n),)), code) for n in range(number_of_jobs))
        )
        bench.watch_runs()
        for number, run in enumerate(runs):
            log = bench.logs.file(run.id)
            await until(lambda log=log, number=number: f"--number={number}'".encode() in log.read(0))
        await until(lambda: any(len(one.jobs.jobs) == number_of_jobs for one in seen))
        whole = next(one for one in seen if len(one.jobs.jobs) == number_of_jobs)
        assert {job.id for job in whole.jobs.jobs} == {run.job_id for run in runs} and whole.profile == LAB
        ended = [await bench.watch.until_over(run.id) for run in runs]
        assert {run.state for run in ended} == {RunState.COMPLETED}
        for number, run in enumerate(runs):
            log_bytes = bench.logs.file(run.id).read(0)
            assert log_bytes.count(b"I am") == 1 == log_bytes.count(b"done")
            assert f"--number={number}'".encode() in log_bytes
        # Only what is no longer among the live ones is asked about by itself.
        assert count(proxy, SHOWS) <= 2 * len(runs) and count(proxy, SEARCHES) > 3


async def test_somebody_who_looks_sees_jobs_of_others_and_nobody_asks_afterwards(
    lab: LabProcess, way: Way, code: Path, tmp_path: Path
) -> None:
    async with bad_line(lab, way) as proxy, Bench(tmp_path / "home", over(proxy, way)) as bench:
        async with Bench(tmp_path / "others", way) as others:
            await others.prepare()
            theirs = await others.submitted(code, seconds=60.0)
            bench.watch_runs()
            await asyncio.sleep(0.5)
            assert count(proxy, SEARCHES) == 0  # nothing of ours is live, and nobody looks
            with bench.watch.looking_at(LAB):
                await until(lambda: bench.watch.accounts[LAB].jobs is not None)
                jobs = bench.watch.accounts[LAB].jobs
                assert jobs is not None
                job = next(job for job in jobs.jobs if job.id == theirs.job_id)
                assert (job.name, job.flavor, job.nodes) == (theirs.name, "modelarts.vm.cpu.2u", 1)
            bench.watch.wake()
            await until(lambda: bench.watch.accounts[LAB].jobs is None)
            asked = count(proxy, SEARCHES)
            bench.watch.wake()
            await asyncio.sleep(1.2)
            assert count(proxy, SEARCHES) == asked
            await others.run_service.stop(theirs.id)
        assert await bench.records.all() == []


async def test_a_service_without_such_a_search_is_asked_about_each_run(
    lab: LabProcess, way: Way, code: Path, tmp_path: Path
) -> None:
    async with bad_line(lab, way) as proxy, Bench(tmp_path / "home", over(proxy, way)) as bench:
        await bench.prepare()
        run = await bench.submitted(code, seconds=0.3)
        proxy.only = SEARCHES
        proxy.faults.extend([Answer(400, b'{"error_code":"ModelArts.2807","error_msg":"unknown filter"}')] * 200)
        bench.watch_runs()
        assert (await bench.watch.until_over(run.id)).state is RunState.COMPLETED
        assert bench.watch.accounts[LAB].jobs is None and count(proxy, SHOWS) > 0


async def test_what_is_changed_elsewhere_arrives_and_what_is_changed_here_reaches_the_service(
    way: Way, code: Path, tmp_path: Path
) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        run = await bench.submitted(code, seconds=60.0)
        bench.watch_runs()
        with way.training() as training:
            await training.describe(run.job_id, "from the console 说明")
            await training.add_tags(run.job_id, {"team": "cv"})

            async def arrived() -> bool:
                now = await bench.records.existing(run.id)
                return now.tags == ("team=cv",) and now.spec.description == "from the console 说明"

            while not await arrived():
                await asyncio.sleep(0.05)
            await bench.run_service.notes.tag(run.id, ["baseline", "team=nlp"])
            await bench.run_service.notes.tag(run.id, [], ["nobody has this"])
            changed = await bench.run_service.notes.describe(run.id, "from here")
            assert changed.tags == ("team=nlp", "baseline")
            job = await training.show(run.job_id)
            assert job is not None and job.tags is not None
            assert set(job.tags) == {"team=nlp", "baseline"} and job.description == "from here"
            assert (await bench.run_service.notes.tag(run.id, [], ["team"])).tags == ("baseline",)
            job = await training.show(run.job_id)
            assert job is not None and job.tags == ("baseline",)
        with pytest.raises(InvalidInput):
            await bench.run_service.notes.tag(run.id, ["a,b"])
        with pytest.raises(InvalidInput):
            await bench.run_service.notes.describe(run.id, "x" * 257)
        noted = await bench.run_service.notes.note(run.id, " the good one \n")
        assert noted.note == "the good one"
        assert (await bench.run_service.notes.star(run.id, starred=True)).starred
        await bench.run_service.stop(run.id)


async def test_tags_of_a_run_whose_job_is_gone_are_kept_here(way: Way, code: Path, tmp_path: Path) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        bench.watch_runs()
        run = await bench.watch.until_over((await bench.submitted(code)).id)
        with way.training() as training:
            await training.delete(run.job_id)
        assert (await bench.run_service.notes.tag(run.id, ["kept"])).tags == ("kept",)
        assert (await bench.run_service.notes.describe(run.id, "kept")).spec.description == "kept"


async def test_a_log_that_cannot_be_kept_hides_no_state_and_is_fetched_once_it_can(
    way: Way, code: Path, tmp_path: Path
) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        run = await bench.submitted(code, lines=20)
        in_the_way = bench.paths.run(run.id) / "log"
        in_the_way.write_bytes(b"")
        bench.watch_runs()
        ended = await bench.watch.until_over(run.id)
        assert ended.state is RunState.COMPLETED and bench.watch.log_trouble is not None
        assert bench.watch.trouble(LAB) is None
        assert bench.logs.file(run.id).size() == 0, "nobody looks at it"
        with bench.logs.looking_at(run.id, "worker-0"):
            await until(lambda: b"line 19" in bench.logs.file(run.id).read(0))
            assert in_the_way.is_file() and not bench.logs.is_written(run.id, "worker-0")
        assert bench.logs.is_written(run.id, "worker-0")
        in_the_way.unlink()
        await until(lambda: b"line 19" in bench.logs.file(run.id).read(0))
        await until(lambda: bench.watch.log_trouble is None)


# -- adopting ----------------------------------------------------------------------


async def test_a_job_made_elsewhere_is_adopted_with_its_form_and_its_log(way: Way, code: Path, tmp_path: Path) -> None:
    async with Bench(tmp_path / "others", way) as others, Bench(tmp_path / "home", way) as bench:
        await others.prepare()
        theirs = await others.submitted(code, lines=7, seconds=0.5)
        adopted = await bench.adoption.adopt(theirs.job_id, LAB)
        assert (adopted.job_id, adopted.name, adopted.profile) == (theirs.job_id, theirs.name, LAB)
        form, original = adopted.filled_spec, theirs.filled_spec
        assert (form.boot, form.engine_version, form.flavor) == ("train.py", "local-python", original.flavor)
        assert [(one.name, one.place) for one in form.outputs] == [(one.name, one.place) for one in original.outputs]
        assert form.log_to == original.log_to and dict(form.parameters) == {"seconds": 0.5, "lines": 7}
        assert adopted.code_url == theirs.code_url
        document = await bench.records.document(adopted.id)
        assert document is not None and document["metadata"]["id"] == theirs.job_id
        with pytest.raises(Conflict, match="already in the list"):
            await bench.adoption.adopt(theirs.job_id, LAB)
        bench.watch_runs()
        assert (await bench.watch.until_over(adopted.id)).state is RunState.COMPLETED
        assert b"line 6" in bench.logs.file(adopted.id).read(0)
        # Its code comes here, so that what runs again is what is frozen.
        again = await bench.submission.rerun(adopted.id, changes=["lines=2"])
        assert again.resubmission_of == adopted.id and again.code_url != adopted.code_url
        assert (await bench.watch.until_over(again.id)).state is RunState.COMPLETED
        assert b"line 1" in bench.logs.file(again.id).read(0) and b"line 2" not in bench.logs.file(again.id).read(0)
        assert (await bench.run_service.kept_code.of(await bench.records.existing(adopted.id))).files == (
            await bench.run_service.kept_code.of(again)
        ).files
        assert not list(bench.paths.adopted.iterdir())
        with pytest.raises(NotFound, match="no job with the ID"):
            await bench.adoption.adopt("nobody", LAB)


async def test_one_that_ended_long_ago_is_adopted_by_its_name_and_gets_its_log(
    way: Way, code: Path, tmp_path: Path
) -> None:
    async with Bench(tmp_path / "others", way) as others, Bench(tmp_path / "home", way) as bench:
        await others.prepare()
        others.watch_runs()
        theirs = await others.watch.until_over((await others.submitted(code, lines=3)).id)
        adopted = await bench.adoption.adopt(theirs.name, LAB)
        bench.watch_runs()
        ended = await bench.watch.until_over(adopted.id)
        assert ended.state is RunState.COMPLETED and ended.duration_ms == theirs.duration_ms
        assert b"line 2" in bench.logs.file(adopted.id).read(0)


async def test_after_the_records_were_lost_our_jobs_come_back_and_those_of_others_do_not(
    way: Way, code: Path, tmp_path: Path
) -> None:
    """Not even those that a colleague's TrainDeck made with the same account: they stay to be adopted by hand."""
    home = tmp_path / "home"
    async with Bench(tmp_path / "colleague", way) as colleague:
        await colleague.prepare()
        theirs = await colleague.submitted(code, lines=1)
    async with Bench(home, way) as bench:
        bench.watch_runs()
        over_ = await bench.watch.until_over((await bench.submitted(code)).id)
        live = await bench.submitted(code, seconds=60.0)
        await _made_by_others(bench, way)
    (home / "records.db").write_bytes(b"<html>" * 5000)
    for left in ("records.db-wal", "records.db-shm"):
        (home / left).unlink(missing_ok=True)
    for run in (over_, live):
        (home / "runs" / run.id / "run.json").unlink()
    async with Bench(home, way) as bench:
        assert await bench.records.all() == [] and bench.records.recovered is not None
        bench.watch_runs()
        with bench.watch.looking_at(LAB):
            kept: list[Run] = []
            while not {over_.job_id, live.job_id} <= {run.job_id for run in kept}:
                await asyncio.sleep(0.05)
                kept = await bench.records.all()
            lost = await bench.records.lost_at()
            while await bench.adoption.is_due(LAB, lost):
                await asyncio.sleep(0.05)
            assert {run.job_id for run in await bench.records.all()} == {over_.job_id, live.job_id}
            assert (await bench.adoption.adopt(theirs.job_id, LAB)).name == theirs.name
            again = next(run for run in kept if run.job_id == live.job_id)
            await bench.run_service.stop(again.id)
            assert (await bench.watch.until_over(again.id)).state is RunState.TERMINATED


async def _made_by_others(bench: Bench, way: Way) -> None:
    """With code in a place of its own, as somebody's script does it."""
    await way.put(b"print('theirs')", ObjectPath(BUCKET, "scripts/train.py"))
    with way.training() as training:
        await training.create("theirs-1", spec(), ObjectPath(BUCKET, "scripts/"))
