"""Ending and emptying the Lab of a folder, for the window and the command line, with errors in our words."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

from traindeck.domain.errors import Conflict, LocalTrouble
from traindeck.domain.lab import LabDiskUsage
from traindeck.domain.texts import Text, text
from traindeck.lab import disk_usage, root_folder
from traindeck.lab.disk_usage import DiskUse
from traindeck.runtime.blocking import CancelToken
from traindeck.runtime.files import local_error

STOP_S = 30.0
_NO_RIGHT = {errno.EACCES, errno.EPERM, errno.EROFS}


def contents(root: Path, token: CancelToken | None = None) -> LabDiskUsage:
    """Buckets, objects and jobs; quick, but not for the loop."""
    found = disk_usage.contents(root, token.on_cancel) if token else disk_usage.contents(root)
    return LabDiskUsage(found.buckets, found.objects, found.object_bytes, found.jobs, found.live)


def disk_use(root: Path, on_bytes: Callable[[int], None] = lambda _: None) -> DiskUse:
    """Every file is looked at, which takes a while where there are many."""
    try:
        return disk_usage.disk_use(root, on_bytes)
    except OSError as error:
        raise local_error(error, root) from error


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
        root_folder.empty(root, on_file)
    except root_folder.LabRunningError as error:
        raise Conflict(
            text("A Lab is already running on “{root}”.", root=str(root)),
            text("End it with “traindeck lab stop”, then try again."),
        ) from error
    except root_folder.LeftoversError as error:
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
