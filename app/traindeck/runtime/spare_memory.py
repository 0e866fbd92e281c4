"""Memory that was freed goes back to the system."""

from __future__ import annotations

import asyncio
import ctypes
import sys

from traindeck.runtime.blocking import BlockingCalls

_PAUSES_S = (5.0, 60.0)
"""After a start, which frees most of what it used; and ever after."""


async def keep_giving_back(calls: BlockingCalls) -> None:
    """As long as this runs. It takes some milliseconds when there is much, and next to nothing else."""
    first, then = _PAUSES_S
    await asyncio.sleep(first)
    while True:
        await calls.run(lambda _: give_back())
        await asyncio.sleep(then)


def give_back() -> None:
    """The C library of most Linux keeps it for each thread that ever asked for some: 35 MB after a start."""
    if not sys.platform.startswith("linux"):
        return
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(ctypes.c_size_t(0))
