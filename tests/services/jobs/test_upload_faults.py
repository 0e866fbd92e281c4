"""The upload of the code breaks in the middle: it ends settled, nothing is lost, and another try makes one job."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from services.jobs.code.test_code_upload import is_identical
from support.servers.lab_control import Control
from support.servers.lab_process import LabProcess
from support.servers.rotating_account import RotatingAccount
from support.stores.way import Way
from support.work_bench import Bench, code_in, jobs_named, spec
from traindeck.domain.accounts.profiles import LAB, Profile, Provider
from traindeck.domain.errors import AppError, KeysRefused, NotFound, ServiceTrouble
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.jobs.job_spec import Channel
from traindeck.domain.texts import Text
from traindeck.services.jobs.code import code_upload

pytestmark = pytest.mark.usefixtures("no_waiting")

PUT_BLOB = {"service": "obs", "operation": "*", "resource": "/*/traindeck/blobs/*"}
COPY = {"service": "obs", "operation": "*", "resource": "/*/traindeck/code/*.py"}
MANIFEST = {"service": "obs", "operation": "*", "resource": "/*/traindeck/code/*/manifest.json"}
SOME = 5
ROTATING = "rotating-upload"


@pytest.fixture
def control(lab: LabProcess) -> Iterator[Control]:
    control = Control(lab.root)
    yield control
    assert control.call("DELETE")[0] == 200


@pytest.fixture
def account(lab: LabProcess) -> RotatingAccount:
    return RotatingAccount(lab.root)


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """With contents of its own: the tests share a bucket."""
    folder = code_in(tmp_path / "code")
    for number in range(12):
        (folder / f"m{number}.py").write_text(f"# {tmp_path.name} {number}\n", encoding="utf-8")
    return folder


@asynccontextmanager
async def program(
    lab: LabProcess, way: Way, account: RotatingAccount, home: Path, *, waits: bool
) -> AsyncIterator[Bench]:
    """With an account whose keys change."""
    profile = Profile(
        "mine", Provider.MODELARTS, lab.region, obs_endpoint=lab.obs, modelarts_endpoint=lab.modelarts,
        iam_endpoint=lab.iam,
    )  # fmt: skip
    async with Bench(home, way, waits_for_keys=waits) as bench:
        await bench.profiles.add(profile, account.keys, replace_old=True, this_session_only=True)
        await (await bench.connections.open("mine")).storage.create_bucket(ROTATING)
        yield bench


def of_mine() -> dict[str, Any]:
    return {
        "target": "modelarts", "outputs": (Channel("train_url", f"obs://{ROTATING}/out/{{run}}/"),), "log_to": "",
    }  # fmt: skip


async def was_not_sent(bench: Bench, error: AppError) -> Run:
    run = (await bench.records.all())[0]
    assert run.state is RunState.NOT_SENT and str(error.title) in str(run.reason) and not run.job_id
    return run


async def is_one_job(bench: Bench, way: Way, run: Run, before: Run) -> None:
    """This one was made, and of the one that broke off none; nothing of either is open."""
    assert run.state.is_remote and await jobs_named(way, run.name) == 1 and await jobs_named(way, before.name) == 0
    assert await is_identical(bench, run)
    assert await bench.submission.settle() == []


@pytest.mark.parametrize("where", [PUT_BLOB, COPY, MANIFEST], ids=["upload", "copy", "manifest"])
async def test_a_service_that_is_busy_for_a_moment_is_asked_again(
    way: Way, control: Control, code: Path, tmp_path: Path, where: dict[str, str]
) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        skip = 0 if where is MANIFEST else SOME
        control.rules({"kind": "error", "status": 503, "skip": skip, "count": 2, **where})
        run = await bench.submitted(code)
        assert await is_identical(bench, run) and await jobs_named(way, run.name) == 1


@pytest.mark.parametrize("status", [500, 503])
@pytest.mark.parametrize("where", [PUT_BLOB, COPY, MANIFEST], ids=["upload", "copy", "manifest"])
async def test_a_service_that_stays_busy_ends_it_and_the_next_try_makes_one_job(
    way: Way, control: Control, code: Path, tmp_path: Path, where: dict[str, str], status: int
) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        skip = 0 if where is MANIFEST else SOME
        control.rules({"kind": "error", "status": status, "skip": skip, **where})
        with pytest.raises(ServiceTrouble) as refused:
            await bench.submitted(code)
        before = await was_not_sent(bench, refused.value)
        assert control.call("DELETE")[0] == 200
        await is_one_job(bench, way, await bench.submission.rerun(before.id), before)


@pytest.mark.parametrize("kind", ["lost-request", "lost-answer"])
@pytest.mark.parametrize("where", [PUT_BLOB, COPY], ids=["upload", "copy"])
async def test_lines_that_break_in_the_middle_cost_nothing(
    way: Way, control: Control, code: Path, tmp_path: Path, where: dict[str, str], kind: str
) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        control.rules({"kind": kind, "skip": SOME, "count": 3, **where})
        run = await bench.submitted(code)
        assert await is_identical(bench, run) and await jobs_named(way, run.name) == 1


EXPIRED = (
    {"kind": "expired-key"},
    {"kind": "error", "status": 403, "code": "ExpiredToken"},
    {"kind": "error", "status": 403, "code": "InvalidToken"},
)


@pytest.mark.parametrize("expired", EXPIRED, ids=["key", "ExpiredToken", "InvalidToken"])
@pytest.mark.parametrize("where", [PUT_BLOB, COPY], ids=["upload", "copy"])
async def test_a_key_or_token_that_expires_in_the_middle_ends_it_and_a_new_one_goes_on(
    way: Way, control: Control, code: Path, tmp_path: Path, where: dict[str, str], expired: dict[str, Any]
) -> None:
    async with Bench(tmp_path / "home", way) as bench:
        await bench.prepare()
        control.rules({**expired, "skip": SOME, **where})
        with pytest.raises(KeysRefused) as refused:
            await bench.submitted(code)
        before = await was_not_sent(bench, refused.value)
        assert control.call("DELETE")[0] == 200
        bench.connections.release(LAB)
        await is_one_job(bench, way, await bench.submission.rerun(before.id), before)


@pytest.fixture(autouse=True)
def every_file_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else some are passed over, by how fast the machine is."""
    monkeypatch.setattr(code_upload, "_TOLD_S", 0.0)


