"""The log of a run read as it grows, with the numbers somebody follows."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from support.folder_cloud import digits_spec
from support.read_runs import read_runs, write_log
from support.reading_corpora import FAILURES
from support.waiting import until
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.readings.curves import SmallCurve
from traindeck.domain.readings.log_reader import LogReader
from traindeck.domain.readings.phases import JobEvent
from traindeck.domain.readings.reading import LogReading, seconds_after
from traindeck.domain.readings.tracking import tracked_number
from traindeck.services.jobs.modelarts.documents import event_of
from traindeck.services.readings.explaining import LogExplaining
from traindeck.services.readings.run_phases import RunPhases
from traindeck.services.readings.shipped import progress_patterns
from traindeck.store.curve_file import kept_curve
from traindeck.viewmodels.readings.reading_feed import ReadingFeed

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)


def a_run(state: RunState = RunState.RUNNING) -> Run:
    return Run("r1", 1, "digits-1", "lab", digits_spec(), state, NOW, job_id="j1", started=NOW)


async def test_what_comes_is_added_to_what_was_read_and_a_log_that_begins_anew_is_read_anew(tmp_path: Path) -> None:
    async with read_runs(tmp_path, a_run()) as (cloud, _, feed):
        lines = [f"epoch {epoch}/9 loss {1 / epoch:.3f} fill <{epoch}>\n".encode() for epoch in range(1, 10)]
        for count in (3, 4, 9):
            write_log(cloud, a_run(), b"".join(lines[:count]))
            reading = await feed.readings.of(a_run())
            assert reading.values.values["epoch"] == count and reading.values.series["loss"].count == count
        line = lines[0].decode()
        begin = line.index("<") + 1
        feed.readings.tracked.track(a_run().spec.name, tracked_number(line, begin, begin + 1, "fill"))
        assert (await feed.readings.of(a_run())).values.values["fill"] == 9
        write_log(cloud, a_run(), b"epoch 1/9 loss 7.0\n")
        assert (await feed.readings.of(a_run())).values.values["loss"] == 7
        assert (await feed.readings.of(a_run())).failure is None


async def test_workers_are_one_training(tmp_path: Path) -> None:
    """Some frameworks have the loss on the last worker only; a training is as far as its slowest worker."""
    run = replace(a_run(), tasks=("worker-0", "worker-1", "worker-2"))
    async with read_runs(tmp_path, run) as (cloud, _, feed):
        write_log(cloud, run, b"".join(b"epoch %d/10 lr 0.1\n" % epoch for epoch in range(1, 7)))
        write_log(cloud, run, b"Preparing\n", "worker-1")
        last = b"".join(b"epoch %d/10 loss %.1f lr 0.2\n" % (epoch, 9 - epoch) for epoch in range(1, 6))
        write_log(cloud, run, last, "worker-2")
        values = (await feed.readings.of(run)).values
        assert (values.values["epoch"], values.values["epochs"], values.values["loss"]) == (5, 10, 4)
        assert values.values["lr"] == 0.1 and values.series["lr"].count == 6, "each number has one curve"
        assert values.series["loss"].count == 5 and values.speaking_for("loss") is not None
        write_log(cloud, run, last + b"epoch 6/10 loss nan\n", "worker-2")
        bad = (await feed.readings.of(run)).values.not_finite
        assert bad is not None and (bad.worker, bad.name) == ("worker-2", "loss")
        explained = (await LogExplaining(cloud.logs, cloud.disk).run(run)).reading
        assert explained.values["epoch"] == 6 and math.isnan(explained.values["loss"])


async def test_a_worker_that_waited_in_vain_does_not_speak_for_the_one_that_ended_before(tmp_path: Path) -> None:
    run = replace(a_run(RunState.FAILED), tasks=("worker-0", "worker-1"))
    async with read_runs(tmp_path, run) as (cloud, _, _feed):
        write_log(cloud, run, b"[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5)\n")
        mistake = b"Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\nKeyError: 'image'\n"
        write_log(cloud, run, mistake, "worker-1")
        failure, worker = await LogExplaining(cloud.logs, cloud.disk).failure(run)
        assert failure is not None and (failure.rule, worker) == ("script-mistake", "worker-1")


@pytest.mark.parametrize(
    ("began", "has_clock", "after"),
    [(1000.0 + 8 * 3600, False, 100.0), (1000.0, False, 100.0), (1000.0, True, 100.0), (880.0, True, 0.0),
     (900.0 + 5 * 3600 + 60, False, 0.0), (None, False, 0.0)],
)  # fmt: skip
def test_values_are_counted_from_the_start_of_the_job_whatever_zone_its_lines_have(
    began: float | None, has_clock: bool, after: float
) -> None:
    reading = LogReading(began=began, has_clock=has_clock)
    assert seconds_after(reading, 900.0, (0.0, 8 * 3600.0), 900.0 + 3600) == after


@pytest.mark.parametrize("stamp", ["2026-03-02 09:00:30 ", ""])
def test_lines_that_came_late_are_not_taken_to_be_written_late(stamp: str) -> None:
    reader = LogReader(progress_patterns())
    arrived = NOW.timestamp() + 45
    reader.take(f"{stamp}step 1 loss 0.5\n".encode(), arrived)
    reading = reader.reading(arrived)
    assert reading.has_clock is not bool(stamp)
    assert seconds_after(reading, NOW.timestamp(), (0.0,), arrived) == (30 if stamp else 45)


async def test_a_failure_is_looked_for_when_the_run_is_over(tmp_path: Path) -> None:
    async with read_runs(tmp_path, a_run()) as (cloud, _, feed):
        write_log(cloud, a_run(), (FAILURES / "real" / "label.log").read_bytes())
        assert (await feed.readings.of(a_run())).failure is None
        failure = (await feed.readings.of(a_run(RunState.FAILED))).failure
        assert failure is not None and failure.rule == "label-range"


async def test_where_the_time_went_is_asked_of_the_service(tmp_path: Path) -> None:
    async with read_runs(tmp_path, a_run()) as (cloud, _, feed):
        cloud.jobs.told = [JobEvent(NOW, "job is queuing"), JobEvent(NOW.replace(minute=5), "Downloading the code")]
        found = await feed.phases.of(a_run(), NOW.replace(minute=7))
        assert [(one.name, one.seconds, one.is_over) for one in found] == [("queue", 300, True), ("code", 120, False)]


async def test_of_a_run_that_is_over_the_service_is_asked_once(tmp_path: Path) -> None:
    """Also after another start: with the last run in sight, each start loaded the SDK for it."""
    run = a_run(RunState.COMPLETED)
    async with read_runs(tmp_path, run) as (cloud, _, feed):
        cloud.jobs.told = [JobEvent(NOW, "job is queuing"), JobEvent(NOW.replace(minute=5), "Downloading the code")]
        found = await feed.phases.of(run, NOW.replace(minute=7))
        cloud.jobs.told = []
        assert found and await RunPhases(cloud.connections, cloud.disk, cloud.paths.run_phases).of(run, NOW) == found
        cloud.paths.run_phases(run.id).write_text('[{"name": 1', "utf-8")
        assert await feed.phases.of(run, NOW) == []


def test_an_event_that_says_no_time_or_nothing_is_none() -> None:
    assert event_of({"time": "2025-11-18T16:03:11+08:00", "message": "x"}) is not None
    assert event_of({"time": "soon", "message": "x"}) is None is event_of({"time": "2025-11-18T16:03:11+08:00"})
    assert event_of({"time": None, "message": "x"}) is None


def losses(count: int) -> bytes:
    return b"".join(b"step %d loss %.4f\n" % (step, 1 / step) for step in range(1, count + 1))


async def shown_curve(feed: ReadingFeed, run: Run) -> SmallCurve:
    """As the list shows it, once it is known."""
    await until(lambda: feed.curve_of(run) is not None)
    found = feed.curve_of(run)
    assert found is not None
    return found


async def test_the_small_curve_of_a_run_that_ended_unseen_is_read_from_a_small_log(tmp_path: Path) -> None:
    small, long, silent = (replace(a_run(RunState.FAILED), id=name) for name in ("small", "long", "silent"))
    async with read_runs(tmp_path) as (cloud, _, feed):
        write_log(cloud, small, losses(30))
        write_log(cloud, long, losses(90_000))
        write_log(cloud, silent, b"nothing to see\n")
        assert len((await shown_curve(feed, small)).values) == 30
        assert (await shown_curve(feed, long)).values == () == (await shown_curve(feed, silent)).values
        assert [cloud.paths.run_curve(one.id).exists() for one in (small, long, silent)] == [True, False, True]
        write_log(cloud, small, losses(31))  # the rest of it came
        assert len((await shown_curve(feed, small)).values) == 31
        assert kept_curve(cloud.paths.run_curve(small.id)) == await shown_curve(feed, small)


@pytest.mark.parametrize(
    "words", ["{", "[]", '{"values": [NaN], "is_bad": false, "log_bytes": 1}', '{"values": 7}', "[" * 9000]
)
async def test_a_kept_curve_that_is_damaged_is_read_anew(tmp_path: Path, words: str) -> None:
    run = a_run(RunState.COMPLETED)
    async with read_runs(tmp_path) as (cloud, _, feed):
        write_log(cloud, run, losses(5))
        cloud.paths.run_curve(run.id).write_text(words, "utf-8")
        assert len((await shown_curve(feed, run)).values) == 5
