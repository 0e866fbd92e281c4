"""Threads for calls that block, so that the loop of the Lab never waits for a disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from traindeck.runtime.blocking import BlockingCalls

_P = ParamSpec("_P")
_R = TypeVar("_R")


class Workers:
    """A pool for calls that end by themselves, and so are waited for even by a cancelled task."""

    def __init__(self, name: str, threads: int) -> None:
        self._calls = BlockingCalls(threads, name)

    async def run(self, call: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return await self._calls.run(lambda _: call(*args, **kwargs))

    def close(self) -> None:
        self._calls.close()
