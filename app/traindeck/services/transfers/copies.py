"""Within the service: no byte comes here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from traindeck.domain.errors import Conflict, NotFound
from traindeck.domain.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.domain.transfers import (
    MD5_NAME,
    MOST_PART_BYTES,
    Item,
    ItemState,
    SentPart,
    is_plain_md5,
    part_bytes,
    part_count,
)
from traindeck.services.data_ports import Found, Part
from traindeck.services.transfers.lane import Lane, Unit
from traindeck.services.transfers.pieces import Pieces

# A copy in one request is at most this; the service would take twenty times that for hours.
_ONE_COPY_BYTES = 1024 * 1024 * 1024
_LEAST_PART_BYTES = 256 * 1024 * 1024


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


@dataclass(slots=True)
class PartedCopy:
    """One object too large to be copied in one request."""

    lane: Lane
    item: Item
    sent: dict[int, SentPart] = field(default_factory=dict)
    pieces: Pieces = field(init=False)

    def __post_init__(self) -> None:
        self.pieces = Pieces(self.lane, lambda: self.item, self._finish)

    def first_unit(self) -> Unit:
        return self.pieces.first_unit(self._begin)

    async def _begin(self) -> None:
        lane, item = self.lane, self.item
        plane, target = await lane.plane(), target_of(lane, item)
        found = await plane.head(lane.remote(item))
        if found is None:
            raise NotFound(
                text("{place} is no longer there.", place=str(lane.remote(item))),
                text("It was deleted or moved since the list was made. Refresh the list."),
            )
        await lane.ground.ledger.flush()
        kept = {part.number: part for part in await lane.ground.journal.parts(lane.id, item.key)}
        listed = None
        if item.upload_id and item.part_bytes and (found.etag, found.size_bytes) == (item.etag, item.size_bytes):
            listed = await plane.parts(target, item.upload_id)
        elif item.upload_id:
            await plane.abort_upload(target, item.upload_id)
        if listed is None:
            lane.count(-sum(part.size_bytes for part in kept.values()))
            await self._begin_anew(found, target)
            self.sent = {}
        else:
            there = {part.number: part.etag for part in listed}
            self.sent = {number: part for number, part in kept.items() if there.get(number) == part.etag}
            lane.count(-sum(part.size_bytes for number, part in kept.items() if number not in self.sent))
        count = part_count(self.item.size_bytes, self.item.part_bytes)
        missing = [number for number in range(1, count + 1) if number not in self.sent]
        await self.pieces.hand_out(missing, lambda _: 0, self._copy)

    async def _begin_anew(self, found: Found, target: ObjectPath) -> None:
        lane = self.lane
        size = min(MOST_PART_BYTES, max(_LEAST_PART_BYTES, part_bytes(found.size_bytes)))
        metadata = dict(found.metadata)
        if not found.is_encrypted and is_plain_md5(found.etag):
            metadata[MD5_NAME] = found.etag
        upload_id = await (await lane.plane()).begin_upload(target, metadata)
        self.item = replace(
            self.item, etag=found.etag, size_bytes=found.size_bytes, upload_id=upload_id, part_bytes=size
        )
        await lane.ground.journal.begin_parts(lane.id, self.item)

    async def _copy(self, number: int) -> None:
        lane, item = self.lane, self.item
        offset = (number - 1) * item.part_bytes
        size = min(item.part_bytes, item.size_bytes - offset)
        part = await (await lane.plane()).copy_part(
            lane.remote(item), target_of(lane, item), item.upload_id, number, offset, size, item.etag
        )
        self.sent[number] = SentPart(number, size, part.etag)
        lane.count(size)
        lane.part_done(item, self.sent[number])

    async def _finish(self) -> None:
        lane, item = self.lane, self.item
        parts = [Part(part.number, part.size_bytes, part.etag) for _, part in sorted(self.sent.items())]
        await (await lane.plane()).finish_upload(target_of(lane, item), item.upload_id, parts)
        lane.ended(item, ItemState.DONE)


def target_of(lane: Lane, item: Item) -> ObjectPath:
    """Where a copy goes."""
    bucket, _, key = lane.record.root.removeprefix("obs://").partition("/")
    return ObjectPath(bucket, key + item.name)
