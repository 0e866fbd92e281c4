"""The second half of a move: the source is left once what arrived was seen there, and only if it is still the same."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from traindeck.domain.errors import AppError, Conflict, NotFound
from traindeck.domain.texts import text
from traindeck.domain.transfers import Action, Item, ItemState, Kind, is_plain_md5
from traindeck.runtime.platform_files import local_error
from traindeck.services.data_ports import Row
from traindeck.services.transfers.among import objects_among
from traindeck.services.transfers.bodies import is_same, look
from traindeck.services.transfers.lane import Lane, Unit
from traindeck.services.transfers.orphans import target_of
from traindeck.services.transfers.removals import not_removed


@dataclass(slots=True)
class Sources:
    """Takes away the sources of what was moved, many at a time."""

    lane: Lane

    async def feed(self, items: Sequence[Item]) -> None:
        self.lane.add(Unit(items[0], lambda: self._leave(items), fail=lambda error: self._failed(items, error)))

    async def _leave(self, items: Sequence[Item]) -> None:
        match self.lane.kind:
            case Kind.UPLOAD:
                await self._leave_files(items)
            case Kind.DOWNLOAD:
                await self._leave_objects(items, await self._missing_files(items))
            case _:
                await self._leave_objects(items, await self._missing_objects(items))

    async def _leave_files(self, items: Sequence[Item]) -> None:
        lane, missing = self.lane, await self._missing_objects(items)
        places = [(lane.place(item), item) for item in items if item.key not in missing]
        ends = await lane.ground.disk.run(lambda _: [_unlinked(place, item) for place, item in places])
        for item, error in [*ends, *((item, missing[item.key]) for item in items if item.key in missing)]:
            if error is None:
                self._left(item)
            else:
                self._stays(item, error)

    async def _leave_objects(self, items: Sequence[Item], missing: Mapping[str, AppError]) -> None:
        lane, plane = self.lane, await self.lane.plane()
        bucket = lane.record.order.remote_source.bucket
        here = await objects_among(plane, bucket, [item.key for item in items])
        stays = dict(missing)
        for item in items:
            row = here.get(item.key)
            if row is None:
                stays.pop(item.key, None)  # an earlier try got so far, or somebody else
            elif item.key not in stays and (row.etag, row.size_bytes) != (item.etag, item.size_bytes):
                stays[item.key] = _changed(str(lane.remote(item)))
        going = [item.key for item in items if item.key in here and item.key not in stays]
        refused = {one.key: one.message for one in await plane.remove(bucket, going)} if going else {}
        for item in items:
            if item.key in stays:
                row = here[item.key]
                # So that another try moves what is there now.
                self._stays(replace(item, etag=row.etag, size_bytes=row.size_bytes), stays[item.key])
            elif item.key in refused:
                lane.ended(item, ItemState.FAILED, not_removed(str(lane.remote(item)), refused[item.key]))
            else:
                self._left(item)

    async def _missing_objects(self, items: Sequence[Item]) -> dict[str, AppError]:
        """What is not at the target as it was sent there."""
        lane = self.lane
        is_copy = lane.kind is Kind.COPY
        targets = {item.key: target_of(lane, item) if is_copy else lane.remote(item) for item in items}
        bucket = next(iter(targets.values())).bucket
        there = await objects_among(await lane.plane(), bucket, [target.key for target in targets.values()])
        return {
            item.key: _not_there(str(targets[item.key]))
            for item in items
            if not _is_arrived(item, there.get(targets[item.key].key))
        }

    async def _missing_files(self, items: Sequence[Item]) -> dict[str, AppError]:
        places = [(self.lane.place(item), item) for item in items]
        found = await self.lane.ground.disk.run(lambda _: [_is_there(place, item) for place, item in places])
        return {
            item.key: _not_there(str(place))
            for (place, item), is_there in zip(places, found, strict=True)
            if not is_there
        }

    def _left(self, item: Item) -> None:
        self.lane.ended(item, ItemState.DONE, is_verified=item.is_verified)

    def _stays(self, item: Item, error: AppError) -> None:
        """Another try has to begin with moving it again."""
        self.lane.ended(replace(item, action=_first_half(item)), ItemState.FAILED, error)

    def _failed(self, items: Sequence[Item], error: AppError) -> None:
        for item in items:
            self.lane.failed(item, error)


async def forget_empty_folders(lane: Lane) -> None:
    """After a folder was moved away: what is empty now goes too."""
    if lane.failed_files:
        return
    if lane.kind is Kind.UPLOAD:
        await lane.ground.disk.run(lambda token: _remove_empty(lane.root, token.check))
    elif lane.kind is Kind.DOWNLOAD:
        # The object that stands for the folder itself did not come along.
        plane, source = await lane.plane(), lane.record.order.remote_source.as_folder()
        if source.key:
            left = (await plane.page(source.bucket, source.key, most=2)).rows
            if [(row.key, row.size_bytes) for row in left] == [(source.key, 0)]:
                await plane.remove(source.bucket, [source.key])


def _remove_empty(root: Path, check: Callable[[], None]) -> None:
    if not root.is_dir() or root.is_symlink():
        return
    for here, _, _ in os.walk(root, topdown=False):
        check()
        with suppress(OSError):  # it still holds something
            Path(here).rmdir()


def _first_half(item: Item) -> Action:
    return Action.MAKE_FOLDER if item.name.endswith("/") and not item.size_bytes else Action.MOVE


def _is_arrived(item: Item, row: Row | None) -> bool:
    if row is None or row.size_bytes != item.size_bytes:
        return False
    # An object that came in parts, or is encrypted, has another ETag at each place.
    is_known = item.is_verified and is_plain_md5(item.etag) and is_plain_md5(row.etag)
    return row.etag == item.etag or not is_known


def _is_there(place: Path, item: Item) -> bool:
    if item.name.endswith("/"):
        return place.is_dir()
    try:
        return place.stat().st_size == item.size_bytes
    except OSError:
        return False


def _unlinked(place: Path, item: Item) -> tuple[Item, AppError | None]:
    """The item as it is now, where it stays."""
    if item.name.endswith("/"):
        return item, None  # folders go when all that was in them has gone
    try:
        now = look(place, item)
        if not is_same(now, item):
            return now, _changed(str(place))
        place.unlink()
    except NotFound:
        return item, None
    except AppError as error:
        return item, error
    except OSError as error:
        return item, local_error(error, place)
    return item, None


def _changed(place: str) -> AppError:
    return Conflict(
        text("{place} has changed since it was copied, and was not removed.", place=place),
        text("Both are there now. Look at them, then try again: what is new is moved."),
    )


def _not_there(place: str) -> AppError:
    return Conflict(
        text("{place} is not what was copied there, so the source was not removed.", place=place),
        text("Somebody changed or removed it meanwhile. Try again to copy it once more."),
    )
