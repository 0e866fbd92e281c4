"""Threads for calls that block, so that the loop of the Lab never waits for a disk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

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
