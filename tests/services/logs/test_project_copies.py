"""A log is copied to the folder of the code, and goes on there; what the user made of a copy is the user's."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from support.folder_cloud import FolderCloud
from support.waiting import until
from traindeck.domain.jobs.form.job_file import parse
from traindeck.domain.jobs.job import LogChunk, Run, RunState
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.services.logs.project_copies import ProjectCopies


async def started(cloud: FolderCloud, folder: Path) -> Run:
    spec = JobSpec(name="bert", code_folder=str(folder))
    run = Run("r1", 1, "bert-1", "work", spec, RunState.RUNNING, datetime.now(UTC), job_id="j")
    run = replace(run, tasks=("worker-0", "worker-1"))
    await cloud.records.add(run)
    return run


async def say(cloud: FolderCloud, whole: bytes, task: str = "worker-0") -> None:
    await cloud.logs.take("r1", task, LogChunk(whole, len(whole)))


async def test_a_copy_grows_with_its_log_and_an_edited_one_is_left_alone(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    async with FolderCloud(tmp_path) as cloud:
        run = await started(cloud, project)
        copies = ProjectCopies(cloud.records, cloud.logs, cloud.disk, lambda: True)
        await say(cloud, b"one\n\x00\xff")
        await say(cloud, b"other", "worker-1")
        first, second = await copies.copy(run)
        assert first == project / "MA_LOG" / "bert-1" / "worker-0.log" and second.read_bytes() == b"other"
        await say(cloud, b"one\n\x00\xfftwo\n")
        assert (await copies.copy(run))[0].read_bytes() == b"one\n\x00\xfftwo\n"
        if os.name == "posix":
            assert stat.S_IMODE(first.stat().st_mode) == 0o600

        first.write_bytes(b"my notes")
        beside = (await copies.copy(run))[0]
        assert first.read_bytes() == b"my notes"
        assert beside.name == "worker-0 (2).log" and beside.read_bytes() == b"one\n\x00\xfftwo\n"


@pytest.mark.parametrize("folder", ["gone", ""])
async def test_without_the_folder_of_the_code_nothing_is_made(tmp_path: Path, folder: str) -> None:
    async with FolderCloud(tmp_path) as cloud:
        run = await started(cloud, tmp_path / folder if folder else Path())
        await say(cloud, b"one\n")
        assert await ProjectCopies(cloud.records, cloud.logs, cloud.disk, lambda: True).copy(run) == []
        assert not (tmp_path / "gone").exists()


async def test_only_who_wants_them_has_copies_of_what_comes(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    wanted: list[bool] = []
    async with FolderCloud(tmp_path) as cloud:
        await started(cloud, project)
        copies = ProjectCopies(cloud.records, cloud.logs, cloud.disk, lambda: bool(wanted))
        cloud.scope.start("copies", copies.run)
        await say(cloud, b"one\n")
        await until(lambda: cloud.scope.is_running("copies"))
        wanted.append(True)
        await say(cloud, b"one\ntwo\n")
        await until((project / "MA_LOG" / "bert-1" / "worker-0.log").exists)


async def test_a_job_file_asks_for_copies_of_its_own_runs(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    spec = parse('[job]\nname = "bert"\n[logs]\ncopy = true\n')
    assert spec.log_copy
    async with FolderCloud(tmp_path) as cloud:
        run = await started(cloud, project)
        other = replace(run, id="r2", name="bert-2", spec=replace(spec, code_folder=str(project)))
        await cloud.records.add(other)
        cloud.scope.start("copies", ProjectCopies(cloud.records, cloud.logs, cloud.disk, lambda: False).run)
        await until(lambda: cloud.scope.is_running("copies"))
        await say(cloud, b"one\n")
        await cloud.logs.take("r2", "worker-0", LogChunk(b"two\n", 4))
        await until((project / "MA_LOG" / "bert-2" / "worker-0.log").exists)
        assert not (project / "MA_LOG" / "bert-1").exists()
