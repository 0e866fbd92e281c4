"""What many small files need at their end, done by one worker for all that came meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

from traindeck.domain.errors import AppError
from traindeck.domain.transfers import Item
from traindeck.services.transfers.lane import Lane, Unit

One = TypeVar("One")


class Gathering(Generic[One]):
    """`settle` may be given the same once more after a pause; `fail` is told of a mistake of ours."""

    def __init__(
        self,
        lane: Lane,
        settle: Callable[[Sequence[One]], Awaitable[None]],
        fail: Callable[[One, AppError], None],
        *,
        most: int,
        wait_s: float = 0.0,
    ) -> None:
        """`wait_s`: how long to let more come, where more are on their way."""
        self._lane = lane
        self._settle = settle
        self._fail = fail
        self._most = most
        self._wait_s = wait_s
        self._waiting: list[One] = []
        self._is_busy = False
        self._news = asyncio.Event()

    def add(self, item: Item, one: One) -> None:
        self._waiting.append(one)
        self._news.set()
        if not self._is_busy:
            self._is_busy = True
            self._lane.put_back(Unit(item, self._work, fail=self._failed))
            self._lane.tell()

    async def _work(self) -> None:
        while self._waiting:
            await self._until_worth_it()
            batch = self._waiting[: self._most]
            await self._settle(batch)  # one that is cancelled here is done again
            del self._waiting[: len(batch)]
        self._is_busy = False

    async def _until_worth_it(self) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + self._wait_s
        while len(self._waiting) < self._most and self._lane.under_way > len(self._waiting):
            left = end - loop.time()
            if left <= 0:
                return
            self._news.clear()
            try:
                async with asyncio.timeout(left):
                    await self._news.wait()
            except TimeoutError:
                return

    def _failed(self, error: AppError) -> None:
        self._is_busy = False
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            self._fail(one, error)
