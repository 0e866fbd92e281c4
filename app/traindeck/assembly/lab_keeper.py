"""The Lab of a folder seen, ended and emptied, and that of this home kept; with errors in our words."""

from __future__ import annotations

import asyncio
import errno
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traindeck.domain.errors import AppError, Conflict, LocalTrouble
from traindeck.domain.lab import LabDiskUsage, LabOwner, LabSight, LabState, user_words
from traindeck.domain.texts import Text, text
from traindeck.lab import root_folder
from traindeck.runtime.files import local_errors

if TYPE_CHECKING:  # the command line only looks at the folder
    from traindeck.assembly.lab_link import LabLink
    from traindeck.domain.jobs.job import Run
    from traindeck.runtime.blocking import BlockingCalls, CancelToken

log = logging.getLogger(__name__)

_TELL_EVERY_S = 0.1
STOP_S = 30.0
_NO_RIGHT = {errno.EACCES, errno.EPERM, errno.EROFS}


def seen(root: Path) -> LabSight:
    """How it stands, whoever started it."""
    lab = root_folder.living_lab(root)
    if lab is None:
        return LabSight(LabState.STOPPED)
    if not isinstance(lab, root_folder.RunningLab):
        return LabSight(LabState.SILENT, pid=lab.pid)
    owner, owner_pid = LabOwner.TERMINAL, None
    if lab.owner is not None:
        owner, owner_pid = LabOwner.WINDOW, _window_above(lab.owner)
    elif lab.ends_itself:
        owner = LabOwner.NOBODY
    started: datetime | None = None
    with suppress(ValueError):
        started = datetime.fromisoformat(lab.started)
    same = {name: getattr(lab, name) for name in ("pid", "version", "obs", "modelarts", "iam", "live_jobs")}
    return LabSight(LabState.RUNNING, owner, owner_pid, started=started, **same)


def _window_above(pid: int) -> int:
    """A launcher of Python may stand between the window and its Lab."""
    import psutil  # when somebody looks at a Lab

    with suppress(psutil.Error):
        process = psutil.Process(pid)
        if {"lab", "serve"} <= set(process.cmdline()) and (above := process.ppid()) > 1:
            return above
    return pid


def contents(root: Path, token: CancelToken | None = None) -> LabDiskUsage:
    """Buckets, objects and jobs; quick, but not for the loop."""
    from traindeck.lab import disk_usage  # much to load, and only for who looks into a Lab

    return LabDiskUsage(*(disk_usage.contents(root, token.on_cancel) if token else disk_usage.contents(root)))


def with_disk(root: Path, held: LabDiskUsage, on_bytes: Callable[[int], None] = lambda _: None) -> LabDiskUsage:
    """The same with the bytes of all files: every one is looked at, which takes a while where there are many."""
    from traindeck.lab import disk_usage

    with local_errors(root):
        use = disk_usage.disk_use(root, on_bytes)
    return replace(held, disk_bytes=use.size_bytes, disk_is_whole=use.is_whole)


def end(root: Path) -> None:
    """End the Lab that runs on this folder, with its jobs."""
    try:
        is_over = root_folder.stop(root, STOP_S)
    except OSError as error:
        raise not_ended(str(error)) from error
    if not is_over:
        raise not_ended("")


def empty(root: Path, on_file: Callable[[int], None] = lambda _: None) -> None:
    """Remove what the Lab holds; its keys stay, and so does everything TrainDeck keeps elsewhere."""
    from traindeck.lab import disk_usage

    try:
        disk_usage.empty(root, on_file)
    except disk_usage.LabRunningError as error:
        raise Conflict(
            text("A Lab is already running on “{root}”.", root=str(root)),
            text("Stop it with “traindeck lab stop”, then try again."),
        ) from error
    except disk_usage.LeftoversError as error:
        reason = _reason(error.__cause__)
        raise LocalTrouble(
            text("The Lab is empty, but its old files could not all be removed: {reason}", reason=reason),
            _what_to_do(error.__cause__),
            str(error.__cause__),
        ) from error
    except OSError as error:
        raise LocalTrouble(
            text("The Lab could not be emptied: {reason}", reason=_reason(error)), _what_to_do(error), str(error)
        ) from error


