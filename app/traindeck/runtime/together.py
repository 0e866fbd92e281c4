"""Several things at once that fail as one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TypeVar

Result = TypeVar("Result")


async def together(work: Iterable[Awaitable[Result]]) -> list[Result]:
    """All results in order. The first failure ends the rest and is raised itself: a group would say nothing more."""

    async def one(item: Awaitable[Result]) -> Result:
        return await item

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(item)) for item in work]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from failures
    return [task.result() for task in tasks]
