"""From this computer to the service: small files many at a time, large ones in parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from traindeck.domain.errors import AppError, Conflict, LocalTrouble, NotFound, NotOffered, ServiceTrouble
from traindeck.domain.texts import text
from traindeck.domain.transfers import (
    MD5_NAME,
    MODE_NAME,
    PART_BYTES_NAME,
    SINGLE_PUT_BYTES,
    TIME_NAME,
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
    has_changed,
    is_same,
    keeps_changing,
    look,
    read_some,
    stretch,
)
from traindeck.services.transfers.comparing import has_content
from traindeck.services.transfers.digests import all_digests, etag_of_parts, md5
from traindeck.services.transfers.gathering import Gathering
from traindeck.services.transfers.lane import Lane, Unit
from traindeck.services.transfers.moved import Moved
from traindeck.services.transfers.orphans import remove_orphans
from traindeck.services.transfers.parted import InParts

# Above this the file is read by whoever sends it.
_READ_AHEAD_BYTES = 1024 * 1024
_BATCH_FILES = 256
_BATCH_BYTES = 4 * 1024 * 1024
_LOOK_AFTER_S = 0.05


@dataclass(slots=True)
class Uploads:
    """Makes units out of the files of one transfer."""

    lane: Lane
    sent: Gathering[tuple[Item, str]] = field(init=False)  # each with its ETag

    def __post_init__(self) -> None:
        self.sent = Gathering(
            self.lane,
            self._look_again,
            lambda one, error: self.lane.failed(one[0], error),
            most=_BATCH_FILES,
            wait_s=_LOOK_AFTER_S,
        )

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
            self.lane.add(PartedUpload(self.lane, item).first_unit())
        else:
            memory = min(item.size_bytes, IN_MEMORY_BYTES)
            self.lane.add(Unit(item, partial(self._send_whole, item), memory, is_small=False))

    async def _send(self, item: Item, body: Body) -> None:
        lane = self.lane
        if lane.is_doubtful(item) and await self._is_there(item, body):
            lane.count(item.size_bytes)
            lane.ended(item, ItemState.DONE, is_verified=True, etag=body.md5.hex())
            return
        etag = await put_whole(lane, item, body)
        self.sent.add(item, (item, etag))

    async def _is_there(self, item: Item, body: Body) -> bool:
        found = await (await self.lane.plane()).head(self.lane.remote(item))
        return found is not None and (found.size_bytes, found.etag) == (body.size_bytes, body.md5.hex())

    async def _look_again(self, sent: Sequence[tuple[Item, str]]) -> None:
        """Between reading and the answer it may have become another file; then that one goes up."""
        lane, root = self.lane, self.lane.record.root
        places = [(f"{root}/{item.name}" if item.name else root, item) for item, _ in sent]
        changed = await lane.ground.disk.run(lambda _: [has_changed(place, item) for place, item in places])
        for (item, etag), is_another in zip(sent, changed, strict=True):
            if is_another:
                lane.count(-item.size_bytes)
                self._add_large(item)
            else:
                lane.ended(item, ItemState.DONE, is_verified=True, etag=etag)

    async def _send_whole(self, item: Item) -> None:
        """One that is neither small nor in parts; read by the one who sends it."""
        lane, place = self.lane, self.lane.place(item)
        disk, limit = lane.ground.disk, lane.ground.limit
        for _ in range(CHANGED_TRIES):
            now = await disk.run(lambda _: look(place, item))
            if now.size_bytes > SINGLE_PUT_BYTES:
                lane.add(PartedUpload(lane, now).first_unit())
                return
            try:
                body = await disk.run(partial(stretch, place, now, 0, now.size_bytes, disk, limit))
                if lane.is_doubtful(now) and await self._is_there(now, body):
                    lane.count(now.size_bytes)
                    etag = body.md5.hex()
                else:
                    etag = await put_whole(lane, now, body)
            except SourceChanged:
                continue
            if not await self._has_changed(now):
                lane.ended(now, ItemState.DONE, is_verified=True, etag=etag)
                return
            lane.count(-now.size_bytes)
        raise keeps_changing(place)

    async def _has_changed(self, item: Item) -> bool:
        place = str(self.lane.place(item))
        return await self.lane.ground.disk.run(lambda _: has_changed(place, item))


async def put_whole(lane: Lane, item: Item, body: Body) -> str:
    """Send it in one piece; its ETag."""
    moved = Moved(lane)
    stored = await moved.by((await lane.plane()).put(
        lane.remote(item), body, metadata=metadata_of(lane, item), counted=moved.count
    ))  # fmt: skip
    moved.settle(body.size_bytes)
    return stored.etag


def metadata_of(lane: Lane, item: Item) -> dict[str, str]:
    rules = lane.record.order.rules
    kept = {}
    if rules.keep_times:
        kept[TIME_NAME] = f"{item.modified_ns // 1_000_000_000}.{item.modified_ns % 1_000_000_000:09d}"
    if rules.keep_modes:
        kept[MODE_NAME] = f"{item.mode:o}"
    return kept


class PartedUpload(InParts):
    """One large file: begun, or taken up where an earlier program left it, and finished when the last part is there."""

    def __init__(self, lane: Lane, item: Item) -> None:
        super().__init__(lane, item)
        self._digests: Sequence[bytes] = ()  # of its parts, where it was read as a whole before

    async def take_up(self, kept: Mapping[int, SentPart]) -> dict[int, SentPart] | None:
        lane, item = self.lane, self.item
        place = lane.place(item)
        now = await lane.ground.disk.run(lambda _: look(place, item))
        problem = refusal(item.key, now.size_bytes)
        if problem:
            raise problem
        if item.upload_id and item.part_bytes and is_same(now, item):
            good = await self._reconcile(kept)
            if good is not None:
                return good
            etag = await self._finished_etag()
        elif item.upload_id:
            await self.drop()
            etag = ""
        else:
            etag = await self._finished_etag() if lane.is_doubtful(item) and is_same(now, item) else ""
        if etag:
            self.was_done(kept, etag)
            return None
        if now.size_bytes > SINGLE_PUT_BYTES and await self._begin_upload(now):
            return {}
        lane.count(-sum(part.size_bytes for part in kept.values()))
        self.item = replace(now, upload_id="", part_bytes=0)
        await self._send_in_one_piece()
        return None

    async def _reconcile(self, kept: Mapping[int, SentPart]) -> dict[int, SentPart] | None:
        """The parts the service has of this very file; None: it no longer knows the upload."""
        lane, item = self.lane, self.item
        listed = await (await lane.plane()).parts(lane.remote(item), item.upload_id)
        if listed is None:
            return None
        good: dict[int, SentPart] = {}
        for part in listed:
            is_fitting = part.number <= part_count(item.size_bytes, item.part_bytes)
            if not (is_fitting and part.etag and part.size_bytes == self.size_of(part.number)):
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
        return (await self._stretch((number - 1) * self.item.part_bytes, self.size_of(number))).md5.hex()

    async def _stretch(self, offset: int, size: int, known: bytes = b"") -> Body:
        item, place = self.item, self.lane.place(self.item)
        disk, limit = self.lane.ground.disk, self.lane.ground.limit
        return await disk.run(lambda token: stretch(place, item, offset, size, disk, limit, token, known))

    async def _finished_etag(self) -> str:
        """Not empty where the upload is gone because it was put together, and only nobody heard of it any more."""
        lane, place = self.lane, self.lane.place(self.item)
        found = await (await lane.plane()).head(lane.remote(self.item))
        if found is None or found.size_bytes != self.item.size_bytes:
            return ""
        is_it = await lane.ground.disk.run(partial(has_content, place, found))
        return found.etag if is_it else ""

    async def _begin_upload(self, now: Item) -> bool:
        """False: the service does not take parts."""
        lane, place = self.lane, self.lane.place(now)
        plane, journal, target = await lane.plane(), lane.ground.journal, lane.remote(now)
        size = part_bytes(now.size_bytes)
        self._digests = ()
        metadata = metadata_of(lane, now) | {PART_BYTES_NAME: str(size)}
        if lane.record.order.rules.whole_md5:
            whole, self._digests = await lane.ground.disk.run(lambda token: all_digests(place, size, token))
            metadata[MD5_NAME] = whole
        if self.item.part_bytes and not self.item.upload_id:
            await remove_orphans(lane, [target])
        # First that one will be begun: else a program that ends before the id is written leaves one behind unseen.
        self.item = replace(now, upload_id="", part_bytes=size)
        lane.begun.add(target)
        await journal.begin_parts(lane.id, self.item)
        try:
            upload_id = await plane.begin_upload(target, metadata)
        except NotOffered:
            return False
        self.item = replace(self.item, upload_id=upload_id)
        await journal.begin_parts(lane.id, self.item)
        return True

    async def _send_in_one_piece(self) -> None:
        lane, item = self.lane, self.item
        etag = await put_whole(lane, item, await self._stretch(0, item.size_bytes))
        if await lane.ground.disk.run(lambda _: has_changed(str(lane.place(item)), item)):
            lane.count(-item.size_bytes)
            raise SourceChanged
        lane.ended(item, ItemState.DONE, is_verified=True, etag=etag)

    async def move(self, number: int) -> SentPart:
        lane, item = self.lane, self.item
        size = self.size_of(number)
        known = self._digests[number - 1] if number <= len(self._digests) else b""
        body = await self._stretch((number - 1) * item.part_bytes, size, known)
        moved = Moved(lane)
        try:
            part = await moved.by((await lane.plane()).put_part(
                lane.remote(item), item.upload_id, number, body, counted=moved.count
            ))  # fmt: skip
        except NotFound as error:
            # Somebody took the upload away; what there is now goes up once more.
            raise SourceChanged from error
        except ServiceTrouble as error:
            if not known or await self._md5_here(number) == known.hex():
                raise
            # It was refused because it is not what was hashed: the file was written to, and its time kept.
            raise SourceChanged from error
        moved.settle(size)
        return SentPart(number, size, part.etag)

    async def finish(self) -> bool:
        lane, item, place = self.lane, self.item, self.lane.place(self.item)
        if await lane.ground.disk.run(lambda _: not is_same(look(place, item), item)):
            return False
        plane = await lane.plane()
        parts = [Part(part.number, part.size_bytes, part.etag) for _, part in sorted(self.parts.items())]
        try:
            stored = await plane.finish_upload(lane.remote(item), item.upload_id, parts)
        except (NotFound, Conflict):
            # Somebody took the upload away, or a part of it was replaced.
            return False
        whole = _whole_etag(self.parts)
        if whole and "-" in stored.etag and stored.etag != whole:
            raise _other_than_sent(str(lane.remote(item)))
        lane.ended(item, ItemState.DONE, is_verified=True, etag=stored.etag)
        return True

    async def drop(self) -> None:
        item = self.item
        if item.upload_id:
            await (await self.lane.plane()).abort_upload(self.lane.remote(item), item.upload_id)
        self.item = replace(item, upload_id="", part_bytes=0)

    def given_up(self) -> AppError:
        return keeps_changing(self.lane.place(self.item))


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
