"""The Lab as the window sees, stops and empties it; every Lab here is a real process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import urllib.request
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from support.servers.lab_process import LabProcess
from support.waiting import PATIENT_S, until
from traindeck.assembly.lab_keeper import LabKeeper
from traindeck.assembly.lab_link import LabLife, LabLink
from traindeck.domain.errors import Conflict, LocalTrouble, Unreachable
from traindeck.domain.lab import LabDiskUsage, LabOwner, LabState
from traindeck.lab import root_folder
from traindeck.lab.obs.store import ObjectStore
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.accounts.connections import LabAddress


async def nothing_runs() -> None:
    return


@asynccontextmanager
async def kept(root: Path, life: LabLife = LabLife.OWNED) -> AsyncIterator[tuple[LabKeeper, LabLink]]:
    async with AsyncExitStack() as owned:
        calls = [BlockingCalls(2, name) for name in ("lab", "lab folder")]
        for pool in calls:
            owned.callback(pool.close)
        link = LabLink(root, life, calls[0])
        owned.push_async_callback(link.close)
        yield LabKeeper(root, link, calls[1], nothing_runs), link


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "家 home").mkdir()
    return tmp_path / "家 home" / "lab"


def fill(root: Path) -> None:
    store = ObjectStore(root)
    try:
        store.create_bucket("things", "owner")
        store.put("things", "x", b"four")
    finally:
        store.close()


async def test_it_is_seen_from_the_first_moment_to_the_last(root: Path) -> None:
    async with kept(root) as (keeper, link):
        assert (await keeper.look()).state is LabState.STOPPED
        address = await link.address()
        sight = await keeper.look()
        assert (sight.state, sight.owner, sight.live_jobs) == (LabState.RUNNING, LabOwner.OURS, 0)
        assert sight.obs == address.profile.obs_endpoint
        assert sight.pid == json.loads((root / "running.json").read_text("utf-8"))["pid"]
        assert sight.started is not None and sight.version


async def test_what_the_user_stopped_stays_so_until_the_user_starts_it(root: Path) -> None:
    async with kept(root) as (keeper, link):
        await link.address()
        news: list[LabAddress | None] = []
        link.news.add(news.append)
        await keeper.stop()
        assert (await keeper.look()).state is LabState.STOPPED
        assert news == [None]
        with pytest.raises(Unreachable, match="stopped"):
            await link.address()
        assert not (root / "running.json").exists()
        await keeper.start()
        assert (await keeper.look()).state is LabState.RUNNING
        await link.address()


async def test_an_emptied_one_runs_again_with_its_keys(root: Path) -> None:
    async with kept(root) as (keeper, link):
        before = await link.address()
        await keeper.stop()
        fill(root)
        await keeper.start()
        parts: list[LabDiskUsage] = []
        held = await keeper.measure(parts.append)
        assert (held.buckets, held.objects, held.object_bytes, held.jobs) == (1, 1, 4, 0)
        assert held.disk_bytes is not None and held.disk_bytes > 4 and held.disk_is_whole
        assert parts[0].objects == 1 and parts[0].disk_bytes is None
        await keeper.empty(lambda _: None)
        assert link.owns_process
        after = await link.address()
        assert after.credentials == before.credentials and after.instance != before.instance
        held = await keeper.contents()
        assert (held.buckets, held.objects, held.jobs) == (0, 0, 0)


async def test_that_of_another_window_is_named_and_left_alone(root: Path) -> None:
    async with kept(root) as (_, link), kept(root) as (other, others_link):
        await link.address()
        await others_link.address()
        sight = await other.look()
        assert (sight.owner, sight.owner_pid) == (LabOwner.WINDOW, os.getpid())
        for wish in (other.stop(), other.empty(lambda _: None)):
            with pytest.raises(Conflict, match=f"TrainDeck window .*{os.getpid()}"):
                await wish
        assert link.owns_process
        assert (await other.look()).state is LabState.RUNNING


async def test_one_started_by_hand_is_left_to_that_hand(root: Path) -> None:
    with LabProcess(root) as lab:
        async with kept(root) as (keeper, _):
            sight = await keeper.look()
            assert (sight.owner, sight.pid) == (LabOwner.TERMINAL, lab.pid)
            with pytest.raises(Conflict, match=str(lab.pid)):
                await keeper.empty(lambda _: None)
        assert lab.exit_code(0) is None


async def test_one_in_the_background_belongs_to_nobody_and_can_be_emptied(root: Path) -> None:
    with LabProcess(root, idle_exit_s=600) as lab:
        async with kept(root) as (keeper, link):
            assert (await keeper.look()).owner is LabOwner.NOBODY
            await keeper.empty(lambda _: None)
            assert lab.exit_code() == 0
            assert link.owns_process


@pytest.mark.skipif(os.name == "nt", reason="a process cannot be made to pause there")
async def test_one_that_does_not_answer_is_not_taken_for_one_that_ended(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LabProcess(root) as lab:
        async with kept(root) as (keeper, _):
            monkeypatch.setattr(root_folder, "_ANSWER_S", 0.2)  # it says nothing from here on
            os.kill(lab.pid, signal.SIGSTOP)
            try:
                sight = await keeper.look()
                assert (sight.state, sight.pid) == (LabState.SILENT, lab.pid)
                with pytest.raises(Conflict, match="is not responding"):
                    await keeper.stop()
            finally:
                os.kill(lab.pid, signal.SIGCONT)


async def test_one_that_was_killed_is_known_to_be_over(root: Path) -> None:
    with LabProcess(root) as lab:
        lab.kill()
        async with kept(root) as (keeper, _):
            assert (root / "running.json").exists()
            assert (await keeper.look()).state is LabState.STOPPED


async def test_what_keeps_it_from_starting_is_said(root: Path) -> None:
    root.write_text("in the way", "utf-8")
    async with kept(root) as (keeper, _):
        with pytest.raises(LocalTrouble, match="could not be started") as refused:
            await keeper.start()
        assert str(root) in str(refused.value.hint)


async def test_whoever_asks_while_it_is_emptied_waits_for_the_new_one(root: Path) -> None:
    async with kept(root) as (keeper, link):
        before = await link.address()
        async with link.ended(stay=False):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await link.address()
        after = await link.address()
        assert after.instance != before.instance
        with urllib.request.urlopen(f"{after.profile.modelarts_endpoint}/lab/status", timeout=PATIENT_S) as answer:
            assert json.load(answer)["owner"] == os.getpid()
        await until(lambda: link.owns_process)
        assert (await keeper.look()).owner is LabOwner.OURS
