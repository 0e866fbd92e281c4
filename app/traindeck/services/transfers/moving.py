"""Copies within a service, and the second half of a move: the source goes once what arrived was seen there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from traindeck.domain.errors import AppError, Conflict
from traindeck.domain.storage.object_facts import HeadChange
from traindeck.domain.storage.objects import MD5_NAME, PART_BYTES_NAME, ObjectRow
from traindeck.domain.texts import text
from traindeck.domain.transfers.object_limits import MOST_PART_BYTES, part_bytes, part_count
from traindeck.domain.transfers.orders import Kind, Links
from traindeck.domain.transfers.records import Action, Item, ItemState, SentPart, is_plain_md5, names_content
from traindeck.runtime.files import local_error
from traindeck.services.storage.data_ports import ObjectHead
from traindeck.services.storage.errors import occupied
from traindeck.services.storage.heads import whole_head
from traindeck.services.transfers.active import ActiveTransfer
from traindeck.services.transfers.among import objects_among
from traindeck.services.transfers.bodies import SourceChanged, size_of
from traindeck.services.transfers.comparing import count_in, part_layout
from traindeck.services.transfers.digests import md5
from traindeck.services.transfers.local_tree import goes_through_link, leads_to_of
from traindeck.services.transfers.orphans import target_of
from traindeck.services.transfers.parts import PartsThere
from traindeck.services.transfers.ready import Unit
from traindeck.services.transfers.removals import not_removed, unlinked


@dataclass(slots=True)
class Sources:
    """Takes away the sources of what was moved, many at a time."""

    active: ActiveTransfer

    async def feed(self, items: Sequence[Item]) -> None:
        self.active.add(Unit(items[0], lambda: self._leave(items), others=items[1:]))

    async def _leave(self, items: Sequence[Item]) -> None:
        match self.active.kind:
            case Kind.UPLOAD:
                await self._leave_files(items)
            case Kind.DOWNLOAD:
                await self._leave_objects(items, await self._missing_files(items))
            case _:
                await self._leave_objects(items, await self._missing_objects(items))

    async def _leave_files(self, items: Sequence[Item]) -> None:
        active, missing = self.active, await self._missing_objects(items)
        places = [(active.place(item), item) for item in items if item.key not in missing]
        ends = await active.engine.disk.run(lambda _: [_left(active, place, item) for place, item in places])
        for item, error in [*ends, *((item, missing[item.key]) for item in items if item.key in missing)]:
            self._over(item, error)

    async def _leave_objects(self, items: Sequence[Item], missing: Mapping[str, AppError]) -> None:
        active, plane = self.active, await self.active.plane()
        bucket = active.record.order.remote_source.bucket
        here = await objects_among(plane, bucket, [item.key for item in items])
        stays = dict(missing)
        for item in items:
            row = here.get(item.key)
            if row is None:
                stays.pop(item.key, None)  # an earlier try got so far, or somebody else
            elif item.key not in stays and (row.etag, row.size_bytes) != (item.etag, item.size_bytes):
                stays[item.key] = _changed(str(active.remote(item)))
        going = [item.key for item in items if item.key in here and item.key not in stays]
        refused = {one.key: one.message for one in await plane.remove(bucket, going)} if going else {}
        for item in items:
            if item.key in stays:
                row = here[item.key]
                # So that another try moves what is there now.
                self._over(replace(item, etag=row.etag, size_bytes=row.size_bytes), stays[item.key])
            elif item.key in refused:
                active.ended(item, ItemState.FAILED, not_removed(str(active.remote(item)), refused[item.key]))
            else:
                self._over(item, None)

    async def _missing_objects(self, items: Sequence[Item]) -> dict[str, AppError]:
        """What is not at the target as it was sent there."""
        active = self.active
        targets = {item.key: target_of(active, item) for item in items}
        bucket = next(iter(targets.values())).bucket
        there = await objects_among(await active.plane(), bucket, [target.key for target in targets.values()])
        return {
            item.key: _not_there(str(targets[item.key]))
            for item in items
            if not _is_arrived(item, there.get(targets[item.key].key), is_sent=active.kind is Kind.UPLOAD)
        }

    async def _missing_files(self, items: Sequence[Item]) -> dict[str, AppError]:
        places = [(self.active.place(item), item) for item in items]
        order = self.active.record.order
        found = await self.active.engine.disk.run(
            lambda _: [
                place.is_symlink() if order.is_of_link(item.key) else _is_there(place, item) for place, item in places
            ]
        )
        return {
            item.key: _not_there(str(place))
            for (place, item), is_there in zip(places, found, strict=True)
            if not is_there
        }

    def _over(self, item: Item, error: AppError | None) -> None:
        """Where it stays, another try has to begin with moving it again."""
        if error is None:
            self.active.ended(item, ItemState.DONE, is_verified=item.is_verified)
        else:
            is_folder = item.name.endswith("/") and not item.size_bytes
            is_link = self.active.record.order.is_of_link(item.key)
            action = Action.MAKE_FOLDER if is_folder else Action.LINK if is_link else Action.MOVE
            again = replace(item, action=action)
            self.active.ended(again, ItemState.FAILED, error)


async def forget_empty_folders(active: ActiveTransfer) -> None:
    """After a folder was moved away: what is empty now goes too."""
    if active.failed_files or active.record.order.rules.filters:
        return
    if active.kind is Kind.UPLOAD:
        await active.engine.disk.run(lambda token: _remove_empty(active.root, token.check))
    elif active.kind is Kind.DOWNLOAD:
        # The object that stands for the folder itself did not come along.
        plane, source = await active.plane(), active.record.order.remote_source.as_folder()
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


def _is_arrived(item: Item, row: ObjectRow | None, *, is_sent: bool) -> bool:
    """`is_sent`: the item knows the ETag of the target, not that of its source."""
    if row is None or row.size_bytes != item.size_bytes:
        return False
    # An object that came in parts, or is encrypted, has another ETag at each place.
    tells = names_content if is_sent else is_plain_md5
    is_known = item.is_verified and tells(item.etag) and tells(row.etag)
    return row.etag == item.etag or not is_known


def _is_there(place: Path, item: Item) -> bool:
    return place.is_dir() if item.name.endswith("/") else size_of(place) == item.size_bytes


def _left(active: ActiveTransfer, place: Path, item: Item) -> tuple[Item, AppError | None]:
    order = active.record.order
    if order.is_of_link(item.key):
        return _unlinked_link(place, item)
    if order.rules.links is Links.FOLLOW and goes_through_link(active.root, place):
        return item, None  # what a link leads to is elsewhere, and was only copied
    return _unlinked(place, item)


def _unlinked_link(place: Path, item: Item) -> tuple[Item, AppError | None]:
    try:
        if not os.path.lexists(place):
            return item, None
        content = leads_to_of(place).encode() if place.is_symlink() else b""
        if (len(content), md5(content).hexdigest()) != (item.size_bytes, item.etag):
            return item, _changed(str(place))
        place.unlink()
    except OSError as error:
        return item, local_error(error, place)
    return item, None


def _unlinked(place: Path, item: Item) -> tuple[Item, AppError | None]:
    if item.name.endswith("/"):
        return item, None  # folders go when all that was in them has gone
    return unlinked(place, item, _changed(str(place)))


def _changed(place: str) -> AppError:
    return Conflict(
        text("{place} has changed since it was copied, and was not deleted.", place=place),
        text("Both exist now. Check them, then try again: new content is moved."),
    )


def _not_there(place: str) -> AppError:
    return Conflict(
        text("{place} differs from what was copied, so the source was not deleted.", place=place),
        text("It was changed or deleted by someone else. Try again to copy it once more."),
    )


# A copy in one request is at most this; the service would take twenty times that for hours.
_ONE_COPY_BYTES = 1024 * 1024 * 1024
_LEAST_PART_BYTES = 256 * 1024 * 1024
# So many requests are worth a copy that can be verified.
_MOST_SAME_PARTS = 1000


@dataclass(slots=True)
class Copies:
    """Makes units out of the objects of one transfer."""

    active: ActiveTransfer

    async def feed(self, items: Sequence[Item]) -> None:
        for item in items:
            if item.size_bytes > _ONE_COPY_BYTES or item.upload_id:
                self.active.add(PartedCopy(self.active, item).first_unit())
            else:
                self.active.add(Unit(item, partial(self._copy, item)))
        await self.active.room()

    async def _copy(self, item: Item) -> None:
        active = self.active
        plane, source, target = await active.plane(), active.remote(item), target_of(active, item)
        if active.is_doubtful(item) and is_plain_md5(item.etag):
            there = await plane.head(target)
            if there is not None and (there.size_bytes, there.etag) == (item.size_bytes, item.etag):
                active.count(item.size_bytes)
                active.ended(item, ItemState.DONE, is_verified=True)
                return
        if active.record.order.rules.keeps_existing and await plane.head(target) is not None:
            raise occupied(target)
        head = await _said_of(active, item)
        try:
            stored = await plane.copy(source, target, head=head, if_match=item.etag)
        except Conflict:
            found = await plane.head(source)
            if found is None or found.etag == item.etag:
                raise
            item = replace(item, etag=found.etag, size_bytes=found.size_bytes)
            stored = await plane.copy(source, target, head=head, if_match=item.etag)
        active.count(item.size_bytes)
        active.ended(item, ItemState.DONE, is_verified=is_plain_md5(item.etag) and stored.etag == item.etag)


async def _said_of(active: ActiveTransfer, item: Item) -> dict[str, str] | None:
    """What is to be said about a copy, spelled as OBS does; None: what is said about its source."""
    rules = active.record.order.rules
    head = {"x-obs-storage-class": rules.storage_class} if rules.storage_class else {}
    if rules.content_type or rules.metadata:
        head |= await _all_said_of(active, item, rules.metadata) | {"x-obs-metadata-directive": "REPLACE"}
    return head or None


async def _all_said_of(active: ActiveTransfer, item: Item, metadata: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Only all of it can be replaced, so what stays is said again."""
    facts = await (await active.plane()).facts(active.remote(item))
    return whole_head(facts, HeadChange(active.record.order.rules.content_type or None, metadata=dict(metadata)))


