"""Work on another loop ends when who waits for it ends, and the other way round."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

import pytest

from support.waiting import until
from traindeck.runtime.loop_thread import LoopThread


async def test_results_and_errors_come_from_the_other_thread() -> None:
    async def where() -> str:
        await asyncio.sleep(0)
        return threading.current_thread().name

    async def fail() -> None:
        raise LookupError("over there")

    async with LoopThread("data") as other:
        assert await other.run(where) == "data"
        with pytest.raises(LookupError, match="over there"):
            await other.run(fail)

        def refuse() -> Coroutine[Any, Any, None]:
            raise ValueError("not even begun")

        with pytest.raises(ValueError, match="not even begun"):
            await other.run(refuse)
        assert await asyncio.gather(*(other.run(where) for _ in range(100))) == ["data"] * 100


async def test_who_stops_waiting_ends_the_work_and_its_cleaning_up() -> None:
    told: list[str] = []

    async def work() -> None:
        told.append("began")
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.02)
            told.append("cleaned up")

    async with LoopThread("data") as other:
        waiting = asyncio.create_task(other.run(work))
        await until(lambda: told == ["began"])
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert told == ["began", "cleaned up"]


async def test_work_cancelled_before_it_began_never_begins() -> None:
    began: list[int] = []

    async def work() -> None:
        began.append(1)

    async with LoopThread("data") as other:
        held = threading.Event()
        other._loop.call_soon_threadsafe(held.wait)
        waiting = asyncio.create_task(other.run(work))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.sleep(0)
        held.set()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert not began


async def test_work_that_cancels_itself_says_so_to_who_waits() -> None:
    async def work() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(1)

    async with LoopThread("data") as other:
        with pytest.raises(asyncio.CancelledError):
            await other.run(work)
        own = asyncio.current_task()
        assert own is not None and own.cancelling() == 0


async def test_an_error_while_being_cancelled_is_no_surprise() -> None:
    began = asyncio.Event()
    here = asyncio.get_running_loop()

    async def work() -> None:
        here.call_soon_threadsafe(began.set)
        try:
            await asyncio.Event().wait()
        finally:
            raise ConnectionError("while ending")

    async with LoopThread("data") as other:
        waiting = asyncio.create_task(other.run(work))
        await began.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting


async def test_closing_ends_what_is_under_way() -> None:
    began, cleaned_up = threading.Event(), threading.Event()

    async def work() -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.02)
            cleaned_up.set()

    other = LoopThread("data")
    waiting = asyncio.create_task(other.run(work))
    await until(began.is_set)
    await asyncio.gather(other.close(), other.close())
    assert cleaned_up.is_set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert "data" not in {thread.name for thread in threading.enumerate()}
    with pytest.raises(RuntimeError, match="closed"):
        await other.run(work)
    await other.close()


async def test_the_work_may_use_threads_of_its_own_loop() -> None:
    async def look() -> str:
        return await asyncio.to_thread(lambda: threading.current_thread().name)

    async with LoopThread("data") as other:
        assert (await other.run(look)).startswith("asyncio")
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("asyncio")]


async def test_both_loops_stay_free_while_one_waits(loop: object) -> None:
    """On the window's loop too."""

    beats: list[int] = []

    async def work() -> int:
        while len(beats) < 6:
            await asyncio.sleep(0.001)
        return 7

    async def beat() -> None:
        while True:
            beats.append(1)
            await asyncio.sleep(0.001)

    async with LoopThread("data") as other, asyncio.TaskGroup() as group:
        beating = group.create_task(beat())
        assert await other.run(work) == 7
        beating.cancel()


async def test_who_is_cancelled_again_while_he_waits_leaves_nothing_behind() -> None:
    told: list[str] = []

    async def work() -> None:
        here.append(asyncio.get_running_loop())
        told.append("began")
        try:
            await asyncio.Event().wait()
        finally:
            told.append("cancelled")
            await go.wait()
            told.append("cleaned up")

    here: list[asyncio.AbstractEventLoop] = []
    go = asyncio.Event()
    async with LoopThread("data") as other:
        waiting = asyncio.create_task(other.run(work))
        await until(lambda: told == ["began"])
        waiting.cancel()
        await until(lambda: told == ["began", "cancelled"])
        waiting.cancel()
        for _ in range(3):
            await asyncio.sleep(0)
        assert not waiting.done()
        here[0].call_soon_threadsafe(go.set)
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert told[-1] == "cleaned up"
