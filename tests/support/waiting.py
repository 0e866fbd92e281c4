"""Waiting for a condition, not for an amount of time."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable


async def until(condition: Callable[[], object], timeout: float = 20.0) -> None:
    """Come back as soon as `condition` holds; fail with its source when it does not in time."""
    end = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"still not after {timeout} s: {_source(condition)}")
        await asyncio.sleep(0.005)


def _source(condition: Callable[[], object]) -> str:
    try:
        return inspect.getsource(condition).strip()
    except (OSError, TypeError):
        return repr(condition)
