"""Whoever stops waiting for a dead network is let go at once; quitting depends on it."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager

import pytest

from support.servers.silent import SilentServer, unreachable_port
from support.waiting import AT_ONCE_S, PATIENT_S, until
from traindeck.domain.accounts.keys import Credentials, Secret
from traindeck.domain.accounts.profiles import Profile, Provider
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.domain.storage.objects import ObjectPath
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.http import bounds
from traindeck.services.jobs.modelarts.adapter import ModelArtsTraining
from traindeck.services.storage.sdk.buckets import ObsStorage

SPEC = JobSpec(name="job", boot="train.py", engine="e", engine_version="v", flavor="f", stop_after="1h")


@contextmanager
def adapters(url: str, calls: BlockingCalls) -> Iterator[tuple[ObsStorage, ModelArtsTraining]]:
    profile = Profile("p", Provider.MODELARTS, "cn-north-4", obs_endpoint=url, modelarts_endpoint=url, project_id="p")
    keys = Credentials("AKEXAMPLE1", Secret("SKEXAMPLE1"))
    storage, training = ObsStorage(profile, keys, calls), ModelArtsTraining(profile, keys, calls)
    try:
        yield storage, training
    finally:
        storage.close()
        training.close()


async def cancelled_at_once(task: asyncio.Future[object]) -> None:
    begin = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - begin < AT_ONCE_S


def ask(which: str, storage: ObsStorage, training: ModelArtsTraining) -> Awaitable[object]:
    match which:
        case "buckets":
            return storage.buckets()
        case "list":
            return storage.page("bucket")
        case "create":
            return training.create("job", SPEC, ObjectPath("bucket", "code/"))
        case _:
            return training.engines()


async def cancelled_while_it_waits(scheme: str, which: str, calls: BlockingCalls) -> None:
    async with SilentServer() as server:
        with adapters(f"{scheme}://127.0.0.1:{server.port}", calls) as (storage, training):
            task = asyncio.ensure_future(ask(which, storage, training))
            await until(lambda: server.heard)
            await cancelled_at_once(task)


@pytest.mark.parametrize("which", ["buckets", "list", "create", "engines"])
async def test_a_call_whose_server_is_silent_ends_when_nobody_waits(which: str, calls: BlockingCalls) -> None:
    await cancelled_while_it_waits("http", which, calls)


@pytest.mark.parametrize("which", ["buckets", "list", "engines"])
async def test_a_silent_handshake_ends_when_nobody_waits(which: str, calls: BlockingCalls) -> None:
    await cancelled_while_it_waits("https", which, calls)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="fills the queue as Linux keeps it")
@pytest.mark.parametrize("which", ["buckets", "list", "engines"])
async def test_a_connection_that_is_never_made_ends_when_nobody_waits(
    which: str, calls: BlockingCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "CONNECT_S", PATIENT_S)
    monkeypatch.setattr(bounds, "SILENCE_S", PATIENT_S)
    with unreachable_port() as port, adapters(f"http://127.0.0.1:{port}", calls) as (storage, training):
        task = asyncio.ensure_future(ask(which, storage, training))
        done, _ = await asyncio.wait([task], timeout=1.5)  # by then the SDK is loaded and waits for the network
        assert not done
        await cancelled_at_once(task)


async def test_what_waits_in_the_queue_of_busy_workers_ends_too() -> None:
    calls = BlockingCalls(1, "sdk")
    try:
        async with SilentServer() as server:
            with adapters(f"http://127.0.0.1:{server.port}", calls) as (storage, training):
                first = asyncio.ensure_future(ask("buckets", storage, training))
                await until(lambda: server.heard)
                second = asyncio.ensure_future(ask("engines", storage, training))
                await asyncio.sleep(0)
                await cancelled_at_once(second)
                assert not first.done()
                await cancelled_at_once(first)
    finally:
        calls.close()
