"""When a running Lab ends, whether anybody still uses it, and the threads for its calls that block."""

from __future__ import annotations

import asyncio
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import ParamSpec, TypeVar

from traindeck.runtime.blocking import over


class Activity:
    """Counts requests under way, and the seconds since the last one ended."""

    def __init__(self) -> None:
        self._under_way = 0
        self._last = time.monotonic()

    @contextmanager
    def request(self) -> Iterator[None]:
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            self._last = time.monotonic()

    def touch(self) -> None:
        self._last = time.monotonic()

    def idle_s(self) -> float:
        return 0.0 if self._under_way else time.monotonic() - self._last


ORPHAN_IDLE_S = 600.0
_POLL_S = 1.0


class Life:
    """Waits for the end; made and used on the loop."""

    def __init__(
        self, activity: Activity, live_jobs: Callable[[], int], idle_exit_s: float | None, *, has_owner: bool
    ) -> None:
        self._activity = activity
        self._live_jobs = live_jobs
        self._idle_exit_s = idle_exit_s
        self._has_owner = has_owner
        self._ended = False
        self._changed = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    @property
    def owner(self) -> int | None:
        """The process that ends this Lab with itself."""
        return os.getppid() if self._has_owner else None

    @property
    def ends_itself(self) -> bool:
        """When nobody has used it for a while."""
        return not self._has_owner and self._idle_exit_s is not None

    def end(self) -> None:
        self._ended = True
        self._changed.set()

    def lose_owner(self) -> None:
        """Carry on alone, but not for ever."""
        self._has_owner = False
        if self._idle_exit_s is None:
            self._idle_exit_s = ORPHAN_IDLE_S
        self._activity.touch()
        self._changed.set()

    async def wait(self) -> None:
        while not self._ended and not self._is_left_alone():
            limit = None if self._has_owner else self._idle_exit_s
            with suppress(TimeoutError):
                async with asyncio.timeout(None if limit is None else min(_POLL_S, limit / 4)):
                    await self._changed.wait()
            self._changed.clear()

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Take the usual requests to end; what the starter chose to ignore stays ignored."""
        names = ["SIGINT", "SIGTERM", "SIGBREAK"] if sys.platform == "win32" else ["SIGINT", "SIGTERM", "SIGHUP"]
        before = {}
        for name in names:
            number = getattr(signal, name)
            if (handler := signal.getsignal(number)) is not signal.SIG_IGN or name == "SIGTERM":
                before[number] = handler
                if sys.platform == "win32":  # whose loop is woken by every signal
                    signal.signal(number, lambda *_: self._from_thread(self.end))
                else:  # a plain handler wakes no loop that is about to wait, and the signal would be lost until it does
                    self._loop.add_signal_handler(number, self.end)
        try:
            yield
        finally:
            for number, handler in before.items():
                if sys.platform != "win32":
                    self._loop.remove_signal_handler(number)
                signal.signal(number, handler)

    def follow_owner(self) -> None:
        """Read standard input for "stop" or "detach"; its end means that the owner is gone."""
        # A daemon, as a read from a pipe cannot be interrupted; it must not keep the process.
        threading.Thread(target=self._read_owner, name="lab-owner", daemon=True).start()

    def _read_owner(self) -> None:
        waiting = b""
        # Past the buffer of sys.stdin: its lock, held by a daemon, would break the end of the interpreter.
        descriptor = sys.stdin.fileno()
        while True:
            try:
                data = os.read(descriptor, 4096)
            except OSError:
                data = b""
            *lines, waiting = (waiting + data).split(b"\n")
            words = {line.strip() for line in lines}
            if b"stop" in words:
                return self._from_thread(self.end)
            if b"detach" in words or not data:
                return self._from_thread(self.lose_owner)

    def _from_thread(self, call: Callable[[], None]) -> None:
        # The loop may have ended on its own a moment before.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call)

    def _is_left_alone(self) -> bool:
        if self._has_owner or self._idle_exit_s is None:
            return False
        if self._live_jobs():
            self._activity.touch()
            return False
        return self._activity.idle_s() >= self._idle_exit_s


_P = ParamSpec("_P")
_R = TypeVar("_R")


class Workers:
    """Threads for calls that end by themselves, and so are waited for even by a cancelled task.

    Not an executor of the standard library: its futures, with a lock and a twin on the loop for each call, cost a
    tenth of all that the Lab does for a small object.
    """

    def __init__(self, name: str, threads: int) -> None:
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        # Daemons: a Lab that ends by an error before it closes them must not stay for them.
        self._threads = [
            threading.Thread(target=self._work, name=f"{name}_{number}", daemon=True) for number in range(threads)
        ]
        self._is_closed = False

    def start(self, call: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> asyncio.Future[_R]:
        """Begin without waiting; the caller gives the future to `ended` on every way out."""
        if self._is_closed:
            raise RuntimeError("These workers are closed.")
        if not self._threads[0].ident:
            for thread in self._threads:
                thread.start()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_R] = loop.create_future()
        self._calls.put(partial(_carry_out, loop, future, partial(call, *args, **kwargs)))
        return future

    async def ended(self, future: asyncio.Future[_R]) -> _R:
        """The result; a cancelled task gets its cancellation only when the thread is through."""
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            await over(future)
            raise

    async def run(self, call: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return await self.ended(self.start(call, *args, **kwargs))

    def close(self) -> None:
        """What was begun is done first."""
        self._is_closed = True
        for _ in self._threads:
            self._calls.put(None)
        for thread in self._threads:
            if thread.ident:
                thread.join()

    def _work(self) -> None:
        while carry_out := self._calls.get():
            carry_out()
            del carry_out  # and the body that it holds, while nothing comes


def _carry_out(loop: asyncio.AbstractEventLoop, future: asyncio.Future[_R], call: Callable[[], _R]) -> None:
    """In a thread; the loop is told how it ended."""
    try:
        told = partial(_succeed, future, call())
    except BaseException as error:  # noqa: BLE001 - whatever it is, somebody waits for it
        told = partial(_fail, future, error)
    with suppress(RuntimeError):  # the loop has ended: nobody waits any more
        loop.call_soon_threadsafe(told)
    # An error knows this frame by its traceback, and would live with what is in here until the collector comes.
    del future, call, told


def _succeed(future: asyncio.Future[_R], result: _R) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[_R], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
