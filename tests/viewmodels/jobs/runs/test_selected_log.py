from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from support.folder_cloud import FolderCloud, digits_spec
from support.read_runs import read_runs, write_log
from support.reading_corpora import FAILURES
from support.waiting import until
from traindeck.domain.jobs.job import LAB_ENDED, Run, RunState
from traindeck.viewmodels.jobs.runs.selected_log import SelectedLog
from traindeck.viewmodels.logs.log_feed import LogFeed

NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)


async def test_the_log_shows_the_run_that_is_selected_in_the_end(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        for number in range(1, 6):
            run = Run(f"r{number}", number, f"digits-{number}", "lab", digits_spec(), RunState.COMPLETED, NOW)
            await cloud.records.add(run)
        runs = cloud.run_list()
        log = LogFeed(cloud.logs, cloud.watch, cloud.disk, cloud.scope)
        SelectedLog(runs, log)
        shown: list[str] = []
        log.cleared.connect(lambda: shown.append("another"))
        runs.refresh()
        await until(lambda: log.state.run is not None)
        assert log.state.run == runs.run("r5")
        for number in (4, 3, 2, 1):  # through the list, key by key
            runs.select(f"r{number}")
        await until(lambda: log.state.run == runs.run("r1"))
        assert shown == ["another", "another"], "those on the way were not read"
        log.close()
        runs.close()


async def test_the_log_of_a_failed_run_says_why_as_soon_as_that_is_read(tmp_path: Path) -> None:
    run = Run("r1", 1, "digits-1", "lab", digits_spec(), RunState.FAILED, NOW, job_id="j1", reason="Exit code 1")
    async with read_runs(tmp_path, run) as (cloud, runs, _):
        write_log(cloud, run, (FAILURES / "real" / "label.log").read_bytes())
        log = LogFeed(cloud.logs, cloud.watch, cloud.disk, cloud.scope)
        SelectedLog(runs, log)
        runs.refresh()
        await until(lambda: log.state.failure is not None)
        assert log.state.failure is not None and log.state.failure.rule == "label-range"
        log.close()


async def test_a_run_that_the_lab_lost_is_marked_in_the_view_and_not_in_the_file(tmp_path: Path) -> None:
    async with FolderCloud(tmp_path) as cloud:
        run = await cloud.records.add(
            Run("r1", 1, "digits-1", "lab", digits_spec(), RunState.ABNORMAL, NOW, reason=LAB_ENDED)
        )
        file = cloud.paths.run_log("r1", "worker-0")
        file.parent.mkdir(parents=True)
        file.write_bytes(b"epoch 1\nepo")
        log = LogFeed(cloud.logs, cloud.watch, cloud.disk, cloud.scope)
        log.show(run)
        await until(lambda: log.lines.rows == 3 and log.lines.want(0, 3))
        first, second, mark = (log.lines.row(number) for number in range(3))
        assert (first.words, second.words) == ("epoch 1", "epo")
        assert "started again" in str(mark.mark)
        assert file.read_bytes() == b"epoch 1\nepo"
        log.close()
