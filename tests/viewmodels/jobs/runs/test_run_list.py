from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from support.folder_cloud import FolderCloud, code_folder, digits_spec, offline
from support.panel_bench import User
from support.waiting import until
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.texts import Text
from traindeck.viewmodels.jobs.runs.output_fetches import FetchWish
from traindeck.viewmodels.jobs.runs.run_list import RunList
from traindeck.viewmodels.jobs.runs.run_page import OUTPUTS, RunPage, RunPageState
from traindeck.viewmodels.jobs.runs.run_words import day_words, state_words
from traindeck.viewmodels.ports import Way

NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)


@asynccontextmanager
async def list_of(folder: Path) -> AsyncIterator[tuple[FolderCloud, RunList]]:
    async with FolderCloud(folder) as cloud:
        runs = cloud.run_list()
        yield cloud, runs
        runs.close()


async def submitted(cloud: FolderCloud, folder: Path, name: str = "digits") -> Run:
    return await cloud.submission.submit(digits_spec(name=name), code_folder(folder / "code"))


def a_run(number: int, state: RunState, **changes: Any) -> Run:
    run = Run(f"r{number}", number, f"digits-{number}", "lab", digits_spec(), state, NOW)
    return replace(run, **changes)


async def test_live_runs_stand_on_top_and_the_newest_first(tmp_path: Path) -> None:
    async with list_of(tmp_path) as (cloud, runs):
        for number, state in enumerate((RunState.RUNNING, RunState.FAILED, RunState.PENDING, RunState.COMPLETED), 1):
            await cloud.records.add(a_run(number, state))
        runs.refresh()
        assert not runs.state.is_known
        await until(lambda: runs.state.is_known)
        assert [run.number for run in runs.state.runs] == [3, 1, 4, 2]


async def test_the_list_follows_a_run_from_submission_to_its_end(tmp_path: Path) -> None:
    async with list_of(tmp_path) as (cloud, runs):
        cloud.watch_runs()
        seen: list[RunState] = []
        runs.changed.connect(lambda: seen.extend(run.state for run in runs.state.runs))
        await submitted(cloud, tmp_path)
        await until(lambda: RunState.CREATING in seen)
        cloud.jobs.move("Running")
        cloud.watch.wake()
        await until(lambda: RunState.RUNNING in seen)
        cloud.jobs.move("Completed", duration_ms=5000)
        cloud.watch.wake()
        await until(lambda: seen[-1] is RunState.COMPLETED)
        assert seen[0] is RunState.PREPARING


async def test_again_makes_one_run_however_often_the_key_repeats(tmp_path: Path) -> None:
    async with list_of(tmp_path) as (cloud, runs):
        run = await submitted(cloud, tmp_path)
        cloud.jobs.wait = asyncio.Event()
        again: list[Run] = []
        runs.submitted.connect(again.append)
        for _ in range(5):
            runs.rerun(run)
        await until(lambda: any("Submitting" in str(words) for words in runs.state.busy.values()))
        cloud.jobs.wait.set()
        await until(lambda: again)
        assert len(cloud.jobs.jobs) == 2
        assert again[0].resubmission_of == run.id
        assert runs.state.busy == {}
        runs.rerun(again[0])  # the second half of a double press: by now the new run is the selected one
        assert runs.state.busy == {}

        def asked_once_more() -> bool:
            runs.rerun(run)
            return len(again) == 2

        await until(asked_once_more)
        assert len(cloud.jobs.jobs) == 3


async def test_a_failing_rerun_is_reported_and_can_be_asked_for_again(tmp_path: Path) -> None:
    async with list_of(tmp_path) as (cloud, runs):
        run = await submitted(cloud, tmp_path)
        cloud.storage.trouble = offline()
        runs.rerun(run)
        await until(lambda: cloud.reported)
        assert runs.state.busy == {}
        failed = next(one for one in runs.state.runs if one.resubmission_of == run.id)
        assert failed.state is RunState.NOT_SENT
        assert "cannot be reached" in str(failed.reason)


async def test_stop_shows_stopping_until_the_service_says_it_is_over(tmp_path: Path) -> None:
    async with list_of(tmp_path) as (cloud, runs):
        run = await submitted(cloud, tmp_path)
        runs.refresh()
        await until(lambda: runs.state.is_known)
        asked: list[str] = []

        async def agree(question: Text, button: Text) -> bool:
            asked.append(str(button))
            return True

        async def choose(question: Text, facts: Sequence[Text], ways: Sequence[Way]) -> str:
            asked.append(" ".join(str(way.action) for way in ways))
            return ways[0].id

        runs.remove([run.id], choose)
        runs.stop([run.id, "unknown"], agree)
        await until(lambda: runs.state.runs[0].state is RunState.TERMINATING)
        cloud.watch_runs()
        await until(lambda: runs.state.runs[0].state is RunState.TERMINATED)
        runs.select(run.id)
        runs.stop([run.id], agree)
        runs.remove([run.id], choose)
        await until(lambda: not runs.state.runs)
        assert runs.state.selected_run is None
        assert not cloud.jobs.jobs
        assert asked == ["Stop", "Delete Delete with the code"]


