"""The log of a job in the cloud ends after the job: what comes late is taken, also by the program after this one."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from support.folder_cloud import FolderCloud, digits_spec
from support.waiting import until
from traindeck.domain.errors import LogGone, NoRight
from traindeck.domain.jobs.job import LogChunk, RemoteJob, Run, RunState
from traindeck.domain.texts import text
from traindeck.services.jobs import run_watch
from traindeck.services.logs.log_notes import GoneFromCloud

PACE_S = (0.02, 0.05)


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_watch, "_CLOUD_PACE_S", PACE_S)
    monkeypatch.setattr(run_watch, "_RETRIES_S", PACE_S)


async def running(cloud: FolderCloud) -> Run:
    """A job of two workers on an account in the cloud, with a first line."""
    await cloud.add_cloud_profile()
    cloud.jobs.jobs["j1"] = RemoteJob("j1", "digits", "Running", started=datetime.now(UTC))
    cloud.jobs.write(b"first\n", "j1")
    run = Run("r1", 1, "digits", "work", digits_spec(), RunState.RUNNING, datetime.now(UTC), job_id="j1")
    await cloud.records.add(run)
    return run


async def test_what_the_cloud_uploads_after_the_end_is_part_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_watch, "_LINGER", timedelta(seconds=1.5))
    async with FolderCloud(tmp_path) as cloud:
        run = await running(cloud)
        heard = bytearray()

        async def follow() -> None:
            async for block in cloud.logs.follow(run.id):
                heard.extend(block)

        cloud.scope.start("watch", cloud.watch.run)
        cloud.scope.start("follow", follow)
        await until(lambda: heard == b"first\n")
        cloud.jobs.move("Completed", "j1", duration_ms=1000)
        ended = await cloud.watch.until_over(run.id)
        assert ended.state is RunState.COMPLETED and cloud.scope.is_running("follow"), "more may come"
        cloud.jobs.write(b"the last line came late", "j1")
        await until(lambda: not cloud.scope.is_running("follow"))
        assert heard == b"first\nthe last line came late"
        assert await cloud.logs.are_whole(ended)


async def test_the_next_program_takes_what_the_last_one_did_not_live_to_see(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_watch, "_LINGER", timedelta(seconds=0.2))
    async with FolderCloud(tmp_path) as cloud:
        run = await running(cloud)
        await cloud.logs.take(run.id, "worker-0", LogChunk(b"first\n", 6))
        cloud.jobs.move("Completed", "j1")
        cloud.jobs.write(b"last\n", "j1")
        await cloud.records.change(run.id, state=RunState.COMPLETED, ended=datetime.now(UTC))
        cloud.scope.start("watch", cloud.watch.run)
        file = cloud.logs.file(run.id)
        await until(lambda: file.notes().is_whole)
        assert file.read(0) == b"first\nlast\n"


async def test_a_log_that_cannot_be_had_does_not_hide_how_the_job_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_watch, "_LINGER", timedelta(seconds=0.2))
    async with FolderCloud(tmp_path) as cloud:
        run = await running(cloud)
        given = cloud.jobs.log_tail

        async def refused(job_id: str, task: str) -> LogChunk | None:
            raise NoRight(text("No."), text("Ask."))

        monkeypatch.setattr(cloud.jobs, "log_tail", refused)
        cloud.jobs.move("Failed", "j1", exit_message="Exit code 1")
        cloud.scope.start("watch", cloud.watch.run)
        ended = await cloud.watch.until_over(run.id)
        assert ended.state is RunState.FAILED
        await asyncio.sleep(0)
        monkeypatch.setattr(cloud.jobs, "log_tail", given)
        await until(lambda: cloud.logs.file(run.id).notes().is_whole)
        assert cloud.logs.file(run.id).read(0) == b"first\n"


async def test_a_log_that_is_gone_from_the_cloud_is_whole_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FolderCloud(tmp_path) as cloud:
        run = await running(cloud)
        await cloud.logs.take(run.id, "worker-0", LogChunk(b"first\n", 6))

        async def gone(job_id: str, task: str) -> LogChunk | None:
            raise LogGone(text("The service no longer has this log."), text("It keeps logs for 30 days."))

        monkeypatch.setattr(cloud.jobs, "log_tail", gone)
        cloud.jobs.logs.clear()
        cloud.jobs.move("Completed", "j1")
        await cloud.records.change(run.id, state=RunState.COMPLETED, ended=datetime.now(UTC) - timedelta(hours=1))
        cloud.scope.start("watch", cloud.watch.run)
        file = cloud.logs.file(run.id)
        await until(lambda: file.notes().is_whole)
        (mark,) = file.marks()
        assert isinstance(mark, GoneFromCloud) and file.read(0) == b"first\n"
