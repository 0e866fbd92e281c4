"""Within the service: no byte comes here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from traindeck.domain.errors import AppError, Conflict, NotFound
from traindeck.domain.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.domain.transfers import (
    MD5_NAME,
    MOST_PART_BYTES,
    PART_BYTES_NAME,
    Item,
    ItemState,
    SentPart,
    is_plain_md5,
    part_bytes,
    part_count,
)
from traindeck.services.data_ports import Found, Part
from traindeck.services.transfers.bodies import SourceChanged
from traindeck.services.transfers.lane import Lane, Unit
from traindeck.services.transfers.orphans import remove_orphans, target_of
from traindeck.services.transfers.parted import InParts
from traindeck.services.transfers.signs import count_in, part_layout

# A copy in one request is at most this; the service would take twenty times that for hours.
_ONE_COPY_BYTES = 1024 * 1024 * 1024
_LEAST_PART_BYTES = 256 * 1024 * 1024
# So many requests are worth a copy that can be verified.
_MOST_SAME_PARTS = 1000


@dataclass(slots=True)
class Copies:
    """Makes units out of the objects of one transfer."""

    lane: Lane

    async def feed(self, items: Sequence[Item]) -> None:
        for item in items:
            if item.size_bytes > _ONE_COPY_BYTES or item.upload_id:
                self.lane.add(PartedCopy(self.lane, item).first_unit())
            else:
                self.lane.add(Unit(item, partial(self._copy, item)))
        await self.lane.room()

    async def make_folders(self, items: Sequence[Item]) -> None:
        await self.feed(items)

    async def _copy(self, item: Item) -> None:
        lane = self.lane
        plane, source, target = await lane.plane(), lane.remote(item), target_of(lane, item)
        if lane.is_doubtful(item) and is_plain_md5(item.etag):
            there = await plane.head(target)
            if there is not None and (there.size_bytes, there.etag) == (item.size_bytes, item.etag):
                lane.count(item.size_bytes)
                lane.ended(item, ItemState.DONE, is_verified=True)
                return
        try:
            stored = await plane.copy(source, target, if_match=item.etag)
        except Conflict:
            found = await plane.head(source)
            if found is None or found.etag == item.etag:
                raise
            item = replace(item, etag=found.etag, size_bytes=found.size_bytes)
            stored = await plane.copy(source, target, if_match=item.etag)
        lane.count(item.size_bytes)
        lane.ended(item, ItemState.DONE, is_verified=is_plain_md5(item.etag) and stored.etag == item.etag)


class PartedCopy(InParts):
    """One object too large to be copied in one request."""

    async def take_up(self, kept: Mapping[int, SentPart]) -> dict[int, SentPart] | None:
        lane, item = self.lane, self.item
        plane, target = await lane.plane(), target_of(lane, item)
        found = await self._source()
        is_same = bool(item.etag) and (found.etag, found.size_bytes) == (item.etag, item.size_bytes)
        if item.upload_id and item.part_bytes and is_same:
            listed = await plane.parts(target, item.upload_id)
            if listed is not None:
                there = {part.number: part.etag for part in listed if part.etag}
                return {number: part for number, part in kept.items() if there.get(number) == part.etag}
        elif item.upload_id:
            await self.drop()
        await self._begin_anew(found, target)
        return {}

    def memory_of(self, number: int) -> int:
        return 0

    async def _source(self) -> Found:
        found = await (await self.lane.plane()).head(self.lane.remote(self.item))
        if found is None:
            raise NotFound(
                text("{place} is no longer there.", place=str(self.lane.remote(self.item))),
                text("It was deleted or moved since the list was made. Refresh the list."),
            )
        return found

    async def _begin_anew(self, found: Found, target: ObjectPath) -> None:
        lane = self.lane
        size = part_layout(found)
        if not size or part_count(found.size_bytes, size) > _MOST_SAME_PARTS:
            size = min(MOST_PART_BYTES, max(_LEAST_PART_BYTES, part_bytes(found.size_bytes)))
        # The metadata goes along, and what it says of the parts must be true of the copy.
        metadata = dict(found.metadata) | {PART_BYTES_NAME: str(size)}
        if not found.is_encrypted and is_plain_md5(found.etag):
            metadata[MD5_NAME] = found.etag
        if self.item.part_bytes and not self.item.upload_id:
            await remove_orphans(lane, [target])
        self.item = replace(self.item, etag=found.etag, size_bytes=found.size_bytes, upload_id="", part_bytes=size)
        lane.begun.add(target)
        await lane.ground.journal.begin_parts(lane.id, self.item)
        upload_id = await (await lane.plane()).begin_upload(target, metadata)
        self.item = replace(self.item, upload_id=upload_id)
        await lane.ground.journal.begin_parts(lane.id, self.item)

    async def move(self, number: int) -> SentPart:
        lane, item = self.lane, self.item
        size = self.size_of(number)
        try:
            part = await (await lane.plane()).copy_part(
                lane.remote(item), target_of(lane, item), item.upload_id, number,
                (number - 1) * item.part_bytes, size, item.etag,
            )  # fmt: skip
        except Conflict as error:
            if (await self._source()).etag == item.etag:
                raise
            raise SourceChanged from error
        lane.count(size)
        return SentPart(number, size, part.etag)

    async def finish(self) -> bool:
        """A service that does not heed the condition may have taken the parts from two versions."""
        lane, item = self.lane, self.item
        found = await self._source()
        if (found.etag, found.size_bytes) != (item.etag, item.size_bytes):
            return False
        parts = [Part(part.number, part.size_bytes, part.etag) for _, part in sorted(self.parts.items())]
        try:
            stored = await (await lane.plane()).finish_upload(target_of(lane, item), item.upload_id, parts)
        except (NotFound, Conflict):
            # Somebody took the upload away, or a part of it was replaced.
            return False
        # The same parts of the same content have the same name.
        lane.ended(item, ItemState.DONE, is_verified=bool(count_in(item.etag)) and stored.etag == item.etag)
        return True

    async def drop(self) -> None:
        item = self.item
        if item.upload_id:
            await (await self.lane.plane()).abort_upload(target_of(self.lane, item), item.upload_id)
        self.item = replace(item, upload_id="", part_bytes=0)

    def given_up(self) -> AppError:
        return Conflict(
            text("{place} changes all the time and was not copied.", place=str(self.lane.remote(self.item))),
            text("Wait until whoever writes it is done, then try again."),
        )
