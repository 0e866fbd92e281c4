"""What a sync takes away, after everything else is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from traindeck.domain.errors import AppError, Conflict, NotFound
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import Text, text
from traindeck.domain.transfers.records import Item, ItemState, Kind
from traindeck.runtime.files import local_error
from traindeck.services.transfers.active import ActiveTransfer, Unit
from traindeck.services.transfers.bodies import is_same, look
from traindeck.services.transfers.orphans import target_of


@dataclass(slots=True)
class Removals:
    """Removes many with one request, or file by file on this computer."""

    active: ActiveTransfer

    async def feed(self, items: Sequence[Item]) -> None:
        self.active.add(Unit(items[0], lambda: self._remove(items), fail=lambda error: self._failed(items, error)))

    async def _remove(self, items: Sequence[Item]) -> None:
        active = self.active
        if active.kind is Kind.DOWNLOAD:
            places = [(active.place(item), item) for item in items]
            errors = await active.context.disk.run(lambda _: [_unlinked(place, item) for place, item in places])
            for item, error in zip(items, errors, strict=True):
                active.ended(item, ItemState.FAILED if error else ItemState.DONE, error)
            return
        if active.kind in (Kind.REMOVE, Kind.RESTORE):
            await self._remove_chosen(items)
            return
        target: ObjectPath = active.record.order.remote_target
        keys = [target_of(active, item).key if active.kind is Kind.COPY else item.key for item in items]
        refused = await (await active.plane()).remove(target.bucket, keys)
        left = {one.key: one for one in refused}
        for item, key in zip(items, keys, strict=True):
            one = left.get(key)
            if one is None:
                active.ended(item, ItemState.DONE)
            else:
                active.ended(item, ItemState.FAILED, not_removed(str(ObjectPath(target.bucket, key)), one.message))

    async def _remove_chosen(self, items: Sequence[Item]) -> None:
        active, plane = self.active, await self.active.plane()
        bucket = active.record.order.remote_source.bucket
        if active.kind is Kind.RESTORE:
            refused = await plane.remove_versions(bucket, {item.key: item.etag for item in items})
        else:
            refused = await plane.remove(bucket, [item.key for item in items])
        left = {one.key: one.message for one in refused}
        for item in items:
            error = not_removed(str(active.remote(item)), left[item.key]) if item.key in left else None
            active.ended(item, ItemState.FAILED if error else ItemState.DONE, error)

    def _failed(self, items: Sequence[Item], error: AppError) -> None:
        for item in items:
            self.active.failed(item, error)


def _unlinked(place: Path, item: Item) -> AppError | None:
    try:
        if not is_same(look(place, item), item):
            return Conflict(
                text("“{place}” has changed since the list was made, and was not removed.", place=str(place)),
                text("Look at it, then do it again."),
            )
        place.unlink(missing_ok=True)
    except NotFound:
        return None
    except AppError as error:
        return error
    except OSError as error:
        return local_error(error, place)
    return None


def not_removed(place: str, message: Text | str) -> AppError:
    return AppError(
        text("{place} could not be removed: {words}", place=place, words=message),
        text("Ask the owner of the bucket for the right to delete."),
    )