def silent(sight: LabSight) -> Conflict:
    return Conflict(
        text("The Lab process {pid} is not responding.", pid=sight.pid or "–"),
        text("It may be starting or stopping. Wait a moment; if nothing changes, end that process."),
    )


def not_ended(detail: str) -> LocalTrouble:
    return LocalTrouble(
        text("The Lab did not stop."),
        text("End its process; “traindeck lab status” shows the process ID."),
        detail,
    )


def _reason(error: BaseException | None) -> str:
    if not isinstance(error, OSError):
        return str(error)
    words = error.strerror or str(error)
    return f"{words}: {error.filename}" if error.filename else words


def _what_to_do(error: BaseException | None) -> Text:
    if isinstance(error, OSError) and error.errno in _NO_RIGHT:
        return text("Grant yourself permission for this file or folder, then try again.")
    return text("Close the programs that use its files, then try again.")


async def _none() -> Sequence[Run]:
    return ()


async def _unstopped(_: str) -> None:
    """Who has no runs there has none to stop."""


class LabKeeper:
    """Looks in workers; `calls` is its own, so that a long count delays nobody else."""

    def __init__(
        self,
        root: Path,
        link: LabLink,
        calls: BlockingCalls,
        end_runs: Callable[[], Awaitable[None]],
        own_runs: Callable[[], Awaitable[Sequence[Run]]] = _none,
        stop_run: Callable[[str], Awaitable[object]] = _unstopped,
    ) -> None:
        """`end_runs` stops the jobs on record there, so that their records and logs tell how they ended.

        `own_runs` are those that this program itself began, and `stop_run` stops one of them.
        """
        self.root = root
        self._link = link
        self._calls = calls
        self._end_runs = end_runs
        self._own_runs = own_runs
        self._stop_run = stop_run

    async def look(self) -> LabSight:
        """How it stands at this moment."""
        sight = await self._calls.run(lambda _: seen(self.root))
        if sight.state is LabState.STOPPED and self._link.is_starting:
            return replace(sight, state=LabState.STARTING)
        if self._link.owns_process:
            return replace(sight, owner=LabOwner.OURS, owner_pid=None)
        return sight

    async def contents(self) -> LabDiskUsage:
        """Buckets, objects and jobs; not the disk."""
        return await self._calls.run(lambda token: contents(self.root, token))

    async def measure(self, on_part: Callable[[LabDiskUsage], None]) -> LabDiskUsage:
        """All of it; `on_part` hears what is known so far, on the loop."""
        held = await self.contents()
        on_part(held)
        loop = asyncio.get_running_loop()

        def count(token: CancelToken) -> LabDiskUsage:
            def tell(size_bytes: int) -> None:
                on_part(replace(held, disk_bytes=size_bytes))

            return with_disk(self.root, held, _now_and_then(loop, tell, token))

        return await self._calls.run(count)

    async def start(self) -> None:
        await self._link.start()

    async def stop(self) -> None:
        """End it with its jobs; it stays ended until it is started by hand."""
        await self._prepare_end()
        async with self._link.ended(stay=True):
            await self._calls.run(lambda _: self._end_what_runs())

    async def leave(self) -> None:
        """This program ends, and its own Lab with it; with a job of another program in it that one lives on."""
        if not self._link.owns_process:
            return
        own = {run.name: run for run in await self._own_runs()}
        live = set((await self.contents()).live)
        if live <= own.keys():
            await self._link.close()
            return
        log.info("the Lab is left to the jobs of another program")
        for run in (own[name] for name in live & own.keys()):
            try:
                await self._stop_run(run.id)
            except AppError as error:
                log.warning("a run of the Lab could not be stopped: %s %s", error, error.detail)
        await self._link.close(keep_running=True)

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
        empty(self.root, on_file)

    def _end_what_runs(self) -> None:
        """One that nobody owns; our own has ended before."""
        if root_folder.living_lab(self.root) is not None:
            end(self.root)

    async def _prepare_end(self) -> None:
        sight = await self.look()
        if sight.state is LabState.SILENT and sight.owner is not LabOwner.OURS:
            raise silent(sight)
        if sight.state is LabState.RUNNING and not sight.is_ours_to_end:
            raise Conflict(user_words(sight), text("Stop it there, then try again."), f"process {sight.pid}")
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
