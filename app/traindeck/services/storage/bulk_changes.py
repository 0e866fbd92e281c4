"""Going through many objects, folders with all below them: counting them, and changing each."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from traindeck.domain.errors import AppError, KeysRefused, Unreachable
from traindeck.domain.storage.buckets import BulkReport, Tally
from traindeck.domain.storage.object_facts import FROZEN_CLASSES, HeadChange, RestoreSpeed
from traindeck.domain.storage.objects import ObjectEntry, ObjectPath, outermost
from traindeck.runtime.tasks import few_at_once, safely
from traindeck.services.storage.documents import our_class
from traindeck.services.storage.listing import PageSource, Piece, Sweep, entry_of

if TYPE_CHECKING:
    from traindeck.services.storage.sdk.objects import ObsObjects

AT_ONCE = 8
MOST_TOLD = 1000

ChangeObject = Callable[[ObjectEntry], Awaitable[bool]]
"""Whether there was anything to change."""


async def each(
    source: PageSource, chosen: Sequence[ObjectEntry], take: Callable[[list[ObjectEntry]], Awaitable[None]]
) -> None:
    """Hand on every object among these and below the folders among them, each once."""
    folders = outermost(entry.path for entry in chosen if entry.path.is_folder)
    single = [entry for entry in chosen if not (entry.path.is_folder or _is_below(entry.path, folders))]
    if single:
        await take(single)
    for folder in folders:

        async def hand_on(piece: Piece) -> None:
            # The empty object that stands for a folder has neither class nor metadata that anybody means.
            rows = [entry_of(folder.bucket, row) for row in piece.rows if not row.key.endswith("/") or row.size_bytes]  # noqa: B023
            if rows:
                await take(rows)

        await Sweep(source, folder).run(hand_on)


async def tally(source: PageSource, chosen: Sequence[ObjectEntry], on_progress: Callable[[Tally], None]) -> Tally:
    """Count them; `on_progress` hears how far it is."""
    objects = size_bytes = 0
    classes: dict[str, tuple[int, int]] = {}

    async def count(entries: list[ObjectEntry]) -> None:
        nonlocal objects, size_bytes
        for entry in entries:
            size = entry.size_bytes or 0
            name = our_class(entry.storage_class)
            known = classes.get(name, (0, 0))
            classes[name] = (known[0] + 1, known[1] + size)
            objects, size_bytes = objects + 1, size_bytes + size
        safely(on_progress)(Tally(objects, size_bytes, dict(classes)))

    await each(source, chosen, count)
    return Tally(objects, size_bytes, classes)


@dataclass(slots=True)
class BulkChange:
    """Does the same to each object, several at once; one that fails does not keep the others from it."""

    source: PageSource
    work: ChangeObject
    on_progress: Callable[[BulkReport], None]
    report: BulkReport = field(default_factory=BulkReport)

    async def run(self, chosen: Sequence[ObjectEntry]) -> BulkReport:
        """KeysRefused, Unreachable: then none of the rest would fare better, and it is ended."""
        async with few_at_once(AT_ONCE) as start:

            async def take(entries: list[ObjectEntry]) -> None:
                for entry in entries:
                    await start(partial(self._change, entry))

            await each(self.source, chosen, take)
        return self.report

    async def _change(self, entry: ObjectEntry) -> None:
        try:
            is_changed = await self.work(entry)
        except (KeysRefused, Unreachable):
            raise
        except AppError as error:
            was = self.report
            failures = (*was.failures, (entry.path, error))[:MOST_TOLD]
            self.report = replace(was, failed=was.failed + 1, failures=failures)
        else:
            was = self.report
            self.report = replace(was, changed=was.changed + is_changed, left_alone=was.left_alone + (not is_changed))
        safely(self.on_progress)(self.report)


def changing(objects: ObsObjects, change: HeadChange) -> ChangeObject:
    """Say the same differently about each."""
    change.check()
    only_class = change == HeadChange(storage_class=change.storage_class)

    async def work(entry: ObjectEntry) -> bool:
        if only_class and our_class(entry.storage_class) == change.storage_class:
            return False
        return await objects.ensure(entry.path, change)

    return work


def restoring(objects: ObsObjects, days: int, speed: RestoreSpeed) -> ChangeObject:
    """Make those readable that are archived."""

    async def work(entry: ObjectEntry) -> bool:
        if entry.storage_class and our_class(entry.storage_class) not in FROZEN_CLASSES:
            return False
        await objects.restore(entry.path, days, speed)
        return True

    return work


def _is_below(path: ObjectPath, folders: Sequence[ObjectPath]) -> bool:
    """In order, and none below another: then only the last one before it can hold it."""
    before = bisect_right(folders, path)
    return before > 0 and folders[before - 1].holds(path)
