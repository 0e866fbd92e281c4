"""The Lab of a folder seen, ended and emptied, for the window and the command line, with errors in our words."""

from __future__ import annotations

import errno
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from traindeck.domain.errors import Conflict, LocalTrouble
from traindeck.domain.lab import LabDiskUsage, LabOwner, LabSight, LabState
from traindeck.domain.texts import Text, text
from traindeck.lab import disk_usage, root_folder
from traindeck.runtime.files import local_errors

if TYPE_CHECKING:
    from traindeck.runtime.blocking import CancelToken

STOP_S = 30.0
_CLOCK_ERROR_S = 2.0
_NO_RIGHT = {errno.EACCES, errno.EPERM, errno.EROFS}


def seen(root: Path) -> LabSight:
    """How it stands, whoever started it."""
    lab = root_folder.running_lab(root)
    if lab is None:
        pid = root_folder.silent_pid(root, _is_of_that_time)
        return LabSight(LabState.STOPPED) if pid is None else LabSight(LabState.SILENT, pid=pid)
    owner, owner_pid = LabOwner.TERMINAL, None
    if lab.owner is not None:
        owner, owner_pid = LabOwner.WINDOW, _window_above(lab.owner)
    elif lab.ends_itself:
        owner = LabOwner.NOBODY
    started: datetime | None = None
    with suppress(ValueError):
        started = datetime.fromisoformat(lab.started)
    return LabSight(
        LabState.RUNNING,
        owner,
        owner_pid,
        pid=lab.pid,
        started=started,
        version=lab.version,
        obs=lab.obs,
        modelarts=lab.modelarts,
        iam=lab.iam,
        live_jobs=lab.live_jobs,
    )


def _window_above(pid: int) -> int:
    """A launcher of Python may stand between the window and its Lab."""
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        if _is_lab(process) and (above := process.ppid()) > 1:
            return above
    return pid


def _is_lab(process: psutil.Process) -> bool:
    words = process.cmdline()
    return "lab" in words and "serve" in words


def _is_of_that_time(pid: int, started: str) -> bool:
    """Whether the process is the one that wrote this, not a later one with its number."""
    try:
        return psutil.Process(pid).create_time() <= datetime.fromisoformat(started).timestamp() + _CLOCK_ERROR_S
    except (psutil.Error, ValueError):
        return False


def contents(root: Path, token: CancelToken | None = None) -> LabDiskUsage:
    """Buckets, objects and jobs; quick, but not for the loop."""
    return LabDiskUsage(*(disk_usage.contents(root, token.on_cancel) if token else disk_usage.contents(root)))


def with_disk(root: Path, held: LabDiskUsage, on_bytes: Callable[[int], None] = lambda _: None) -> LabDiskUsage:
    """The same with the bytes of all files: every one is looked at, which takes a while where there are many."""
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
    try:
        disk_usage.empty(root, on_file)
    except disk_usage.LabRunningError as error:
        raise Conflict(
            text("A Lab is already running on “{root}”.", root=str(root)),
            text("End it with “traindeck lab stop”, then try again."),
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


def not_ended(detail: str) -> LocalTrouble:
    return LocalTrouble(
        text("The Lab did not end."),
        text("End its process yourself; “traindeck lab status” names it."),
        detail,
    )


def _reason(error: BaseException | None) -> str:
    if not isinstance(error, OSError):
        return str(error)
    words = error.strerror or str(error)
    return f"{words}: {error.filename}" if error.filename else words


def _what_to_do(error: BaseException | None) -> Text:
    if isinstance(error, OSError) and error.errno in _NO_RIGHT:
        return text("Give yourself the right to this file or folder, then try again.")
    return text("Close what still uses its files, then try again.")