def at_file(number: int, act: Callable[[], None]) -> Callable[[Text], None]:
    """A watcher of the stages that acts once when this many files are there."""
    done: list[bool] = []

    def stage(words: Text) -> None:
        if not done and str(words).startswith(f"Uploading the code: {number} of"):
            done.append(True)
            act()

    return stage


async def test_keys_that_are_rotated_in_the_middle_are_waited_for(
    lab: LabProcess, way: Way, account: RotatingAccount, code: Path, tmp_path: Path
) -> None:
    async with program(lab, way, account, tmp_path / "home", waits=True) as bench:
        stages: list[str] = []
        rotate = at_file(3, account.rotate)

        def stage(words: Text) -> None:
            rotate(words)
            stages.append(str(words))
            if "Waiting for new ones" in str(words):
                bench.secrets.keep("mine", account.keys)
                bench.connections.release("mine")

        run = await bench.submission.submit(spec(**of_mine()), code, "mine", stage=stage)
        assert run.state.is_remote and any("Waiting for new ones" in words for words in stages)
        assert len(await bench.records.all()) == 1


async def test_keys_that_are_refused_in_the_middle_end_it_where_nobody_can_give_others(
    lab: LabProcess, way: Way, account: RotatingAccount, code: Path, tmp_path: Path
) -> None:
    async with program(lab, way, account, tmp_path / "home", waits=False) as bench:
        stage = at_file(3, account.rotate)
        with pytest.raises(KeysRefused) as refused:
            await bench.submission.submit(spec(**of_mine()), code, "mine", stage=stage)
        before = await was_not_sent(bench, refused.value)
        bench.secrets.keep("mine", account.keys)
        run = await bench.submission.rerun(before.id)
        assert run.state.is_remote and await bench.submission.settle() == []


async def test_a_bucket_that_vanishes_in_the_middle_is_named_and_the_next_try_sends_it_all(
    way: Way, control: Control, code: Path, tmp_path: Path
) -> None:
    bucket = "vanishing"
    form = spec(outputs=(Channel("train_url", f"obs://{bucket}/out/{{run}}/"),), log_to="")
    async with Bench(tmp_path / "home", way) as bench:
        lab = await bench.connections.open(LAB)
        await lab.storage.create_bucket(bucket)
        control.rules({"kind": "latency", "seconds": 1.0, **PUT_BLOB})  # the files are on their way meanwhile
        tasks: list[asyncio.Task[None]] = []

        def vanish(run: Run) -> None:
            if run.state is RunState.PREPARING and not tasks:
                tasks.append(asyncio.ensure_future(lab.access.remove(bucket)))

        bench.submission.changed.add(vanish)
        with pytest.raises(NotFound, match=bucket) as refused:
            await bench.submission.submit(form, code)
        await asyncio.gather(*tasks)
        before = await was_not_sent(bench, refused.value)
        assert control.call("DELETE")[0] == 200
        await lab.storage.create_bucket(bucket)
        await is_one_job(bench, way, await bench.submission.rerun(before.id), before)


async def test_a_quota_that_is_used_up_in_the_middle_says_so(way: Way, code: Path, tmp_path: Path) -> None:
    bucket = "small-quota"
    form = spec(outputs=(Channel("train_url", f"obs://{bucket}/out/{{run}}/"),), log_to="")
    async with Bench(tmp_path / "home", way) as bench:
        lab = await bench.connections.open(LAB)
        await lab.storage.create_bucket(bucket)
        await lab.settings.set_quota(bucket, 100)
        with pytest.raises(AppError) as refused:
            await bench.submission.submit(form, code)
        assert "quota" in refused.value.sentence().lower()
        before = await was_not_sent(bench, refused.value)
        await lab.settings.set_quota(bucket, 0)
        await is_one_job(bench, way, await bench.submission.rerun(before.id), before)
