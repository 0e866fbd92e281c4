"""Finding what a small dataset is made of, in a folder of this computer or of a service, and copying it here."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from traindeck.domain.errors import Conflict
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.domain.transfers.orders import Links
from traindeck.domain.transfers.sync_rules import IgnoreRules
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.files import local_errors
from traindeck.services.storage.listing import Piece, Sweep, nothing_there
from traindeck.services.storage.wire.data_plane import DataPlane
from traindeck.services.transfers.local_tree import LocalEntry, LocalTree
from traindeck.services.transfers.sides import some_entries

TakeFile = Callable[[str, int], None]
_PART = ".part"


async def files_here(disk: BlockingCalls, folder: Path, take: TakeFile) -> list[LocalEntry]:
    """Every file in it; the answer is what could not be read, or is a link."""
    walk = LocalTree(folder, IgnoreRules(()), Links.SKIP).entries()
    left: list[LocalEntry] = []
    with local_errors(folder):
        while entries := await disk.run(lambda token: some_entries(walk, token)):
            left += [entry for entry in entries if entry.problem is not None]
            # What is in a folder that cannot be read might have been chosen: the same dataset cannot be made.
            if (gap := next((entry.problem for entry in left if entry.is_gap), None)) is not None:
                raise gap
            for entry in entries:
                if entry.problem is None and not entry.name.endswith("/"):
                    take(entry.name, entry.size_bytes)
    return left


async def files_there(plane: DataPlane, folder: ObjectPath, take: TakeFile, *, may_be_empty: bool = False) -> None:
    is_empty = True

    async def hand_on(piece: Piece) -> None:
        nonlocal is_empty
        for row in piece.rows:
            is_empty = False
            if not row.key.endswith("/"):
                take(row.key[len(folder.key) :], row.size_bytes)

    await Sweep(plane, folder).run(hand_on)
    if is_empty and not may_be_empty:
        raise nothing_there(folder)


def refuse_others(place: str, there: set[str], wanted: Sequence[str]) -> None:
    """A dataset that is mixed with another one is neither; one that was interrupted may go on."""
    others = there - set(wanted)
    if others:
        raise Conflict(
            text("{place} already contains other files, such as {name}.", place=place, name=min(others)),
            text("Specify an empty folder, or delete its files first."),
        )


def copied_here(source: Path, target: Path, names: Sequence[str], token: CancelToken) -> int:
    """Blocks. How many were copied; what is there with its size and time stays."""
    count = 0
    for name in names:
        token.check()
        here, there = source / name, target / name
        with local_errors(there):
            there.parent.mkdir(parents=True, exist_ok=True)
        if not _is_same(here, there):
            part = there.with_name(there.name + _PART)
            with local_errors(here):
                shutil.copy2(here, part)
                part.replace(there)
            count += 1
    return count


def _is_same(here: Path, there: Path) -> bool:
    try:
        found, wanted = there.stat(), here.stat()
    except OSError:
        return False
    return (found.st_size, found.st_mtime_ns) == (wanted.st_size, wanted.st_mtime_ns)
