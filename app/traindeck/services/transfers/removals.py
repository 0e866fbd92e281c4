"""What a sync takes away, after everything else is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from traindeck.domain.errors import AppError, Conflict, NotFound
from traindeck.domain.texts import Text, text
from traindeck.domain.transfers.orders import Kind
from traindeck.domain.transfers.records import Item, ItemState
from traindeck.runtime.files import local_error
from traindeck.services.transfers.active import ActiveTransfer
from traindeck.services.transfers.bodies import is_same, look
from traindeck.services.transfers.orphans import target_of
from traindeck.services.transfers.ready import Unit


@dataclass(slots=True)
class Removals:
    """Removes many with one request, or file by file on this computer."""

    active: ActiveTransfer

    async def feed(self, items: Sequence[Item]) -> None:
        self.active.add(Unit(items[0], lambda: self._remove(items), others=items[1:]))

    async def _remove(self, items: Sequence[Item]) -> None:
        is_here = self.active.kind is Kind.DOWNLOAD
        errors = await (self._unlink(items) if is_here else self._ask_to_remove(items))
        for item, error in zip(items, errors, strict=True):
            self.active.ended(item, ItemState.FAILED if error else ItemState.DONE, error)

    async def _unlink(self, items: Sequence[Item]) -> list[AppError | None]:
        places = [(self.active.place(item), item) for item in items]
        return await self.active.engine.disk.run(lambda _: [_unlinked(place, item) for place, item in places])

    async def _ask_to_remove(self, items: Sequence[Item]) -> list[AppError | None]:
        active, plane = self.active, await self.active.plane()
        paths = [target_of(active, item) for item in items]
        if active.kind is Kind.RESTORE:
            refused = await plane.remove_versions(paths[0].bucket, [(item.key, item.etag) for item in items])
        else:
            refused = await plane.remove(paths[0].bucket, [path.key for path in paths])
        left = {one.key: one.message for one in refused}
        return [not_removed(str(path), left[path.key]) if path.key in left else None for path in paths]


def _unlinked(place: Path, item: Item) -> AppError | None:
    changed = Conflict(
        text("“{place}” has changed since it was listed, and was not deleted.", place=str(place)),
        text("Check it, then start again."),
    )
    return unlinked(place, item, changed)[1]


def unlinked(place: Path, item: Item, changed: AppError) -> tuple[Item, AppError | None]:
    """Remove a file that is still the same; the item as it is now, and why it stays."""
    try:
        now = look(place, item)
        if not is_same(now, item):
            return now, changed
        place.unlink(missing_ok=True)
    except NotFound:
        return item, None
    except AppError as error:
        return item, error
    except OSError as error:
        return item, local_error(error, place)
    return item, None


def not_removed(place: str, message: Text | str) -> AppError:
    return AppError(
        text("{place} could not be deleted: {words}", place=place, words=message),
        text("Ask the owner of the bucket for permission to delete."),
    )