class PartedCopy(PartsThere):
    """One object too large to be copied in one request."""

    async def take_up(self, kept: Mapping[int, SentPart]) -> dict[int, SentPart] | None:
        item, found = self.item, await self.active.head(self.item)
        is_same = bool(item.etag) and (found.etag, found.size_bytes) == (item.etag, item.size_bytes)
        if item.upload_id and item.part_bytes and is_same:
            listed = await (await self.active.plane()).parts(self.target, item.upload_id)
            if listed is not None:
                there = {part.number: part.etag for part in listed if part.etag}
                return {number: part for number, part in kept.items() if there.get(number) == part.etag}
        elif item.upload_id:
            await self.drop()
        await self._begin_anew(found)
        return {}

    def memory_of(self, number: int) -> int:
        return 0

    async def _begin_anew(self, found: ObjectHead) -> None:
        rules, size = self.active.record.order.rules, part_layout(found)
        if rules.part_bytes:
            size = rules.part_bytes
        elif not size or part_count(found.size_bytes, size) > _MOST_SAME_PARTS:
            size = min(MOST_PART_BYTES, max(_LEAST_PART_BYTES, part_bytes(found.size_bytes)))
        # What it says of its parts must be true of the copy.
        metadata = dict(rules.metadata) | {PART_BYTES_NAME: str(size)}
        if not found.is_encrypted and is_plain_md5(found.etag):
            metadata[MD5_NAME] = found.etag
        now = replace(self.item, etag=found.etag, size_bytes=found.size_bytes, part_bytes=size)
        head = await _all_said_of(self.active, self.item, metadata.items())
        if rules.storage_class:
            head["x-obs-storage-class"] = rules.storage_class
        await self.begin_there(now, {}, head)

    async def move(self, number: int) -> SentPart:
        active, item = self.active, self.item
        size = self.size_of(number)
        try:
            part = await (await active.plane()).copy_part(
                active.remote(item), self.target, item.upload_id, number,
                self.offset_of(number), size, item.etag,
            )  # fmt: skip
        except Conflict as error:
            if (await active.head(item)).etag == item.etag:
                raise
            raise SourceChanged from error
        active.count(size)
        return SentPart(number, size, part.etag)

    async def finish(self) -> bool:
        """A service that does not heed the condition may have taken the parts from two versions."""
        active, item = self.active, self.item
        found = await active.head(item)
        if (found.etag, found.size_bytes) != (item.etag, item.size_bytes):
            return False
        etag = await self.finish_there()
        if etag is None:
            return False
        # The same parts of the same content have the same name.
        active.ended(item, ItemState.DONE, is_verified=bool(count_in(item.etag)) and etag == item.etag)
        return True

    def given_up(self) -> AppError:
        return Conflict(
            text("{place} keeps changing and was not copied.", place=str(self.active.remote(self.item))),
            text("Wait until it is no longer written, then try again."),
        )
