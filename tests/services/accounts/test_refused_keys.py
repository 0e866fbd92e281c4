"""Keys that are taken away in the middle of the work: it all waits, and goes on with new ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from support.servers.lab_control import Control
from support.servers.lab_process import LabProcess
from support.servers.rotating_account import RotatingAccount
from support.stores.way import Way
from support.waiting import until
from support.work_bench import BUCKET, Bench, code_in, spec
from traindeck.domain.accounts.keys import Credentials
from traindeck.domain.accounts.profiles import Profile, Provider
from traindeck.domain.errors import KeysRefused
from traindeck.domain.jobs.job import RunState
from traindeck.domain.jobs.job_spec import Channel
from traindeck.domain.storage.objects import Bucket, ObjectPath
from traindeck.domain.transfers.orders import Kind, Order
from traindeck.domain.transfers.records import TransferState, WaitsFor
from traindeck.services.accounts import connections
from traindeck.services.accounts.secrets import Secrets
from traindeck.services.transfers import active
from traindeck.services.transfers.engine import TransferEngine

pytestmark = pytest.mark.usefixtures("no_waiting")


@pytest.fixture
def account(lab: LabProcess) -> RotatingAccount:
    return RotatingAccount(lab.root)


def profile_at(lab: LabProcess) -> Profile:
    return Profile(
        "mine", Provider.MODELARTS, lab.region, obs_endpoint=lab.obs, modelarts_endpoint=lab.modelarts,
        iam_endpoint=lab.iam,
    )  # fmt: skip


@asynccontextmanager
async def program(
    lab: LabProcess, way: Way, account: RotatingAccount, home: Path, *, waits: bool = True
) -> AsyncIterator[Bench]:
    async with Bench(home, way, waits_for_keys=waits) as bench:
        await bench.profiles.add(profile_at(lab), account.keys, replace_old=True, this_session_only=True)
        storage = (await bench.connections.open("mine")).storage
        await storage.create_bucket("rotating-bucket")
        yield bench


def mine(seconds: float = 0.0) -> dict[str, Any]:
    return {
        "target": "modelarts",
        "outputs": (Channel("train_url", "obs://rotating-bucket/out/{run}/"),),
        "log_to": "obs://rotating-bucket/log/{run}/",
        "parameters": (("seconds", seconds), ("lines", 3)),
    }


async def test_everything_waits_with_one_word_and_goes_on_with_new_keys(
    lab: LabProcess, way: Way, account: RotatingAccount, tmp_path: Path
) -> None:
    async with program(lab, way, account, tmp_path / "home") as bench:
        news: list[tuple[str, bool]] = []
        bench.connections.keys_refused.add(
            lambda name: news.append((name, bench.connections.refusal(name) is not None))
        )
        bench.watch_runs()
        code = code_in(tmp_path / "code")
        run = await bench.submission.submit(spec(**mine(seconds=3.0)), code, "mine")
        await until(lambda: bench.logs.file(run.id).size() > 0)

        account.rotate()
        await until(lambda: bench.connections.refusal("mine") is not None)
        assert isinstance(bench.watch.trouble("mine"), KeysRefused)
        stages: list[str] = []
        (tmp_path / "more").mkdir()
        for number in range(5):
            (tmp_path / "more" / f"{number}").write_bytes(b"x" * 1000)
        sending = asyncio.create_task(
            bench.submission.submit(spec(**mine()), code, "mine", stage=lambda words: stages.append(str(words)))
        )
        moving = asyncio.create_task(
            bench.transfers.upload("mine", tmp_path / "more", ObjectPath("rotating-bucket", "more/"))
        )
        await until(lambda: any("Waiting for new ones" in words for words in stages))
        await until(lambda: [row.waits_for for row in bench.transfers.rows()] == [WaitsFor.KEYS])
        assert not sending.done() and not moving.done()
        assert news == [("mine", True)], "one word for all of them"

        await bench.profiles.add(profile_at(lab), account.keys, replace_old=True, this_session_only=True)
        assert await moving == 5
        second = await sending
        assert (await bench.watch.until_over(second.id)).state is RunState.COMPLETED
        assert (await bench.watch.until_over(run.id)).state is RunState.COMPLETED
        assert b"last" in bench.logs.file(run.id).read(0)
        assert news == [("mine", True), ("mine", False)]
        assert bench.reported == []


async def test_refused_keys_are_not_shown_to_the_service_again(
    lab: LabProcess, way: Way, account: RotatingAccount, tmp_path: Path
) -> None:
    async with program(lab, way, account, tmp_path / "home", waits=False) as bench:
        account.rotate()
        storage = (await bench.connections.open("mine")).storage
        with pytest.raises(KeysRefused):
            await storage.buckets()
        made = len(bench.made)
        for _ in range(3):
            with pytest.raises(KeysRefused):
                await bench.connections.open("mine")
        assert len(bench.made) == made
        # Where nobody can give others, work ends at once.
        with pytest.raises(KeysRefused):
            await bench.transfers.upload("mine", code_in(tmp_path / "code"), ObjectPath("rotating-bucket", "x/"))
        # A check asks the service itself, and what it proves holds for all.
        assert (await bench.profiles.check("mine")).accepted is False
        assert bench.connections.refusal("mine") is not None
        bench.secrets.keep("mine", account.keys)
        assert (await bench.profiles.check("mine")).accepted is True
        assert bench.connections.refusal("mine") is None


async def test_transfers_hold_keys_that_were_refused_elsewhere(
    lab: LabProcess, way: Way, account: RotatingAccount, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(active, "FIRST_WAIT_S", 3600.0)
    (tmp_path / "large").write_bytes(bytes(60_000_000))
    async with program(lab, way, account, tmp_path / "home") as bench:
        bench.transfers.set_rate(500_000.0)
        target = ObjectPath("rotating-bucket", "large")
        number = await bench.transfers.begin(Order(Kind.UPLOAD, "mine", str(tmp_path / "large"), str(target)))
        await until(lambda: any(row.done_bytes for row in bench.transfers.rows()))
        account.rotate()
        with pytest.raises(KeysRefused):
            await (await bench.connections.open("mine")).storage.buckets()
        assert isinstance(bench.watch.trouble("mine"), KeysRefused), "nothing is watched, and it knows all the same"
        await until(lambda: [row.waits_for for row in bench.transfers.rows()] == [WaitsFor.KEYS])

        await bench.profiles.add(profile_at(lab), account.keys, replace_old=True, this_session_only=True)
        assert bench.watch.trouble("mine") is None
        await until(lambda: [row.waits_for for row in bench.transfers.rows()] == [None])
        bench.transfers.ask(TransferEngine.cancel, number)
        await until(lambda: [row.state for row in bench.transfers.rows()] == [TransferState.CANCELLED])


async def asking_with_old_keys(bench: Bench, account: RotatingAccount) -> asyncio.Task[list[Bucket]]:
    """Refused, and waiting for other keys."""
    account.rotate()
    waiting = asyncio.create_task(bench.connections.work("mine", lambda connection: connection.storage.buckets()))
    await until(lambda: bench.connections.refusal("mine") is not None)
    return waiting


async def test_new_keys_given_to_another_program_are_found(
    lab: LabProcess, way: Way, account: RotatingAccount, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "LOOK_AGAIN_S", 0.05)
    async with program(lab, way, account, tmp_path / "home") as bench:
        waiting = await asking_with_old_keys(bench, account)
        bench.secrets.keep("mine", account.keys)  # as the keyring would have them now
        assert [bucket.name for bucket in await waiting] == ["rotating-bucket"]


async def test_a_keyring_that_is_gone_is_asked_once_and_not_again(
    lab: LabProcess, way: Way, account: RotatingAccount, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "LOOK_AGAIN_S", 0.01)
    async with program(lab, way, account, tmp_path / "home") as bench:
        waiting = await asking_with_old_keys(bench, account)
        asked = []
        read = Secrets.read

        async def counted(keyring: Secrets, name: str) -> Credentials | None:
            asked.append(name)
            return await read(keyring, name)

        monkeypatch.setattr(Secrets, "read", counted)
        await bench.secrets.remove("mine")  # from here on only the keyring could have them, and there is none
        await until(lambda: asked)
        await asyncio.sleep(0.1)
        assert asked == ["mine"] and not waiting.done()
        await bench.profiles.add(profile_at(lab), account.keys, replace_old=True, this_session_only=True)
        assert [bucket.name for bucket in await waiting] == ["rotating-bucket"]


async def test_an_expired_key_of_the_lab_is_tried_again_when_asked(way: Way, tmp_path: Path, lab: LabProcess) -> None:
    async with Bench(tmp_path / "home", way, waits_for_keys=True) as bench:
        await bench.prepare()
        rule = {"kind": "expired-key", "service": "obs", "operation": "ListObjects", "count": 1}
        await asyncio.to_thread(Control(lab.root).rules, rule)
        waiting = asyncio.create_task(bench.connections.work("lab", lambda c: c.storage.info(ObjectPath(BUCKET, "x/"))))
        await until(lambda: bench.connections.refusal("lab") is not None)
        assert not waiting.done()
        bench.connections.release("lab")
        assert await waiting is None
