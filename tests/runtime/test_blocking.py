"""Calls that block can be asked to stop, and woken where they cannot look."""

from __future__ import annotations

import asyncio
import gc
import threading
import time

import pytest

from support.waiting import AT_ONCE_S, PATIENT_S
from traindeck.runtime.blocking import BlockingCalls, Cancelled, CancelToken


@pytest.fixture
def calls() -> object:
    pool = BlockingCalls(2, "test")
    yield pool
    pool.close()


async def test_cancelling_wakes_a_call_that_waits_and_comes_back_when_it_has_ended(calls: BlockingCalls) -> None:
    waiting, woken, ended = threading.Event(), threading.Event(), threading.Event()

    def call(token: CancelToken) -> None:
        token.on_cancel(woken.set)
        waiting.set()
        woken.wait(PATIENT_S)
        ended.set()

    task = asyncio.ensure_future(calls.run(call))
    await asyncio.to_thread(waiting.wait, PATIENT_S)
    task.cancel()
    begin = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()
    assert time.monotonic() - begin < AT_ONCE_S


def test_whoever_comes_late_is_called_at_once_and_each_is_called_once() -> None:
    token, told = CancelToken(), list[str]()
    token.on_cancel(lambda: told.append("early"))
    forget = token.on_cancel(lambda: told.append("forgotten"))
    forget()
    token.cancel()
    token.cancel()
    token.on_cancel(lambda: told.append("late"))
    forget()
    assert told == ["early", "late"]
    with pytest.raises(Cancelled):
        token.check()


async def test_an_error_of_a_cancelled_call_is_not_reported_as_lost(calls: BlockingCalls) -> None:
    started, go = threading.Event(), threading.Event()

    def call(token: CancelToken) -> None:
        token.on_cancel(go.set)
        started.set()
        go.wait(PATIENT_S)
        raise ValueError("too late to matter")

    task = asyncio.ensure_future(calls.run(call))
    await asyncio.to_thread(started.wait, PATIENT_S)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_who_is_cancelled_again_while_he_waits_leaves_nothing_behind(calls: BlockingCalls) -> None:
    """A clock and a group of tasks cancel the same call, one after the other."""
    started, asked, go, ended = (threading.Event() for _ in range(4))

    def call(token: CancelToken) -> None:
        token.on_cancel(asked.set)
        started.set()
        go.wait(PATIENT_S)
        ended.set()
        raise ValueError("too late to matter")

    task = asyncio.ensure_future(calls.run(call))
    await asyncio.to_thread(started.wait, PATIENT_S)
    task.cancel()
    await asyncio.to_thread(asked.wait, PATIENT_S)
    task.cancel()
    for _ in range(3):
        await asyncio.sleep(0)
    assert not task.done()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()
    gc.collect()  # an error that nobody took would be told now, and fail this
