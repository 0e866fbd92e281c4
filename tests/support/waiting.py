"""Waiting for a condition, not for an amount of time."""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Never

import pytest

from support.awaited import Awaited
from traindeck.domain.errors import AppError

# A wait is given up only to end a test that hangs: a machine with much else to do may need long for little.
PATIENT_S = 120.0
# What has nothing to wait for, on such a machine too. Only of use where the alternative takes much longer.
AT_ONCE_S = 20.0

# Whether the system tells how long a thread was ready but had no processor, and what it waits for.
IS_TOLD = Path("/proc/self/schedstat").exists() and Path("/proc/self/syscall").exists()
# What the piece below takes on a machine as we have them.
_PIECE_S = 0.008


def slowness() -> float:
    """How many times longer than usual this machine computes just now; 1 where it is not slower."""

    def piece() -> float:
        begin = time.thread_time()
        words = {str(number): number for number in range(40_000)}
        sum(words[str(number)] for number in range(0, 40_000, 3))
        return time.thread_time() - begin

    return max(1.0, statistics.median(piece() for _ in range(9)) / _PIECE_S)


# How long the window may keep its user waiting, and how much more of it may be the doing of others: another thread that
# has Python's lock but no processor, and where the system does not tell what kept the window, anybody.
LONGEST_STALL_S = 0.1
OF_OTHERS_S = 1.0

# Beside other tests nothing is judged by how long it took: `start.py test --all` runs such tests alone.
IS_ALONE = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")) == 1


def is_long(seconds: float, own: float, limit_s: float = LONGEST_STALL_S) -> bool:
    """Whether a stall is the window's fault; a slow machine is given as much longer as it computes."""
    if own <= limit_s and seconds <= limit_s + OF_OTHERS_S:
        return False
    limit_s *= slowness()
    if not IS_TOLD:
        return seconds > limit_s + OF_OTHERS_S
    return own > limit_s or seconds > limit_s + OF_OTHERS_S


def fail_with(label: str, error: AppError) -> Never:
    """What a test gives as the place where errors of tasks are told."""
    pytest.fail(f"{label}: {error} {error.detail}")


async def until(condition: Callable[[], object], timeout: float = PATIENT_S) -> None:
    """Return as soon as `condition` holds; fail with its source if it does not in time."""
    awaited, end = Awaited(condition), time.monotonic() + timeout
    while not awaited.holds():
        if time.monotonic() > end:
            raise awaited.failure(timeout)
        await asyncio.sleep(0.005)
