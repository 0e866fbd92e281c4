"""From this computer to the service: small files many at a time, large ones in parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from traindeck.domain.errors import (
    AppError,
    LocalTrouble,
    NoRight,
    NotFound,
    NotOffered,
    Occupied,
    ServiceTrouble,
)
from traindeck.domain.storage.objects import PART_BYTES_NAME
from traindeck.domain.texts import text
from traindeck.domain.transfers.object_limits import MOST_PART_BYTES, SINGLE_PUT_BYTES, part_bytes, part_count, refusal
from traindeck.domain.transfers.records import Action, Item, ItemState, SentPart, is_plain_md5
from traindeck.runtime.files import local_errors
from traindeck.services.storage.data_ports import Body
from traindeck.services.transfers.active import ActiveTransfer
from traindeck.services.transfers.among import Gathering
from traindeck.services.transfers.bodies import (
    IN_MEMORY_BYTES,
    Content,
    Moved,
    SourceChanged,
    batches,
    has_changed,
    is_same,
    read_some,
)
from traindeck.services.transfers.digests import etag_of_parts, md5
from traindeck.services.transfers.local_tree import leads_to_of
from traindeck.services.transfers.parts import (
    FileSource,
    PartsThere,
    Source,
    metadata_of,
    unless_there,
    until_still,
)
from traindeck.services.transfers.ready import Unit

# Above this the file is read by whoever sends it.
_READ_AHEAD_BYTES = 1024 * 1024
_BATCH_FILES = 256
_BATCH_BYTES = 4 * 1024 * 1024
_LOOK_AFTER_S = 0.05


class Uploads:
    """Makes units out of the files of one transfer."""

    def __init__(self, active: ActiveTransfer) -> None:
        self.active = active
        self.sent = Gathering[tuple[Item, str]](  # each with its ETag
            active,
            self._look_again,
            lambda one, error: active.failed(one[0], error),
            most=_BATCH_FILES,
            wait_s=_LOOK_AFTER_S,
        )

    async def feed(self, items: Sequence[Item]) -> None:
        small: list[Item] = []
        for item in items:
            if item.action is Action.MAKE_FOLDER:
                self.active.add(Unit(item, partial(self._make_folder, item)))
            elif item.action is Action.LINK:
                self.active.add(Unit(item, partial(self._send_link, item)))
            elif item.size_bytes > min(_READ_AHEAD_BYTES, most_in_one(self.active)) or item.upload_id:
                self._add_large(item)
            else:
                small.append(item)
        for batch in batches(small, _BATCH_FILES, _BATCH_BYTES):
            await self._read(batch)

    async def _make_folder(self, item: Item) -> None:
        active = self.active
        await (await active.plane()).put(active.remote(item), Content(b"", md5().digest(), active.engine.limit))
        active.ended(item, ItemState.DONE, is_verified=True)

    async def _send_link(self, item: Item) -> None:
        """Where it leads is all its content; what it leads to is not looked at."""
        active, place = self.active, self.active.place(item)
        with local_errors(place):
            content = (await active.engine.disk.run(lambda _: leads_to_of(place))).encode()
        body = Content(content, md5(content).digest(), active.engine.limit)
        etag = await _put(active, item, body, metadata_of(active, item))
        active.ended(replace(item, size_bytes=len(content)), ItemState.DONE, is_verified=True, etag=etag)

    async def _read(self, items: Sequence[Item]) -> None:
        active = self.active
        await active.room()
        places = [(active.place_words(item), item) for item in items]
        limit = active.engine.limit
        found = await active.engine.disk.run(lambda token: read_some(places, limit, _READ_AHEAD_BYTES, token))
        for item, content in found:
            if isinstance(content, AppError):
                active.failed(item, content)
            elif content is None:
                self._add_large(item)
            else:
                active.add(Unit(item, partial(self._send, item, content), content.size_bytes))

    def _add_large(self, item: Item) -> None:
        if item.size_bytes > most_in_one(self.active) or item.upload_id:
            self.active.add(PartedUpload(self.active, item, FileSource(self.active)).first_unit())
        else:
            memory = min(item.size_bytes, IN_MEMORY_BYTES)
            self.active.add(
                Unit(item, partial(send, self.active, item, FileSource(self.active)), memory, is_small=False)
            )

    async def _send(self, item: Item, body: Body) -> None:
        active = self.active
        if active.is_doubtful(item):
            there = await (await active.plane()).head(active.remote(item))
            if there is not None and (there.size_bytes, there.etag) == (body.size_bytes, body.md5.hex()):
                active.count(item.size_bytes)
                active.ended(item, ItemState.DONE, is_verified=True, etag=there.etag)
                return
        etag = await _put(active, item, body, metadata_of(active, item))
        self.sent.add(item, (item, etag))

    async def _look_again(self, sent: Sequence[tuple[Item, str]]) -> None:
        """Between reading and the answer it may have become another file; then that one goes up."""
        active = self.active
        places = [(active.place_words(item), item) for item, _ in sent]
        changed = await active.engine.disk.run(lambda _: [has_changed(place, item) for place, item in places])
        for (item, etag), is_another in zip(sent, changed, strict=True):
            if is_another:
                active.count(-item.size_bytes)
                self._add_large(item)
            else:
                active.ended(item, ItemState.DONE, is_verified=True, etag=etag)


def most_in_one(active: ActiveTransfer) -> int:
    """What is larger goes in parts."""
    return min(active.record.order.rules.part_bytes or SINGLE_PUT_BYTES, MOST_PART_BYTES)


async def send(active: ActiveTransfer, item: Item, source: Source) -> None:
    """One that is neither small nor in parts; read by the one who sends it."""

    async def attempt() -> None:
        now = await source.look(item)
        etag = await _etag_there(active, now, source) if not item.upload_id and source.may_be_there(item) else ""
        if etag:
            active.count(now.size_bytes)
            active.ended(now, ItemState.DONE, is_verified=True, etag=etag)
        elif item.upload_id or now.size_bytes > most_in_one(active):
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
    moved, rules = Moved(active), active.record.order.rules
    plane, target = await active.plane(), active.remote(item)
    put = partial(
        plane.put, target, body, metadata=metadata, counted=moved.count,
        content_type="" if item.action is Action.LINK else rules.content_type, storage_class=rules.storage_class,
    )  # fmt: skip
    try:
        stored = await moved.by(unless_there(active, target, put))
    except Occupied:
        there = await plane.head(target)
        if there is None or (there.size_bytes, there.etag) != (body.size_bytes, body.md5.hex()):
            raise
        # It is ours: an answer was lost, and it was sent again.
        moved.settle(body.size_bytes)
        return there.etag
    moved.settle(body.size_bytes)
    return stored.etag


class PartedUpload(PartsThere):
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
        if now.size_bytes > most_in_one(active) and await self._begin_upload(now):
            return {}
        active.count(-sum(part.size_bytes for part in kept.values()))
        self.item = replace(now, upload_id="", part_bytes=0)
        await _put_whole(active, self.item, self._source)
        return None

    async def _reconcile(self, kept: Mapping[int, SentPart]) -> dict[int, SentPart] | None:
        """The parts the service has of this very file; None: it no longer knows the upload."""
        active, item = self.active, self.item
        plane = await active.plane()
        listed = await plane.parts(active.remote(item), item.upload_id)
        if listed is None:
            return None
        good: dict[int, SentPart] = {}
        for part in listed:
            is_fitting = part.number <= part_count(item.size_bytes, item.part_bytes)
            if not (is_fitting and part.etag and part.size_bytes == self.size_of(part.number)):
                continue
            known = kept.get(part.number)
            if known is None and is_plain_md5(part.etag):
                where = item, self.offset_of(part.number), part.size_bytes
                # It arrived, and the program ended before it heard of it.
                if (await self._source.body(*where)).md5.hex() == part.etag:
                    crc64 = (await self._source.body(*where, by_crc64=plane.tells_crc64)).crc64
                    known = SentPart(part.number, part.size_bytes, part.etag, crc64)
                    active.engine.ledger.part(active.id, item.key, known)
            if known is not None and known.etag == part.etag:
                good[part.number] = known
        return good

    async def _begin_upload(self, now: Item) -> bool:
        """False: the service does not take parts."""
        size = self.active.record.order.rules.part_bytes or part_bytes(now.size_bytes)
        metadata = await self._source.metadata(now, part_bytes=size) | {PART_BYTES_NAME: str(size)}
        try:
            await self.begin_there(replace(now, part_bytes=size), metadata)
        except NotOffered:
            return False
        return True

    async def move(self, number: int) -> SentPart:
        active, item = self.active, self.item
        offset, size = self.offset_of(number), self.size_of(number)
        moved, bodies = Moved(active), list[Body]()

        async def make(by_crc64: bool) -> Body:
            bodies.append(await self._source.body(item, offset, size, by_crc64=by_crc64))
            return bodies[-1]

        try:
            part = await moved.by((await active.plane()).put_proven_part(
                active.remote(item), item.upload_id, number, make, counted=moved.count
            ))  # fmt: skip
        except NotFound as error:
            # Somebody took the upload away; what there is now goes up once more.
            raise SourceChanged from error
        except ServiceTrouble as error:
            if not bodies or not await self._source.is_otherwise(item, bodies[-1], offset):
                raise
            # It was refused because it is not what was hashed: the file was written to, and its time kept.
            raise SourceChanged from error
        moved.settle(size)
        return SentPart(number, size, part.etag, part.crc64)

    async def finish(self) -> bool:
        active, item = self.active, self.item
        if not is_same(await self._source.look(item), item):
            return False
        etag, whole = await self.finish_there(), _whole_etag(self.parts)
        if etag is None:
            return False
        if whole and "-" in etag and etag != whole:
            raise LocalTrouble(
                text("{place} differs from what was uploaded.", place=str(self.target)),
                text("Someone else is writing to the same object. Check it, then try again."),
            )
        active.ended(item, ItemState.DONE, is_verified=True, etag=etag)
        return True

    def memory_of(self, number: int) -> int:
        return min(self.size_of(number), self._source.most_in_memory)  # what is larger is read as it leaves

    def given_up(self) -> AppError:
        return self._source.keeps_changing(self.item)


def _whole_etag(parts: dict[int, SentPart]) -> str:
    """What the service calls the whole; empty where its ETags are no MD5s, as with encryption."""
    ordered = [part.etag for _, part in sorted(parts.items())]
    if not all(is_plain_md5(etag) for etag in ordered):
        return ""
    return etag_of_parts([bytes.fromhex(etag) for etag in ordered])
