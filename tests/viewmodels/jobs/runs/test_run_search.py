"""Looking for runs as the list does: the records and the logs answer, and what changes is looked for again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.folder_cloud import FolderCloud, digits_spec
from support.many_runs import add_many, over
from support.waiting import until
from traindeck.domain.jobs.job import LiveJobs, RemoteJob, Run, RunState
from traindeck.domain.jobs.run_query import Metric, RunSort
from traindeck.services.jobs.run_watch import JobsSeen
from traindeck.viewmodels.jobs.runs.run_list import OtherJob, RunList

if TYPE_CHECKING:
    from support.qt_support import Stalls

NOW = datetime.now(UTC)


def a_run(number: int, state: RunState = RunState.COMPLETED, **changes: Any) -> Run:
    run = Run(f"r{number}", number, f"digits-{number}", "lab", digits_spec(), state, NOW, job_id=f"j{number}")
    return replace(run, **changes)


@asynccontextmanager
async def searched(folder: Path, *given: Run) -> AsyncIterator[tuple[FolderCloud, RunList]]:
    async with FolderCloud(folder) as cloud:
        for run in given:
            await cloud.records.add(run)
        runs = cloud.run_list()
        runs.refresh()
        await until(lambda: runs.state.is_known)
        yield cloud, runs
        runs.close()


async def found(runs: RunList, **wanted: Any) -> list[int]:
    runs.search.clear()
    runs.search.set(**wanted)
    await until(lambda: runs.search.found is not None and not runs.search.is_searching)
    rows = map(runs.row, runs.state.rows)
    return [row.number for row in rows if isinstance(row, Run)]


async def test_words_and_filters_must_all_hold(tmp_path: Path) -> None:
    given = (
        a_run(1, RunState.FAILED, note="学习率 too high", tags=("team=cv",)),
        a_run(2, starred=True, spec=digits_spec(parameters=(("warmup", 7),))),
        a_run(3, profile="work", tags=("baseline",), ended=NOW),
        a_run(4, created=NOW - timedelta(days=40), tags=("baseline",)),
    )
    async with searched(tmp_path, *given) as (_, runs):
        assert await found(runs, words="学习率") == [1]
        assert await found(runs, words="warmup") == [2]
        assert await found(runs, states=(RunState.FAILED, RunState.RUNNING)) == [1]
        assert await found(runs, account="work") == [3]
        assert await found(runs, tag="team") == [1]
        assert await found(runs, starred=True) == [2]
        assert await found(runs, tag="baseline", days=30) == [3]
        assert await found(runs, sort=RunSort.NUMBER, ascending=True) == [1, 2, 3, 4]
        assert await found(runs, words="nobody wrote this") == []
        runs.search.clear()
        assert len(runs.state.rows) == 4 and runs.search.found is None


async def test_the_best_by_a_number_stands_first(tmp_path: Path) -> None:
    async with searched(tmp_path, a_run(1), a_run(2), a_run(3)) as (cloud, runs):
        for number, loss in ((1, 0.4), (2, 0.1)):
            await cloud.records.set_metrics(f"r{number}", {"val_loss": Metric(loss, loss, 9.0)})
        assert await found(runs, best="val_loss") == [2, 1]
        runs.search.look_for_choices()
        await until(lambda: runs.search.metrics == ("val_loss",))


async def test_logs_are_searched_where_it_is_wanted(tmp_path: Path) -> None:
    async with searched(tmp_path, a_run(1), a_run(2), a_run(3, note="diverged")) as (cloud, runs):
        file = cloud.logs.file("r1", "worker-0").path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"begin\ndiverged loss 0.1\nend\n")
        assert await found(runs, words="diverged") == [3]
        assert await found(runs, words="diverged", in_logs=True) == [3, 1]
        assert runs.search.found is not None and runs.search.found.lines == {"r1": "diverged loss 0.1"}


async def test_what_changes_is_looked_for_again(tmp_path: Path) -> None:
    async with searched(tmp_path, a_run(1, RunState.RUNNING), a_run(2)) as (cloud, runs):
        assert await found(runs, states=(RunState.RUNNING,)) == [1]
        cloud.watch.tell(await cloud.records.change("r1", state=RunState.COMPLETED))
        await until(lambda: not runs.state.rows)


async def test_jobs_of_others_stand_below_the_active_ones_and_are_adopted(tmp_path: Path) -> None:
    ours = RemoteJob("j1", "digits-1", "Running")
    sent = RemoteJob("unknown yet", "digits-9", "Creating")
    theirs = RemoteJob("x1", "somebody-elses", "Running", user="zhang")
    given = (a_run(1, RunState.RUNNING), a_run(2), a_run(9, RunState.SUBMITTING, job_id=""))
    async with searched(tmp_path, *given) as (cloud, runs):
        cloud.watch.jobs_seen.tell(JobsSeen("lab", LiveJobs((ours, sent, theirs))))
        await until(lambda: list(runs.state.rows) == ["r9", "r1", "job x1", "r2"])
        other = runs.other("job x1")
        assert isinstance(other, OtherJob) and other.state is RunState.RUNNING
        taken = await cloud.records.add(a_run(10, RunState.RUNNING, job_id="x1"))
        cloud.watch.tell(taken)
        assert "job x1" not in runs.state.rows
        cloud.watch.jobs_seen.tell(JobsSeen("lab", LiveJobs(())))
        await until(lambda: runs.other("job x1") is None)


async def test_notes_tags_and_stars_are_kept_in_the_order_they_were_made(tmp_path: Path) -> None:
    async with searched(tmp_path, a_run(1, job_id=""), a_run(2, job_id="")) as (cloud, runs):
        both = [run for run in runs.state.runs if run.id in ("r1", "r2")]
        for words in ("one", "two", "three"):
            runs.note(both[0], words)
        runs.star(both, starred=True)
        runs.tag(both, ["baseline"])

        def is_done() -> bool:
            now = runs.run(both[0].id)
            return now is not None and now.note == "three" and now.tags == ("baseline",) and now.starred

        await until(is_done)
        kept = await cloud.records.existing(both[1].id)
        assert kept.starred and kept.tags == ("baseline",)


async def test_ten_thousand_runs_are_searched_without_a_stall(tmp_path: Path, responsive: Stalls) -> None:
    async with FolderCloud(tmp_path) as cloud:
        await add_many(cloud.records, over(10_000))
        runs = cloud.run_list()
        runs.refresh()
        await until(lambda: runs.state.is_known)
        for words, count in (("d", 10_000), ("digits-99", 111), ("9999", 1)):
            runs.search.set(words=words)
            await until(lambda: not runs.search.is_searching)
            assert len(runs.state.rows) == count
        runs.search.set(words="")
        assert runs.search.found is None and len(runs.state.rows) == 10_000
        await until(lambda: runs.search.accounts == ("lab",))
        runs.close()
