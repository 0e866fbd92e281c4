"""Which running program is busy with a run; a lock dies with its program."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.platform_files import local_errors


class RunLocks:
    """One lock file per run, so that a second program leaves a submission under way alone."""

    def __init__(self, folder: Callable[[str], Path], calls: BlockingCalls) -> None:
        self._folder = folder
        self._calls = calls

    @asynccontextmanager
    async def held(self, run_id: str) -> AsyncIterator[bool]:
        """Whether this program may act on the run's submission now."""
        path = self._folder(run_id) / "submission.lock"
        lock = FileLock(path, thread_local=False)
        try:
            yield await self._calls.run(lambda _: _taken(lock, path))
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
