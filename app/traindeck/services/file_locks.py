"""Which running program is busy with something that others could do too; a lock dies with its program."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.platform_files import local_errors


@asynccontextmanager
async def held(path: Path, calls: BlockingCalls) -> AsyncIterator[bool]:
    """Whether this program has the lock now; it does not wait for one that another has."""
    lock = FileLock(path, thread_local=False)
    try:
        yield await calls.run(lambda _: _taken(lock, path))
    finally:
        # Also when cancelled while it was being taken; letting go does not wait.
        lock.release()


def _taken(lock: FileLock, path: Path) -> bool:
    with local_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return False
    return True
