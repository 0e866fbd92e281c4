"""The threads for calls that block: what they give back, whom they wait for, and what they keep."""

import asyncio
import gc
import threading
import weakref
from collections.abc import Iterator

import pytest

from support.waiting import PATIENT_S
from traindeck.lab.life import Workers
from traindeck.runtime.blocking import over


@pytest.fixture
def workers() -> Iterator[Workers]:
    workers = Workers("of-a-test", 2)
    yield workers
    workers.close()


def test_results_and_errors_come_back(workers: Workers) -> None:
    async def run() -> None:
        assert await asyncio.gather(*(workers.run(divmod, number, 7) for number in range(100))) == [
            divmod(number, 7) for number in range(100)
        ]
        assert await workers.run(int, "ff", base=16) == 255
        with pytest.raises(ZeroDivisionError):
            await workers.run(divmod, 1, 0)
        with pytest.raises(SystemExit):
            await workers.run(exit)
        assert await workers.run(lambda: threading.current_thread().name) in ("of-a-test_0", "of-a-test_1")

    asyncio.run(run())


def test_a_cancelled_task_waits_for_its_call(workers: Workers) -> None:
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def call() -> None:
        begun.set()
        assert go_on.wait(PATIENT_S)
        ended.set()

    async def run() -> None:
        task = asyncio.create_task(workers.run(call))
        await asyncio.to_thread(begun.wait, PATIENT_S)
        task.cancel()
        asyncio.get_running_loop().call_soon(go_on.set)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended.is_set()

    asyncio.run(run())


def test_a_task_cancelled_again_while_it_waits_still_waits_for_its_call(workers: Workers) -> None:
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def call() -> None:
        begun.set()
        assert go_on.wait(PATIENT_S)
        ended.set()

    async def run() -> None:
        task = asyncio.create_task(workers.run(call))
        await asyncio.to_thread(begun.wait, PATIENT_S)
        for _ in range(2):
            task.cancel()
            for _ in range(3):
                await asyncio.sleep(0)
        assert not task.done()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended.is_set()

    asyncio.run(run())


def test_closing_waits_for_what_was_begun_and_takes_nothing_more(workers: Workers) -> None:
    done: list[int] = []

    async def run() -> None:
        for number in range(50):
            workers.start(done.append, number)
        workers.close()
        assert sorted(done) == list(range(50))
        with pytest.raises(RuntimeError):
            workers.start(done.append, 50)

    asyncio.run(run())


class _Body:
    def fail(self) -> None:
        raise ValueError


def test_nothing_of_a_call_is_kept_while_nothing_comes(workers: Workers) -> None:
    async def run() -> None:
        for name in ("__repr__", "fail"):
            body = _Body()
            seen = weakref.ref(body)
            gone = threading.Event()
            weakref.finalize(body, gone.set)
            future = workers.start(getattr(body, name))
            await over(future)
            del body, future
            await asyncio.to_thread(gone.wait, PATIENT_S)
            assert seen() is None

    gc.collect()
    gc.disable()
    try:
        asyncio.run(run())
    finally:
        gc.enable()