async def test_times_tick_only_while_something_runs(tmp_path: Path) -> None:
    async with list_of(tmp_path) as (cloud, runs):
        ticks: list[int] = []
        runs.ticked.connect(lambda: ticks.append(1))
        cloud.watch.tell(a_run(1, RunState.RUNNING, started=NOW))
        await until(lambda: ticks)
        cloud.watch.tell(a_run(1, RunState.COMPLETED, started=NOW, ended=NOW))
        assert not runs._seconds.isActive()


async def test_records_that_cannot_be_read_are_said_in_place(tmp_path: Path) -> None:
    async with list_of(tmp_path) as (cloud, runs):
        await cloud.records._read(lambda db: db.execute("ALTER TABLE runs RENAME TO elsewhere"))
        runs.refresh()
        await until(lambda: runs.state.trouble is not None)
        assert not runs.state.is_known


def test_words_for_states_and_days() -> None:
    assert state_words(a_run(1, RunState.UNKNOWN, phase="Frozen")) == "Frozen"
    assert state_words(a_run(1, RunState.TERMINATED)) == "Stopped"
    noon = datetime(2025, 6, 1, 12).astimezone()
    moments = [noon - timedelta(hours=1), noon - timedelta(days=3), noon - timedelta(days=300)]
    assert [day_words(moment, noon) for moment in moments] == ["11:00", "05-29 12:00", "2024-08-05"]
    assert day_words(None, NOW) == "–"


async def test_a_page_lists_the_outputs_when_its_run_ends_and_fetches_them(tmp_path: Path) -> None:
    async with list_of(tmp_path) as (cloud, runs):
        run = await submitted(cloud, tmp_path)
        page = RunPage(runs, cloud.service, cloud.watch, cloud.scope, run.id)
        page.show_sub_page(OUTPUTS)
        await until(lambda: not page.state.outputs_are_loading)
        place = cloud.storage.root / "digits" / "out" / run.name
        place.mkdir(parents=True)
        (place / "model.bin").write_bytes(b"weights")
        cloud.jobs.move("Completed", duration_ms=1000)
        cloud.watch_runs()
        await until(lambda: page.state.run == runs.run(run.id) and page.state.outputs)
        assert [entry.path.name for entry in page.state.outputs] == ["model.bin"]
        runs.fetches.fetch(run, tmp_path / "fetched", FetchWish("*.bin"), User().choose)
        await until(lambda: page.fetch.fetched is not None and not page.fetch.is_busy)
        assert (tmp_path / "fetched" / "model.bin").read_bytes() == b"weights"
        assert {str(label): value for label, value in page.state.values}["Boot file"] == "train.py"
        page.close()


async def test_what_is_charged_is_counted_down_first_and_can_be_cancelled(tmp_path: Path) -> None:
    async with list_of(tmp_path) as (cloud, runs):
        run = replace(await submitted(cloud, tmp_path), profile="work")
        shown: list[int] = []
        runs.again.changed.connect(lambda: shown.append(runs.again.countdown.seconds if runs.again.countdown else 0))
        runs.again._steps.setInterval(1)
        for _ in range(5):
            runs.rerun(run)
        assert shown == [5], "five presses are one"
        runs.again.cancel()
        assert shown == [5, 0] and runs.state.busy == {} and len(cloud.jobs.jobs) == 1
        sent: list[Run] = []
        runs.again._send = sent.append
        runs.rerun(run)
        await until(lambda: sent)
        assert shown == [5, 0, 5, 4, 3, 2, 1, 0] and sent == [run]


async def test_the_neighbour_of_a_run_that_goes_is_selected(tmp_path: Path) -> None:
    async with list_of(tmp_path) as (cloud, runs):
        for number in (1, 2, 3):
            await cloud.records.add(a_run(number, RunState.COMPLETED))
        runs.select("r2")
        cloud.watch.tell(a_run(4, RunState.RUNNING))
        assert runs.state.selected == "r2", "what was selected the last time may not be read yet"
        runs.refresh()
        await until(lambda: runs.state.is_known)
        assert runs.state.selected == "r2"
        cloud.watch.forget("r2")
        assert runs.state.selected == "r1"
        cloud.watch.forget("r1")
        assert runs.state.selected == "r3"


def test_what_was_sent_is_told_in_words() -> None:
    spec = digits_spec(ignore=("data/", "out/"), preemptible=True)
    run = Run("r", 1, "digits", "lab", spec, RunState.COMPLETED, datetime.now(UTC))
    told = {str(label): words for label, words in RunPageState(run).values}
    assert (told["Excluded from the code"], told["Preemptible"]) == ("data/, out/", "yes")
