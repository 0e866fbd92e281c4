"""From this computer to the service: small files many at a time, large ones in parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from traindeck.domain.errors import (
    AppError,
    Conflict,
    LocalTrouble,
    NoRight,
    NotFound,
    NotOffered,
    ServiceTrouble,
)
from traindeck.domain.storage.objects import PART_BYTES_NAME
from traindeck.domain.texts import text
from traindeck.domain.transfers.records import (
    SINGLE_PUT_BYTES,
    Item,
    ItemState,
    SentPart,
    is_plain_md5,
    part_bytes,
    part_count,
    refusal,
)
from traindeck.services.storage.data_ports import Body, Part
from traindeck.services.transfers.active import ActiveTransfer, Unit
from traindeck.services.transfers.among import Gathering
from traindeck.services.transfers.bodies import (
    IN_MEMORY_BYTES,
    Content,
    Moved,
    SourceChanged,
    has_changed,
    is_same,
    read_some,
)
from traindeck.services.transfers.digests import etag_of_parts, md5
from traindeck.services.transfers.orphans import remove_orphans
from traindeck.services.transfers.parts import (
    FileSource,
    InParts,
    Source,
    metadata_of,
    until_still,
)

# Above this the file is read by whoever sends it.
_READ_AHEAD_BYTES = 1024 * 1024
_BATCH_FILES = 256
_BATCH_BYTES = 4 * 1024 * 1024
_LOOK_AFTER_S = 0.05


@dataclass(slots=True)
class Uploads:
    """Makes units out of the files of one transfer."""

    active: ActiveTransfer
    sent: Gathering[tuple[Item, str]] = field(init=False)  # each with its ETag

    def __post_init__(self) -> None:
        self.sent = Gathering(
            self.active,
            self._look_again,
            lambda one, error: self.active.failed(one[0], error),
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
            self.active.add(Unit(item, partial(self._make_folder, item)))

    async def _make_folder(self, item: Item) -> None:
        active = self.active
        await (await active.plane()).put(active.remote(item), Content(b"", md5().digest(), active.context.limit))
        active.ended(item, ItemState.DONE, is_verified=True)

    async def _read(self, items: Sequence[Item]) -> None:
        active = self.active
        await active.room()
        root = active.record.root
        places = [(f"{root}/{item.name}" if item.name else root, item) for item in items]
        limit = active.context.limit
        found = await active.context.disk.run(lambda token: read_some(places, limit, _READ_AHEAD_BYTES, token))
        for item, content in found:
            if isinstance(content, AppError):
                active.failed(item, content)
            elif content is None:
                self._add_large(item)
            else:
                active.add(Unit(item, partial(self._send, item, content), content.size_bytes))

    def _add_large(self, item: Item) -> None:
        if item.size_bytes > SINGLE_PUT_BYTES or item.upload_id:
            self.active.add(PartedUpload(self.active, item, FileSource(self.active)).first_unit())
        else:
            memory = min(item.size_bytes, IN_MEMORY_BYTES)
            self.active.add(
                Unit(item, partial(send, self.active, item, FileSource(self.active)), memory, is_small=False)
            )

    async def _send(self, item: Item, body: Body) -> None:
        active = self.active
        if active.is_doubtful(item) and await self._is_there(item, body):
            active.count(item.size_bytes)
            active.ended(item, ItemState.DONE, is_verified=True, etag=body.md5.hex())
            return
        etag = await _put(active, item, body, metadata_of(active, item))
        self.sent.add(item, (item, etag))

    async def _is_there(self, item: Item, body: Body) -> bool:
        found = await (await self.active.plane()).head(self.active.remote(item))
        return found is not None and (found.size_bytes, found.etag) == (body.size_bytes, body.md5.hex())

    async def _look_again(self, sent: Sequence[tuple[Item, str]]) -> None:
        """Between reading and the answer it may have become another file; then that one goes up."""
        active, root = self.active, self.active.record.root
        places = [(f"{root}/{item.name}" if item.name else root, item) for item, _ in sent]
        changed = await active.context.disk.run(lambda _: [has_changed(place, item) for place, item in places])
        for (item, etag), is_another in zip(sent, changed, strict=True):
            if is_another:
                active.count(-item.size_bytes)
                self._add_large(item)
            else:
                active.ended(item, ItemState.DONE, is_verified=True, etag=etag)


async def send(active: ActiveTransfer, item: Item, source: Source) -> None:
    """One that is neither small nor in parts; read by the one who sends it."""

    async def attempt() -> None:
        now = await source.look(item)
        etag = await _etag_there(active, now, source) if not item.upload_id and source.may_be_there(item) else ""
        if etag:
            active.count(now.size_bytes)
            active.ended(now, ItemState.DONE, is_verified=True, etag=etag)
        elif item.upload_id or now.size_bytes > SINGLE_PUT_BYTES:
            active.add(PartedUpload(active, item if item.upload_id else now, source).first_unit())
        else:
            await _put_whole(active, now, source)

    await until_still(source, item, attempt)


async def _etag_there(active: ActiveTransfer, item: Item, source: Source) -> str:
    """Not empty where the object has this very content already, and only nobody heard of it any more."""
    try:
        found = await (await active.plane()).head(active.remote(item))
    except NoRight:
        return ""  # keys that may only write cannot look
    if found is None or found.size_bytes != item.size_bytes:
        return ""
    return found.etag if await source.is_in(item, found) else ""


async def _put_whole(active: ActiveTransfer, item: Item, source: Source) -> None:
    """Raises SourceChanged when it has become another while it was sent."""
    body = await source.body(item, 0, item.size_bytes)
    etag = await _put(active, item, body, await source.metadata(item))
    if await source.has_changed(item):
        active.count(-item.size_bytes)
        raise SourceChanged
    active.ended(item, ItemState.DONE, is_verified=True, etag=etag)


async def _put(active: ActiveTransfer, item: Item, body: Body, metadata: Mapping[str, str]) -> str:
    """Send it in one piece; its ETag."""
    moved = Moved(active)
    stored = await moved.by((await active.plane()).put(
        active.remote(item), body, metadata=metadata, counted=moved.count
    ))  # fmt: skip
    moved.settle(body.size_bytes)
    return stored.etag


class PartedUpload(InParts):
    """One large object: begun, or taken up where an earlier program left it; finished when the last part is there."""

    def __init__(self, active: ActiveTransfer, item: Item, source: Source) -> None:
        super().__init__(active, item)
        self._source = source

    async def take_up(self, kept: Mapping[int, SentPart]) -> dict[int, SentPart] | None:
        active, item = self.active, self.item
        now = await self._source.look(item)
        problem = refusal(item.key, now.size_bytes)
        if problem:
            raise problem
        if item.upload_id and item.part_bytes and is_same(now, item):
            good = await self._reconcile(kept)
            if good is not None:
                return good
            etag = await _etag_there(active, item, self._source)
        elif item.upload_id:
            await self.drop()
            etag = ""
        else:
            is_likely = active.is_doubtful(item) and is_same(now, item)
            etag = await _etag_there(active, item, self._source) if is_likely else ""
        if etag:
            self.was_done(kept, etag)
            return None
        if now.size_bytes > SINGLE_PUT_BYTES and await self._begin_upload(now):
            return {}
        active.count(-sum(part.size_bytes for part in kept.values()))
        self.item = replace(now, upload_id="", part_bytes=0)
        await _put_whole(active, self.item, self._source)
        return None

    async def _reconcile(self, kept: Mapping[int, SentPart]) -> dict[int, SentPart] | None:
        """The parts the service has of this very file; None: it no longer knows the upload."""
        active, item = self.active, self.item
        listed = await (await active.plane()).parts(active.remote(item), item.upload_id)
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
                active.context.ledger.part(active.id, item.key, known)
            if known is not None and known.etag == part.etag:
                good[part.number] = known
        return good

    async def _md5_here(self, number: int) -> str:
        return (await self._source.md5(self.item, self._offset(number), self.size_of(number))).hex()

    async def _body(self, number: int) -> Body:
        return await self._source.body(self.item, self._offset(number), self.size_of(number))

    def _offset(self, number: int) -> int:
        return (number - 1) * self.item.part_bytes

    async def _begin_upload(self, now: Item) -> bool:
        """False: the service does not take parts."""
        active = self.active
        plane, journal, target = await active.plane(), active.context.journal, active.remote(now)
        size = part_bytes(now.size_bytes)
        metadata = await self._source.metadata(now, part_bytes=size) | {PART_BYTES_NAME: str(size)}
        if self.item.part_bytes and not self.item.upload_id:
            await remove_orphans(active, [target])
        # First that one will be begun: else a program that ends before the id is written leaves one behind unseen.
        self.item = replace(now, upload_id="", part_bytes=size)
        active.begun.add(target)
        await journal.begin_parts(active.id, self.item)
        try:
            upload_id = await plane.begin_upload(target, metadata)
        except NotOffered:
            return False
        self.item = replace(self.item, upload_id=upload_id)
        await journal.begin_parts(active.id, self.item)
        return True

    async def move(self, number: int) -> SentPart:
        active, item = self.active, self.item
        body = await self._body(number)
        moved = Moved(active)
        try:
            part = await moved.by((await active.plane()).put_part(
                active.remote(item), item.upload_id, number, body, counted=moved.count
            ))  # fmt: skip
        except NotFound as error:
            # Somebody took the upload away; what there is now goes up once more.
            raise SourceChanged from error
        except ServiceTrouble as error:
            if not await self._source.is_otherwise(item, body, self._offset(number)):
                raise
            # It was refused because it is not what was hashed: the file was written to, and its time kept.
            raise SourceChanged from error
        moved.settle(body.size_bytes)
        return SentPart(number, body.size_bytes, part.etag)

    async def finish(self) -> bool:
        active, item = self.active, self.item
        if not is_same(await self._source.look(item), item):
            return False
        plane = await active.plane()
        parts = [Part(part.number, part.size_bytes, part.etag) for _, part in sorted(self.parts.items())]
        try:
            stored = await plane.finish_upload(active.remote(item), item.upload_id, parts)
        except (NotFound, Conflict):
            # Somebody took the upload away, or a part of it was replaced.
            return False
        whole = _whole_etag(self.parts)
        if whole and "-" in stored.etag and stored.etag != whole:
            raise _other_than_sent(str(active.remote(item)))
        active.ended(item, ItemState.DONE, is_verified=True, etag=stored.etag)
        return True

    async def drop(self) -> None:
        item = self.item
        if item.upload_id:
            await (await self.active.plane()).abort_upload(self.active.remote(item), item.upload_id)
        self.item = replace(item, upload_id="", part_bytes=0)

    def given_up(self) -> AppError:
        return self._source.keeps_changing(self.item)


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
