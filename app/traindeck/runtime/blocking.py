"""Worker threads for calls that block: the SDKs, the keyring, the database, the disk."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")


class Cancelled(Exception):
    """Raised inside a worker whose caller no longer waits."""


class CancelToken:
    """How a worker learns that it should stop; a thread can only be asked."""

    def __init__(self) -> None:
        self._asked = threading.Event()

    def cancel(self) -> None:
        self._asked.set()

    @property
    def is_cancelled(self) -> bool:
        return self._asked.is_set()

    def check(self) -> None:
        if self._asked.is_set():
            raise Cancelled


class BlockingCalls:
    """A pool of named worker threads; the only one for blocking calls of its kind."""

    def __init__(self, workers: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix=name)

    async def run(self, call: Callable[[CancelToken], Result]) -> Result:
        """Await `call` in a worker; when cancelled, stop it before returning."""
        token = CancelToken()
        future = asyncio.get_running_loop().run_in_executor(self._pool, call, token)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            token.cancel()
            await asyncio.wait([future])
            if not future.cancelled():
                future.exception()  # retrieved, so that asyncio does not report it
            raise

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
