"""Looking into the store from another loop than the one its connections live on."""

from __future__ import annotations

import asyncio
import threading

import pytest

from support.servers.lab_process import LabProcess
from support.servers.silent import SilentServer
from support.stores.stores import lab_store, new_bucket
from support.stores.way import Way
from support.waiting import until
from traindeck.domain.storage.objects import ObjectPath
from traindeck.services.storage.wire.data_plane import DataPlane, OwnLoop


def of_objects() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "objects"]


async def test_closing_waits_for_who_is_still_asking_and_asking_again_opens_another(lab: LabProcess) -> None:
    store = lab_store(lab)
    bucket = new_bucket(store).bucket
    wire = OwnLoop(store.profile, store.credentials)
    begun, resume = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def slow(plane: DataPlane) -> int:
        loops.append(asyncio.get_running_loop())
        begun.set()
        await resume.wait()
        return len((await plane.page(bucket)).rows)

    assert wire.clock_ahead_s is None
    asking = asyncio.ensure_future(wire.run(slow))
    await until(begun.is_set)
    wire.close()
    assert of_objects()
    loops[0].call_soon_threadsafe(resume.set)
    assert await asking == 0
    await until(lambda: not of_objects())
    assert loops[0] is not asyncio.get_running_loop()

    assert (await wire.run(lambda plane: plane.page(bucket))).rows == []
    assert wire.clock_ahead_s is not None
    wire.close()
    await until(lambda: not of_objects())


async def test_a_question_nobody_waits_for_ends_and_keeps_nothing_open(way: Way) -> None:
    async with SilentServer() as server:
        there = way.at(obs_endpoint=f"http://127.0.0.1:{server.port}")
        wire = OwnLoop(there.profile, there.credentials)
        asking = asyncio.ensure_future(wire.run(lambda plane: plane.head(ObjectPath("bucket", "k"))))
        await until(lambda: server.heard)
        wire.close()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await until(lambda: not of_objects())


async def test_it_ends_with_who_had_it(lab: LabProcess) -> None:
    store = lab_store(lab)
    bucket = new_bucket(store).bucket
    wire = OwnLoop(store.profile, store.credentials)
    await wire.run(lambda plane: plane.page(bucket))
    del wire
    await until(lambda: not of_objects())
