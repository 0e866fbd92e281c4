"""A loss that becomes NaN is found while the run is live, or when the program starts after its end; once."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from support.folder_cloud import digits_spec
from support.read_runs import read_runs, write_log
from support.waiting import until
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.jobs.run_query import Metric
from traindeck.services.notices.nan_guard import NanFound, NanGuard

LOSSES = b"".join(b"step %d loss %.4f\n" % (step, 1 / step) for step in range(1, 20))


def a_run(run_id: str, number: int, state: RunState) -> Run:
    now = datetime.now(UTC)
    return Run(run_id, number, run_id, "lab", digits_spec(), state, now, job_id=f"job-{run_id}", tasks=("worker-0",))


async def test_what_becomes_nan_while_it_runs_is_found_once(tmp_path: Path) -> None:
    run, other = a_run("r1", 1, RunState.RUNNING), a_run("r2", 2, RunState.RUNNING)
    async with read_runs(tmp_path, run, other) as (cloud, _, feed):
        guard, found = NanGuard(cloud.records, cloud.watch, cloud.logs, feed.readings.of), list[NanFound]()
        guard.found.add(found.append)
        cloud.scope.start("guard", guard.run)
        write_log(cloud, run, LOSSES + b"step 20 loss nan lr 0.1\nstep 21 loss 0.04 throughput inf\n")
        write_log(cloud, other, LOSSES + b"step 20 loss NaN\n")
        await until(lambda: found)
        assert (found[0].run.id, found[0].bad.name, found[0].bad.worker) == ("r2", "loss", "worker-0")
        assert found[0].bad.offset == len(LOSSES) and math.isnan(found[0].bad.value)
        write_log(cloud, other, LOSSES + b"step 20 loss NaN\n" * 9)
        write_log(cloud, run, LOSSES + b"step 20 loss nan lr 0.1\nstep 21 loss inf\n")
        await until(lambda: len(found) > 1)
        assert [(one.run.id, one.bad.value) for one in found][1:] == [("r1", math.inf)]
        cloud.scope.cancel("guard")


async def test_a_run_that_ended_in_nan_while_no_window_was_open_is_found_at_the_start(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    ended, fine = (replace(a_run(f"r{at}", at, RunState.COMPLETED), ended=now) for at in (1, 2))
    async with read_runs(tmp_path, ended, fine) as (cloud, _, feed):
        write_log(cloud, ended, LOSSES + b"step 20 loss nan\n")
        write_log(cloud, fine, LOSSES)
        await cloud.records.set_metrics("r1", {"loss": Metric(math.nan, 0.05, 1.0)})
        await cloud.records.set_metrics("r2", {"loss": Metric(0.05, 0.05, 1.0)})
        (measured,) = await cloud.records.measured([ended])
        assert math.isnan(measured.metrics["loss"].last), "SQLite would make NULL of it"
        guard, found = NanGuard(cloud.records, cloud.watch, cloud.logs, feed.readings.of), list[NanFound]()
        guard.found.add(found.append)
        cloud.scope.start("guard", guard.run)
        await until(lambda: found)
        assert [one.run.id for one in found] == ["r1"]
        cloud.scope.cancel("guard")
