"""Files of this computer copied to another folder of it: each verified, whole or not there, and gone on with."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from traindeck.domain.errors import Conflict, LocalTrouble
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.files import local_errors
from traindeck.services.transfers.digests import md5
from traindeck.services.transfers.local_tree import goes_through_link, unreadable
from traindeck.services.transfers.part_files import PartFile

_PIECE = 1 << 20
_BATCH = 64

OnFiles = Callable[[int, int], object]
"""So many files, and bytes of them, are there now."""


async def copied_here(disk: BlockingCalls, source: Path, target: Path, names: Sequence[str], at: OnFiles) -> int:
    """How many were copied now; what is there with its size and time was, and stays.

    A file gets its name only when its content was read back and is the same: what was cut off goes on behind it.
    """
    copied = files = size = 0
    for start in range(0, len(names), _BATCH):
        batch = names[start : start + _BATCH]
        found = await disk.run(partial(_batch, source, target, batch))
        copied += sum(is_new for is_new, _ in found)
        files += len(found)
        size += sum(size_bytes for _, size_bytes in found)
        at(files, size)
    return copied


def _batch(source: Path, target: Path, names: Sequence[str], token: CancelToken) -> list[tuple[bool, int]]:
    return [_copied(source, target, name, token) for name in names]


def _copied(source: Path, target: Path, name: str, token: CancelToken) -> tuple[bool, int]:
    token.check()
    here, there = source / name, target / name
    with local_errors(there):
        there.parent.mkdir(parents=True, exist_ok=True)
    if goes_through_link(target, there):
        raise Conflict(
            text("“{place}” is a link, so nothing was written there.", place=str(there)),
            text("Specify an empty folder, or delete the link."),
        )
    with local_errors(here):
        # Never through a link that took the place of a file meanwhile, and no pipe is waited for.
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        descriptor = os.open(here, flags)
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise unreadable(str(here))
        if _is_same(found, there):
            return False, found.st_size
        part = PartFile(there)
        try:
            digest = md5()
            with local_errors(here):
                while piece := file.read(_PIECE):
                    token.check()
                    digest.update(piece)
                    part.write(piece)
                after = os.fstat(file.fileno())
            if (after.st_size, after.st_mtime_ns) != (found.st_size, found.st_mtime_ns):
                raise Conflict(
                    text("“{place}” was changed while it was copied.", place=str(here)),
                    text("Wait until nothing writes to it, then try again."),
                )
            if part.read_back(token) != digest.digest():
                raise LocalTrouble(
                    text("“{place}” is not what was written to it.", place=str(there)),
                    text("Check the disk, then try again."),
                )
            part.finish(modified_ns=found.st_mtime_ns)
        finally:
            part.drop()
    return True, found.st_size


def _is_same(wanted: os.stat_result, there: Path) -> bool:
    """The time is given to a file just before its name, so one that has both is whole."""
    try:
        found = there.stat()
    except OSError:
        return False
    return (found.st_size, found.st_mtime_ns) == (wanted.st_size, wanted.st_mtime_ns)
