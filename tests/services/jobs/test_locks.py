"""Who is busy with a run: a lock that its holder lets go is free at once."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.files import let_go
from traindeck.services.jobs.locks import held


@pytest.mark.skipif(os.name == "nt", reason="the file of a lock cannot be removed while it is open")
async def test_a_lock_let_go_between_opening_and_locking_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    before = FileLock(tmp_path / "lock", thread_local=False)
    before.acquire()
    flock, tries = fcntl.flock, list[int]()

    def late(descriptor: int, operation: int) -> Any:
        if operation & fcntl.LOCK_EX:
            tries.append(descriptor)
            if len(tries) == 1:
                let_go(before)
        return flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    with closing(BlockingCalls(2, "locks")) as calls:
        async with held(tmp_path / "lock", calls) as mine:
            assert mine and len(tries) == 2


async def test_a_lock_that_is_held_is_not_taken(tmp_path: Path) -> None:
    with closing(BlockingCalls(2, "locks")) as calls:
        async with held(tmp_path / "lock", calls) as first, held(tmp_path / "lock", calls) as second:
            assert (first, second) == (True, False)
