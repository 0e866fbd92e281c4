"""An asyncio loop in a thread of its own, for work that would keep the window's loop too busy."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Self, TypeVar

from traindeck.runtime.blocking import over

Result = TypeVar("Result")


class LoopThread:
    """Runs coroutines for other loops; none of them outlives `close`."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._work: set[asyncio.Task[Any]] = set()
        self._closing = threading.Lock()
        self._is_closed = False
        self._ended: Future[None] = Future()
        # A daemon, so that a program that failed before it could close this still ends.
        self._thread = threading.Thread(target=self._main, name=name, daemon=True)
        self._thread.start()

    async def run(self, make: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """Await `make()` over there; when cancelled, that is ended before this returns."""
        outcome: Future[Result] = Future()
        begun: list[asyncio.Task[Result]] = []

        def begin() -> None:
            try:
                task = self._loop.create_task(make())
            except Exception as error:  # noqa: BLE001 - goes to who waits
                outcome.set_exception(error)
                return
            begun.append(task)
            self._work.add(task)
            task.add_done_callback(end)

        def end(task: asyncio.Task[Result]) -> None:
            self._work.discard(task)
            if task.cancelled():
                outcome.cancel()
            elif (error := task.exception()) is not None:
                outcome.set_exception(error)
            else:
                outcome.set_result(task.result())

        def give_up() -> None:
            for task in begun:
                task.cancel()

        self._tell(begin)
        future = asyncio.wrap_future(outcome)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            # Refused once closed: then everything is ended anyhow.
            self._tell(give_up, is_work=False)
            await over(future)
            raise

    def stop(self, last: Callable[[], None] = lambda: None) -> None:
        """Cancel what still runs and let the thread end by itself; `last` is called over there before."""
        with self._closing:
            is_first, self._is_closed = not self._is_closed, True
            if is_first:
                self._loop.call_soon_threadsafe(last)
                self._loop.call_soon_threadsafe(self._stop.set)

    async def close(self) -> None:
        """Cancel what still runs and wait for it and for the thread."""
        self.stop()
        await asyncio.shield(asyncio.wrap_future(self._ended))
        self._thread.join()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _tell(self, callback: Callable[[], None], *, is_work: bool = True) -> None:
        with self._closing:
            if not self._is_closed:
                self._loop.call_soon_threadsafe(callback)
            elif is_work:
                raise RuntimeError("the loop is closed")

    def _main(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._serve())
        finally:
            self._ended.set_result(None)

    async def _serve(self) -> None:
        await self._stop.wait()
        while self._work:
            for task in self._work:
                task.cancel()
            await asyncio.wait(self._work)
