"""The services as both faces of the program get them: built in order, closed in order, with no secret on the way."""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from support.servers.faults import FaultyProxy, Stall
from support.servers.silent import SilentServer
from support.stores.way import Way
from support.waiting import AT_ONCE_S, PATIENT_S, until
from support.work_bench import BUCKET, CREATES, code_in, spec
from traindeck.assembly.core import Core
from traindeck.assembly.lab_link import LabLife
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import LAB, Profile, Provider
from traindeck.domain.errors import AppError, LocalTrouble
from traindeck.domain.jobs.form import job_file
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.lab import LabOwner, LabState
from traindeck.runtime.tasks import TaskScope
from traindeck.store.paths import Paths


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(tmp_path / "家 home")


async def ready(core: Core) -> None:
    await (await core.connections.open(LAB)).storage.create_bucket(BUCKET)


async def watched(core: Core, scope: TaskScope, run: Run) -> Run:
    scope.start("watch", core.watch.run)
    return await core.watch.until_over(run.id)


def reported(name: str, error: AppError) -> None:
    raise AssertionError(f"{name}: {error}")


async def test_a_job_goes_through_and_is_on_record_for_the_next_start(paths: Paths, tmp_path: Path) -> None:
    async with Core(paths, lab_life=LabLife.OWNED) as core, TaskScope(reported) as scope:
        await ready(core)
        run = await core.submission.submit(spec(lines=3), code_in(tmp_path / "code"))
        assert (await watched(core, scope, run)).state is RunState.COMPLETED
        choices = await core.choices.load(LAB)
        assert choices.engines and choices.flavors
    assert not (paths.lab / "running.json").exists()
    async with Core(paths) as core:
        (again,) = await core.records.all()
        assert again.id == run.id and again.state is RunState.COMPLETED
        assert b"line 2" in core.logs.file(run.id, "worker-0").read(0)
    assert not (paths.lab / "running.json").exists()  # looking at records starts no Lab


async def test_who_ends_leaves_a_lab_alive_in_which_another_program_has_a_job(paths: Paths, tmp_path: Path) -> None:
    """The first of two programs over one home began the Lab; each has a job in it."""
    code = code_in(tmp_path / "code")
    async with Core(paths) as second:
        async with Core(paths, lab_life=LabLife.OWNED) as first:
            await ready(first)
            mine = await first.submission.submit(spec(seconds=600.0), code)
            theirs = await second.submission.submit(spec(seconds=600.0), code)
        # The word to carry on alone is on its way to it.
        while (sight := await second.lab_keeper.look()).owner is not LabOwner.NOBODY:
            assert sight.state is LabState.RUNNING
            await asyncio.sleep(0.02)
        training = (await second.connections.open(LAB)).training
        async with TaskScope(reported) as scope:
            scope.start("watch", second.watch.run)
            assert (await second.watch.until_over(mine.id)).state is RunState.TERMINATED, "ours ended with us"
            other = await training.show(theirs.job_id)
            assert other is not None and not other.state.is_over
            await second.run_service.stop(theirs.id)
            await second.watch.until_over(theirs.id)
        await second.lab_keeper.stop()
    assert not (paths.lab / "running.json").exists()


async def test_a_lab_killed_under_a_running_job_is_started_again_and_the_run_ends(paths: Paths, tmp_path: Path) -> None:
    async with Core(paths, lab_life=LabLife.OWNED) as core, TaskScope(reported) as scope:
        await ready(core)
        run = await core.submission.submit(spec(seconds=60.0), code_in(tmp_path / "code"))
        scope.start("watch", core.watch.run)
        while (now := await core.records.existing(run.id)).state is not RunState.RUNNING:
            await asyncio.sleep(0.05)
        first = (await core.lab.address()).instance
        lab = psutil.Process(json.loads((paths.lab / "running.json").read_text())["pid"])
        jobs = lab.children(recursive=True)
        lab.kill()
        ended = await core.watch.until_over(run.id)
        assert ended.state is RunState.ABNORMAL and "ended unexpectedly" in str(ended.reason)
        assert (await core.lab.address()).instance != first
        assert now.job_id == ended.job_id
        psutil.wait_procs(jobs, timeout=PATIENT_S)
        assert not any(job.is_running() for job in jobs)
        second = await core.submission.rerun(run.id, changes=["seconds=0"])
        assert (await core.watch.until_over(second.id)).state is RunState.COMPLETED


