"""Which running program is busy with a run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.file_locks import held


class RunLocks:
    """One lock file per run, so that a second program leaves a submission under way alone."""

    def __init__(self, folder: Callable[[str], Path], calls: BlockingCalls) -> None:
        self._folder = folder
        self._calls = calls

    def held(self, run_id: str) -> AbstractAsyncContextManager[bool]:
        """Whether this program may act on the run's submission now."""
        return held(self._folder(run_id) / "submission.lock", self._calls)
