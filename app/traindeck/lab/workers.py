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
    """A pool with an end; a call once started is always waited for, even by a cancelled task."""

    def __init__(self, name: str, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)

    async def run(self, call: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
        future = asyncio.get_running_loop().run_in_executor(self._pool, partial(call, *args, **kwargs))
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            # A file must not be closed under a thread that still writes to it.
            await asyncio.wait([future])
            if not future.cancelled():
                future.exception()
            raise

    def close(self) -> None:
        self._pool.shutdown(wait=True)
