"""From this computer to the service: small files many at a time, large ones in parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial

from traindeck.domain.errors import AppError, Conflict, LocalTrouble, NotFound, NotOffered
from traindeck.domain.texts import text
from traindeck.domain.transfers import (
    PART_BYTES_NAME,
    SINGLE_PUT_BYTES,
    Item,
    ItemState,
    SentPart,
    is_plain_md5,
    part_bytes,
    part_count,
    refusal,
)
from traindeck.services.data_ports import Body, Part
from traindeck.services.transfers.bodies import (
    CHANGED_TRIES,
    IN_MEMORY_BYTES,
    Content,
    SourceChanged,
    is_same,
    keeps_changing,
    look,
    read_some,
    stretch,
)
from traindeck.services.transfers.digests import etag_of_parts, md5
from traindeck.services.transfers.lane import Lane, Unit
from traindeck.services.transfers.moved import Moved
from traindeck.services.transfers.pieces import Pieces
from traindeck.services.transfers.sources import FileSource, Source, metadata_of

# Above this the file is read by whoever sends it.
_READ_AHEAD_BYTES = 1024 * 1024
_BATCH_FILES = 256
_BATCH_BYTES = 4 * 1024 * 1024
_CLOCKS_APART = timedelta(minutes=15)


@dataclass(slots=True)
class Uploads:
    """Makes units out of the files of one transfer."""

    lane: Lane

    async def feed(self, items: Sequence[Item]) -> None:
        small: list[Item] = []
        small_bytes = 0
        for item in items:
            if item.size_bytes > _READ_AHEAD_BYTES or item.upload_id:
                self._add_large(item)
                continue
            small.append(item)
            small_bytes += item.size_bytes
            if len(small) >= _BATCH_FILES or small_bytes >= _BATCH_BYTES:
                await self._read(small)
                small, small_bytes = [], 0
        if small:
            await self._read(small)

    async def make_folders(self, items: Sequence[Item]) -> None:
        for item in items:
            self.lane.add(Unit(item, partial(self._make_folder, item)))

    async def _make_folder(self, item: Item) -> None:
        lane = self.lane
        await (await lane.plane()).put(lane.remote(item), Content(b"", md5().digest(), lane.ground.limit))
        lane.ended(item, ItemState.DONE, is_verified=True)

    async def _read(self, items: Sequence[Item]) -> None:
        lane = self.lane
        await lane.room()
        root = lane.record.root
        places = [(f"{root}/{item.name}" if item.name else root, item) for item in items]
        limit = lane.ground.limit
        found = await lane.ground.disk.run(lambda token: read_some(places, limit, _READ_AHEAD_BYTES, token))
        for item, content in found:
            if isinstance(content, AppError):
                lane.failed(item, content)
            elif content is None:
                self._add_large(item)
            else:
                lane.add(Unit(item, partial(self._send, item, content), content.size_bytes))

    def _add_large(self, item: Item) -> None:
        if item.size_bytes > SINGLE_PUT_BYTES or item.upload_id:
            self.lane.add(PartedUpload(self.lane, item, FileSource(self.lane)).first_unit())
        else:
            memory = min(item.size_bytes, IN_MEMORY_BYTES)
            self.lane.add(Unit(item, partial(self._send_whole, item), memory, is_small=False))

    async def _send(self, item: Item, body: Body) -> None:
        lane = self.lane
        if lane.is_doubtful(item) and await self._is_there(item, body):
            lane.count(item.size_bytes)
            lane.ended(item, ItemState.DONE, is_verified=True)
            return
        moved = Moved(lane)
        stored = await moved.by((await lane.plane()).put(
            lane.remote(item), body, metadata=metadata_of(lane, item), counted=moved.count
        ))  # fmt: skip
        moved.settle(body.size_bytes)
        lane.ended(item, ItemState.DONE, is_verified=True, etag=stored.etag)

    async def _is_there(self, item: Item, body: Body) -> bool:
        found = await (await self.lane.plane()).head(self.lane.remote(item))
        return found is not None and (found.size_bytes, found.etag) == (body.size_bytes, body.md5.hex())

    async def _send_whole(self, item: Item) -> None:
        """One that is neither small nor in parts; read by the one who sends it."""
        lane, place = self.lane, self.lane.place(item)
        disk, limit = lane.ground.disk, lane.ground.limit
        for _ in range(CHANGED_TRIES):
            now = await disk.run(lambda _: look(place, item))
            if now.size_bytes > SINGLE_PUT_BYTES:
                lane.add(PartedUpload(lane, now, FileSource(lane)).first_unit())
                return
            try:
                body = await disk.run(partial(stretch, place, now, 0, now.size_bytes, disk, limit))
                await self._send(now, body)
            except SourceChanged:
                continue
            return
        raise keeps_changing(place)


@dataclass(slots=True)
class PartedUpload:
    """One large object: begun, or taken up where an earlier program left it; finished when the last part is there."""

    lane: Lane
    item: Item
    source: Source
    sent: dict[int, SentPart] = field(default_factory=dict)
    has_changed: bool = False
    tries: int = 0
    pieces: Pieces = field(init=False)

    def __post_init__(self) -> None:
        self.pieces = Pieces(self.lane, lambda: self.item, self._close)

    def first_unit(self) -> Unit:
        return self.pieces.first_unit(self._begin)

    async def _begin(self) -> None:
        lane, item = self.lane, self.item
        now = await self.source.look(item)
        problem = refusal(item.key, now.size_bytes)
        if problem:
            raise problem
        await lane.ground.ledger.flush()
        kept = {part.number: part for part in await lane.ground.journal.parts(lane.id, item.key)}
        good: dict[int, SentPart] | None = None
        if item.upload_id and item.part_bytes and is_same(now, item):
            good = await self._reconcile(kept)
            if good is None and await self._is_finished():
                lane.count(item.size_bytes - sum(part.size_bytes for part in kept.values()))
                lane.ended(item, ItemState.DONE, is_verified=True)
                return
        elif item.upload_id:
            await (await lane.plane()).abort_upload(lane.remote(item), item.upload_id)
        elif lane.is_doubtful(item) and is_same(now, item) and await self._is_finished():
            lane.count(item.size_bytes)
            lane.ended(item, ItemState.DONE, is_verified=True)
            return
        if good is None:
            lane.count(-sum(part.size_bytes for part in kept.values()))
            good = {}
            if not await self._begin_anew(now):
                return
        else:
            lane.count(sum(part.size_bytes for part in good.values()) - sum(part.size_bytes for part in kept.values()))
        self.sent, self.has_changed = good, False
        count = part_count(self.item.size_bytes, self.item.part_bytes)
        missing = [number for number in range(1, count + 1) if number not in good]
        await self.pieces.hand_out(missing, self._size, self._send)

    async def _reconcile(self, kept: dict[int, SentPart]) -> dict[int, SentPart] | None:
        """The parts the service has of this very file; None: it no longer knows the upload."""
        lane, item = self.lane, self.item
        listed = await (await lane.plane()).parts(lane.remote(item), item.upload_id)
        if listed is None:
            return None
        good: dict[int, SentPart] = {}
        for part in listed:
            if part.number > part_count(item.size_bytes, item.part_bytes) or part.size_bytes != self._size(part.number):
                continue
            known = kept.get(part.number)
            if known is None and is_plain_md5(part.etag) and await self._md5_here(part.number) == part.etag:
                # It arrived, and the program ended before it heard of it.
                known = SentPart(part.number, part.size_bytes, part.etag)
                lane.ground.ledger.part(lane.id, item.key, known)
            if known is not None and known.etag == part.etag:
                good[part.number] = known
        return good

    async def _md5_here(self, number: int) -> str:
        body = await self.source.body(self.item, (number - 1) * self.item.part_bytes, self._size(number))
        return body.md5.hex()

    async def _is_finished(self) -> bool:
        """Whether the upload is gone because it was put together, and only nobody heard of it any more."""
        found = await (await self.lane.plane()).head(self.lane.remote(self.item))
        if found is None or found.size_bytes != self.item.size_bytes:
            return False
        return await self.source.is_in(self.item, found)

    async def _begin_anew(self, now: Item) -> bool:
        """False: the service does not take parts, and the file has gone up in one piece."""
        lane = self.lane
        self.tries += 1
        if self.tries > CHANGED_TRIES:
            raise self.source.keeps_changing(now)
        if now.size_bytes <= SINGLE_PUT_BYTES:
            self.item = replace(now, upload_id="", part_bytes=0)
            await self._send_in_one_piece()
            return False
        plane, journal = await lane.plane(), lane.ground.journal
        size = part_bytes(now.size_bytes)
        metadata = await self.source.metadata(now, in_parts=True) | {PART_BYTES_NAME: str(size)}
        if self.item.part_bytes and not self.item.upload_id:
            await remove_orphans(lane, self.item)
        # First that one will be begun: else a program that ends before the id is written leaves one behind unseen.
        self.item = replace(now, upload_id="", part_bytes=size)
        await journal.begin_parts(lane.id, self.item)
        try:
            upload_id = await plane.begin_upload(lane.remote(now), metadata)
        except NotOffered:
            await self._send_in_one_piece()
            return False
        self.item = replace(self.item, upload_id=upload_id)
        await journal.begin_parts(lane.id, self.item)
        return True

    async def _send_in_one_piece(self) -> None:
        lane, item = self.lane, self.item
        try:
            body = await self.source.body(item, 0, item.size_bytes)
            metadata = await self.source.metadata(item, in_parts=False)
            moved = Moved(lane)
            await moved.by((await lane.plane()).put(
                lane.remote(item), body, metadata=metadata, counted=moved.count
            ))  # fmt: skip
        except SourceChanged as error:
            raise self.source.keeps_changing(item) from error
        moved.settle(item.size_bytes)
        lane.ended(item, ItemState.DONE, is_verified=True)

    def _size(self, number: int) -> int:
        offset = (number - 1) * self.item.part_bytes
        return min(self.item.part_bytes, self.item.size_bytes - offset)

    async def _send(self, number: int) -> None:
        if self.has_changed:
            return
        lane, item = self.lane, self.item
        offset, size = (number - 1) * item.part_bytes, self._size(number)
        moved = Moved(lane)
        try:
            body = await self.source.body(item, offset, size)
            part = await moved.by((await lane.plane()).put_part(
                lane.remote(item), item.upload_id, number, body, counted=moved.count
            ))  # fmt: skip
        except (SourceChanged, NotFound):
            # Or somebody took the upload away; what there is now goes up once more.
            self.has_changed = True
            return
        moved.settle(size)
        self.sent[number] = SentPart(number, size, part.etag)
        lane.part_done(item, self.sent[number])

    async def _close(self) -> None:
        if self.has_changed or not await self._finish():
            await self._begin_again()

    async def _finish(self) -> bool:
        """False: the file has changed since."""
        lane, item = self.lane, self.item
        now = await self.source.look(item)
        if not is_same(now, item):
            return False
        plane = await lane.plane()
        parts = [Part(part.number, part.size_bytes, part.etag) for _, part in sorted(self.sent.items())]
        try:
            stored = await plane.finish_upload(lane.remote(item), item.upload_id, parts)
        except (NotFound, Conflict):
            # Somebody took the upload away, or a part of it was replaced.
            return False
        whole = _whole_etag(self.sent)
        if whole and "-" in stored.etag and stored.etag != whole:
            raise _other_than_sent(str(lane.remote(item)))
        lane.ended(item, ItemState.DONE, is_verified=True)
        return True

    async def _begin_again(self) -> None:
        lane, item = self.lane, self.item
        if self.tries >= CHANGED_TRIES:
            await (await lane.plane()).abort_upload(lane.remote(item), item.upload_id)
            self.item = replace(item, upload_id="", part_bytes=0)
            raise self.source.keeps_changing(item)
        self.item = replace(item, part_bytes=0)  # its upload is taken back, and nothing of it is used
        lane.add(self.first_unit())


async def remove_orphans(lane: Lane, item: Item) -> None:
    """Uploads of ours whose id nobody heard of: of this very object, begun since, without a part."""
    plane, target = await lane.plane(), lane.remote(item)
    since = (lane.record.started or datetime.now(UTC)) - _CLOCKS_APART
    async for page in plane.fragments(target.bucket, target.key):
        for fragment in page:
            is_ours = fragment.path == target and (fragment.begun is None or fragment.begun >= since)
            if is_ours and await plane.parts(target, fragment.upload_id) == []:
                await plane.abort_upload(target, fragment.upload_id)


def _whole_etag(parts: dict[int, SentPart]) -> str:
    """What the service calls the whole; empty where its ETags are no MD5s, as with encryption."""
    ordered = [part.etag for _, part in sorted(parts.items())]
    if not all(is_plain_md5(etag) for etag in ordered):
        return ""
    return etag_of_parts([bytes.fromhex(etag) for etag in ordered])


def _other_than_sent(place: str) -> AppError:
    return LocalTrouble(
        text("{place} is not what was sent.", place=place),
        text("Somebody else writes to the same object. Look at it, then try again."),
    )
