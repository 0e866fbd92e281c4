"""Which running program is busy with a run or a transfer; a lock dies with its program."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.files import let_go, local_errors, our_folder

if TYPE_CHECKING:
    from filelock import FileLock


@asynccontextmanager
async def held(path: Path, calls: BlockingCalls) -> AsyncIterator[bool]:
    """Whether this program has the lock now; it does not wait for one that another has."""
    from filelock import FileLock  # slow to load, and who only looks locks nothing

    lock = FileLock(path, thread_local=False, mode=0o600)
    try:
        yield await calls.run(lambda _: _taken(lock, path))
    finally:
        # Also when cancelled while it was being taken. The file goes with it, which a slow disk may take long for.
        if lock.is_locked:
            await calls.finish(lambda: let_go(lock))


def _taken(lock: FileLock, path: Path) -> bool:
    from filelock import Timeout

    with local_errors(path):
        our_folder(path.parent)
        # Once more: who opens the file just before its holder removes it gets a lock without a name, which is no lock.
        for _ in range(2):
            with suppress(Timeout):
                lock.acquire(timeout=0)
                return True
    return False
