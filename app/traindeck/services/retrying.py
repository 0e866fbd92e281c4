"""Doing something again that a busy service or a bad line refused."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from traindeck.domain.errors import ServiceTrouble
from traindeck.runtime.backoff import delays

Result = TypeVar("Result")

TRIES = 4
FIRST_S = 0.3
LONGEST_S = 5.0
# A service that asks for more than this is better left to the caller, who can tell the user.
PATIENCE_S = 30.0

_chance = random.Random()


async def retried(
    attempt: Callable[[], Awaitable[Result]], tries: int = TRIES, may_again: Callable[[], bool] = lambda: True
) -> Result:
    """Only for what may be done twice: reading, and writing the same again.

    `may_again` is asked after each failure whether that still holds.
    """
    pauses = delays(FIRST_S, LONGEST_S, _chance)
    for _ in range(tries - 1):
        try:
            return await attempt()
        except ServiceTrouble as error:
            pause = max(next(pauses), error.retry_after_s or 0.0)
            if pause > PATIENCE_S or not may_again():
                raise
        await asyncio.sleep(pause)
    return await attempt()
