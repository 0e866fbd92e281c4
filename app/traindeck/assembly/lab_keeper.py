"""The Lab of this home for whoever wants to see, start, end or empty it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from traindeck.assembly import lab_folder
from traindeck.assembly.lab_link import LabLink
from traindeck.domain.errors import AppError, Conflict
from traindeck.domain.lab import LabDiskUsage, LabOwner, LabSight, LabState, user_words
from traindeck.domain.texts import text
from traindeck.lab import root_folder
from traindeck.runtime.blocking import BlockingCalls, CancelToken

_TELL_EVERY_S = 0.1


class LabKeeper:
    """Looks in workers; `calls` is its own, so that a long count delays nobody else."""

    def __init__(
        self, root: Path, link: LabLink, calls: BlockingCalls, end_runs: Callable[[], Awaitable[None]]
    ) -> None:
        """`end_runs` stops the jobs we sent there, so that their records and logs tell how they ended."""
        self.root = root
        self._link = link
        self._calls = calls
        self._end_runs = end_runs

    async def look(self) -> LabSight:
        """How it stands at this moment."""
        sight = await self._calls.run(lambda _: lab_folder.seen(self.root))
        if sight.state is LabState.STOPPED and self._link.is_starting:
            return replace(sight, state=LabState.STARTING)
        if self._link.owns_process:
            return replace(sight, owner=LabOwner.OURS, owner_pid=None)
        return sight

    async def contents(self) -> LabDiskUsage:
        """Buckets, objects and jobs; not the disk."""
        return await self._calls.run(lambda token: lab_folder.contents(self.root, token))

    async def measure(self, on_part: Callable[[LabDiskUsage], None]) -> LabDiskUsage:
        """All of it; `on_part` hears what is known so far, on the loop."""
        held = await self.contents()
        on_part(held)
        loop = asyncio.get_running_loop()

        def count(token: CancelToken) -> LabDiskUsage:
            def tell(size_bytes: int) -> None:
                on_part(replace(held, disk_bytes=size_bytes))

            return lab_folder.with_disk(self.root, held, _now_and_then(loop, tell, token))

        return await self._calls.run(count)

    async def start(self) -> None:
        await self._link.start()

    async def stop(self) -> None:
        """End it with its jobs; it stays ended until it is started by hand."""
        await self._prepare_end()
        async with self._link.ended(stay=True):
            await self._calls.run(lambda _: self._end_what_runs())

    async def empty(self, on_files: Callable[[int], None]) -> None:
        """Remove all it holds, and have it run again; `on_files` hears how many files are gone, on the loop."""
        await self._prepare_end()
        loop = asyncio.get_running_loop()
        try:
            async with self._link.ended(stay=False):
                await self._calls.run(lambda token: self._empty(_now_and_then(loop, on_files, token)))
        except AppError:
            await self._link.start()
            raise
        await self._link.start()

    def _empty(self, on_file: Callable[[int], None]) -> None:
        self._end_what_runs()
        lab_folder.empty(self.root, on_file)

    def _end_what_runs(self) -> None:
        """One that nobody owns; our own has ended before."""
        if root_folder.running_lab(self.root) is not None:
            lab_folder.end(self.root)

    async def _prepare_end(self) -> None:
        sight = await self.look()
        if sight.state is LabState.SILENT and sight.owner is not LabOwner.OURS:
            raise Conflict(
                text("The Lab's process {pid} does not answer.", pid=sight.pid or "–"),
                text("It may be starting or ending: wait a moment. If it stays so, end that process."),
            )
        if sight.state is LabState.RUNNING and not sight.is_ours_to_end:
            raise Conflict(user_words(sight), text("End it there, then try again."), f"process {sight.pid}")
        if sight.state is LabState.RUNNING:
            await self._end_runs()


def _now_and_then(
    loop: asyncio.AbstractEventLoop, tell: Callable[[int], Any], token: CancelToken
) -> Callable[[int], None]:
    """A counter's news from a worker, not more often than somebody can read; ends the work when asked to."""
    told_at = time.monotonic()

    def hear(count: int) -> None:
        nonlocal told_at
        token.check()
        if time.monotonic() - told_at >= _TELL_EVERY_S:
            told_at = time.monotonic()
            loop.call_soon_threadsafe(tell, count)

    return hear
