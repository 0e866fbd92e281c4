"""Which running program is busy with a run; a lock dies with its program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from traindeck.runtime.platform_files import local_errors


class RunLocks:
    """One lock file per run, so that a second program leaves a submission under way alone."""

    def __init__(self, folder: Callable[[str], Path]) -> None:
        self._folder = folder

    @contextmanager
    def held(self, run_id: str) -> Iterator[bool]:
        """Whether this program may act on the run's submission now."""
        path = self._folder(run_id) / "submission.lock"
        with local_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = FileLock(path, thread_local=False)
            try:
                lock.acquire(timeout=0)
            except Timeout:
                yield False
                return
        try:
            yield True
        finally:
            lock.release()
