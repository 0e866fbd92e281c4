"""When a running Lab ends, whether anybody still uses it, and the threads for its calls that block."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import ParamSpec, TypeVar


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
    """A pool for calls that end by themselves, and so are waited for even by a cancelled task."""

    def __init__(self, name: str, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)

    def start(self, call: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> asyncio.Future[_R]:
        """Begin without waiting; the caller gives the future to `ended` on every way out."""
        return asyncio.get_running_loop().run_in_executor(self._pool, partial(call, *args, **kwargs))

    async def ended(self, future: asyncio.Future[_R]) -> _R:
        """The result; a cancelled task gets its cancellation only when the thread is through."""
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            await self.settled(future)
            raise

    async def settled(self, future: asyncio.Future[_R]) -> None:
        """Wait for the end of the call, whatever it comes to."""
        await asyncio.wait([future])
        if not future.cancelled():
            future.exception()  # retrieved, so that asyncio does not report it

    async def run(self, call: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return await self.ended(self.start(call, *args, **kwargs))

    def close(self) -> None:
        self._pool.shutdown(wait=True)
