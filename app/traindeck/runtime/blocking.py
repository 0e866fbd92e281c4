"""Worker threads for calls that block: the SDKs, the keyring, the database, the disk."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

log = logging.getLogger(__name__)

Result = TypeVar("Result")


class Cancelled(Exception):
    """Raised inside a worker whose caller no longer waits."""


class CancelToken:
    """How a worker learns that it should stop; a thread can only be asked."""

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []

    def cancel(self) -> None:
        with self._lock:
            self._asked.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            try:
                callback()
            except Exception:
                # The others wait to be woken too, and who cancels has its own work to end.
                log.exception("a worker could not be told to stop")

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call this once when asked to stop, from the asking thread; at once if that was before.

        It wakes a worker that waits for something and cannot look. Calling the answer takes it back.
        """
        with self._lock:
            is_late = self._asked.is_set()
            if not is_late:
                self._callbacks.append(callback)
        if is_late:
            callback()

        def forget() -> None:
            with self._lock:
                if callback in self._callbacks:
                    self._callbacks.remove(callback)

        return forget

    @property
    def is_cancelled(self) -> bool:
        return self._asked.is_set()

    def check(self) -> None:
        if self._asked.is_set():
            raise Cancelled


async def over(work: asyncio.Future[Any]) -> None:
    """Come back when it has ended, of which nobody wants to know how.

    Whoever was cancelled may be cancelled once more while he waits, by a clock or by who waits for several: what he
    began is not left alone for that. He goes on to raise what cancelled him first.
    """
    while not work.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([work])
    if not work.cancelled():
        work.exception()  # retrieved, so that asyncio does not report it


class BlockingCalls:
    """A pool of named worker threads; the only one for blocking calls of its kind."""

    def __init__(self, workers: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix=name)

    async def run(self, call: Callable[[CancelToken], Result]) -> Result:
        """Await `call` in a worker; when cancelled, stop it before returning."""
        token = CancelToken()
        work = self._pool.submit(call, token)
        future = asyncio.wrap_future(work)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            token.cancel()
            if not work.cancel():  # it has begun, and is not left alone
                await over(future)
            raise

    async def finish(self, call: Callable[[], None]) -> None:
        """Await `call` in a worker to its end, also when cancelled."""
        future = asyncio.wrap_future(self._pool.submit(call))
        try:
            await asyncio.shield(future)
        except asyncio.CancelledError:
            await over(future)
            raise

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