async def test_leaving_while_a_server_is_silent_takes_no_time(paths: Paths) -> None:
    before = set(threading.enumerate())
    async with SilentServer() as server:
        url = f"http://127.0.0.1:{server.port}"
        async with Core(paths) as core:
            profile = Profile("away", Provider.MODELARTS, "cn-north-4", url, url, url, "project")
            await core.profiles.add(profile, Credentials("AKEXAMPLE1", Secret("SKEXAMPLE1")), this_session_only=True)
            async with TaskScope(reported) as scope:

                async def check() -> None:
                    await core.profiles.check("away")

                async def load() -> None:
                    await core.choices.load("away")

                scope.start("check", check)
                scope.start("load", load)
                await until(lambda: server.heard)
                begin = time.monotonic()
        assert time.monotonic() - begin < AT_ONCE_S
    await until(lambda: set(threading.enumerate()) <= before | {threading.current_thread()})


async def test_leaving_while_a_submission_is_under_way_leaves_it_for_the_next_start(
    paths: Paths, tmp_path: Path
) -> None:
    async with Core(paths, lab_life=LabLife.OWNED) as owner:
        await ready(owner)
        connection = await owner.connections.open(LAB)
        address = await owner.lab.address()
        way = Way(address.profile, address.credentials, owner.disk)
        async with FaultyProxy(address.profile.modelarts_endpoint, way.resign) as proxy:
            await owner.profiles.add(
                Profile("line", Provider.MODELARTS, connection.profile.region, address.profile.obs_endpoint, proxy.url,
                        proxy.url, connection.profile.project_id),
                address.credentials, this_session_only=True,
            )  # fmt: skip
            cloud_spec = job_file.with_setting(spec(), "job.target=modelarts")
            async with TaskScope(reported) as scope:

                async def submit() -> None:
                    await owner.submission.submit(cloud_spec, code_in(tmp_path / "code"), "line")

                proxy.only = CREATES
                proxy.faults.append(Stall())
                scope.start("submit", submit)
                await until(lambda: any(line.endswith("/training-jobs") for line in proxy.seen))
                while await connection.training.find_by_name((await owner.records.all())[0].name) is None:
                    await asyncio.sleep(0.02)
            (run,) = await owner.records.all()
            assert run.state is RunState.SUBMITTING
            (settled,) = await owner.submission.settle()
            assert settled.job_id and settled.state.is_remote


async def test_a_home_that_is_a_file_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("", encoding="utf-8")
    with pytest.raises(LocalTrouble):
        async with Core(Paths(tmp_path / "home")):
            raise AssertionError("nothing can work there")


async def test_records_of_a_newer_program_are_left_alone_and_everything_is_closed(paths: Paths) -> None:
    async with Core(paths):
        pass
    with closing(sqlite3.connect(paths.database)) as database:
        database.execute("PRAGMA user_version = 999")
    content = paths.database.read_bytes()
    handlers = list(logging.getLogger().handlers)
    with pytest.raises(LocalTrouble, match="newer TrainDeck"):
        async with Core(paths):
            raise AssertionError("it must not open")
    assert paths.database.read_bytes() == content
    assert logging.getLogger().handlers == handlers


def test_the_services_load_no_qt() -> None:
    program = (
        "import sys, traindeck.assembly.core\n"
        "print([name for name in sys.modules if name.startswith(('PySide6', 'qasync', 'obs', 'huaweicloud'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENT_S, check=True
    )
    assert done.stdout.strip() == "[]"
