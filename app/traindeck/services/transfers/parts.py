"""A large file in parts or pieces: what it is made of, taken up where it was left, begun again when it changes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from traindeck.domain.errors import AppError, Conflict, Corrupted, InvalidInput, NotFound, NotOffered, Occupied
from traindeck.domain.storage.objects import MD5_NAME, MODE_NAME, TIME_NAME, ObjectPath
from traindeck.domain.transfers.object_limits import part_count
from traindeck.domain.transfers.records import Item, ItemState, SentPart
from traindeck.services.storage.data_ports import Body, ObjectHead, Part, StoredObject
from traindeck.services.storage.errors import occupied
from traindeck.services.transfers.active import ActiveTransfer
from traindeck.services.transfers.bodies import (
    CHANGED_TRIES,
    IN_MEMORY_BYTES,
    SourceChanged,
    has_changed,
    keeps_changing,
    look,
    stretch,
)
from traindeck.services.transfers.comparing import Match, matched
from traindeck.services.transfers.digests import all_digests, damaged
from traindeck.services.transfers.orphans import remove_orphans, target_of
from traindeck.services.transfers.ready import Unit

if TYPE_CHECKING:
    from traindeck.services.transfers.packing.shard_source import ShardSource


class InParts(ABC):
    """The same for every direction; a pause is no try, only a source that changed is.

    After the first failure the parts under way end, and no more begin.
    """

    def __init__(self, active: ActiveTransfer, item: Item) -> None:
        self.active = active
        self.item = item
        self.parts: dict[int, SentPart] = {}
        self._changes = 0
        self._has_changed = False
        self._left = 0  # handed out and not yet ended
        self._error: AppError | None = None

    @abstractmethod
    async def take_up(self, kept: Mapping[int, SentPart]) -> dict[int, SentPart] | None:
        """Make ready, and say which of the kept parts still count; None: the file is over already."""

    @abstractmethod
    async def move(self, number: int) -> SentPart:
        """Raises SourceChanged when there is another source now."""

    @abstractmethod
    async def finish(self) -> bool:
        """False: the source has changed, and it has to be done again."""

    @abstractmethod
    async def drop(self) -> None:
        """Take back what there is of it, before it is done again or given up."""

    @abstractmethod
    def given_up(self) -> AppError:
        """What is said when it changed each time."""

    def first_unit(self) -> Unit:
        return Unit(self.item, self._begin, is_small=False, fail=lambda error: self.active.failed(self.item, error))

    def size_of(self, number: int) -> int:
        return min(self.item.part_bytes, self.item.size_bytes - (number - 1) * self.item.part_bytes)

    def offset_of(self, number: int) -> int:
        return (number - 1) * self.item.part_bytes

    def memory_of(self, number: int) -> int:
        return self.size_of(number)

    def was_done(self, kept: Mapping[int, SentPart], etag: str = "") -> None:
        """An earlier program was done with it, and only did not write that down any more."""
        self.active.count(self.item.size_bytes - _bytes(kept.values()))
        self.active.ended(self.item, ItemState.DONE, is_verified=True, etag=etag or None)

    async def _begin(self) -> None:
        active = self.active
        self._has_changed = False
        await active.engine.ledger.flush()
        kept = {part.number: part for part in await active.engine.journal.parts(active.id, self.item.key)}
        try:
            good = await self.take_up(kept)
        except SourceChanged:
            await self._begin_again()
            return
        if good is None:
            return
        active.count(_bytes(good.values()) - _bytes(kept.values()))
        self.parts = good
        count = part_count(self.item.size_bytes, self.item.part_bytes)
        missing = [number for number in range(1, count + 1) if number not in good]
        self._left, self._error = len(missing), None
        if not missing:
            await self._close()
        for number in missing:
            run, memory = partial(self._one, number), self.memory_of(number)
            active.add(Unit(self.item, run, memory, is_small=False, is_piece=True, fail=self._failed))

    async def _one(self, number: int) -> None:
        if not self._error and not self._has_changed:
            try:
                self.parts[number] = await self.move(number)
            except SourceChanged:
                self._has_changed = True
            else:
                self.active.part_done(self.item, self.parts[number])
        if self._left > 1:
            self._left -= 1
        elif self._error:
            self._left = 0
            self.active.failed(self.item, self._error)
        else:
            # Still counted: a failure of the closing is told by `_failed`.
            await self._close()

    def _failed(self, error: AppError) -> None:
        self._error = self._error or error
        self._left -= 1
        if not self._left:
            self.active.failed(self.item, self._error)

    async def _close(self) -> None:
        try:
            is_over = not self._has_changed and await self.finish()
        except Occupied:
            await self.drop()
            self.active.ended(self.item, ItemState.KEPT)
        except Corrupted:
            # All parts were proven, so waiting changes nothing, and each time costs the whole file.
            await self._begin_again(damaged(self.item.name))
        else:
            if not is_over:
                await self._begin_again()

    async def _begin_again(self, error: AppError | None = None) -> None:
        await self.drop()
        self._changes += 1
        if self._changes >= CHANGED_TRIES:
            raise error or self.given_up()
        self.active.add(self.first_unit())


class PartsThere(InParts):
    """Of an upload in parts that the service keeps until it is finished."""

    @property
    def target(self) -> ObjectPath:
        return target_of(self.active, self.item)

    async def begin_there(self, now: Item, metadata: Mapping[str, str], head: Mapping[str, str] | None = None) -> None:
        """NotOffered: the service does not take parts. `head`: all that is to be said, spelled as OBS does."""
        rules = self.active.record.order.rules
        active, target, journal = self.active, self.target, self.active.engine.journal
        if self.item.part_bytes and not self.item.upload_id:
            await remove_orphans(active, [target])
        # First that one will be begun: else a program that ends before the id is written leaves one behind unseen.
        self.item = replace(now, upload_id="")
        active.begun.add(target)
        await journal.begin_parts(active.id, self.item)
        upload_id = await (await active.plane()).begin_upload(
            target, metadata, head=head, content_type=rules.content_type, storage_class=rules.storage_class
        )
        self.item = replace(self.item, upload_id=upload_id)
        await journal.begin_parts(active.id, self.item)

    async def finish_there(self) -> str | None:
        """The ETag of the whole; None: somebody took the upload away, or a part of it was replaced."""
        parts = [Part(part.number, part.size_bytes, part.etag, part.crc64) for _, part in sorted(self.parts.items())]
        finish = partial((await self.active.plane()).finish_upload, self.target, self.item.upload_id, parts)
        try:
            stored = await unless_there(self.active, self.target, finish)
        except Occupied:
            raise
        except (NotFound, Conflict):
            return None
        return stored.etag

    async def drop(self) -> None:
        if self.item.upload_id:
            await (await self.active.plane()).abort_upload(self.target, self.item.upload_id)
        self.item = replace(self.item, upload_id="", part_bytes=0)


def _bytes(parts: Iterable[SentPart]) -> int:
    return sum(part.size_bytes for part in parts)


@dataclass(slots=True)
class FileSource:
    """One file of this computer. It may change at any moment; what is read of it raises SourceChanged then."""

    active: ActiveTransfer
    most_in_memory = IN_MEMORY_BYTES
    _digests: Sequence[bytes] = ()  # of its parts, where it was read as a whole before
    _part_bytes: int = 0

    async def look(self, item: Item) -> Item:
        """The item as it is now."""
        place = self.active.place(item)
        return await self.active.engine.disk.run(lambda _: look(place, item))

    async def has_changed(self, item: Item) -> bool:
        """Whether there is another now; one that is gone was sent as it was."""
        place = str(self.active.place(item))
        return await self.active.engine.disk.run(lambda _: has_changed(place, item))

    def may_be_there(self, item: Item) -> bool:
        """Whether it is worth a request to ask if the object has this content already."""
        return self.active.is_doubtful(item)

    async def body(self, item: Item, offset: int, size: int, *, by_crc64: bool = False) -> Body:
        """A stretch of it, hashed."""
        return await self._stretch(item, offset, size, self._known(offset), by_crc64=by_crc64)

    async def is_otherwise(self, item: Item, body: Body, offset: int) -> bool:
        """Whether a body is no longer what is there, although nothing tells: it is read again after it was hashed."""
        now = await self._stretch(item, offset, body.size_bytes, by_crc64=body.crc64 is not None)
        return (now.md5, now.crc64) != (body.md5, body.crc64)

    def _known(self, offset: int) -> bytes:
        number = offset // self._part_bytes if self._part_bytes else 0
        return self._digests[number] if number < len(self._digests) else b""

    async def _stretch(self, item: Item, offset: int, size: int, known: bytes = b"", *, by_crc64: bool = False) -> Body:
        place, engine = self.active.place(item), self.active.engine
        in_memory = 0 if item.part_bytes else IN_MEMORY_BYTES
        async with engine.hashing:
            return await engine.disk.run(
                lambda token: stretch(
                    place, item, offset, size, engine.disk, engine.limit, token, known, in_memory, by_crc64=by_crc64
                )
            )

    async def metadata(self, item: Item, part_bytes: int = 0) -> dict[str, str]:
        """What is kept with the object; `part_bytes`: how it will be cut, where it goes in parts."""
        kept = metadata_of(self.active, item)
        self._digests, self._part_bytes = (), part_bytes
        if part_bytes and self.active.record.order.rules.store_md5:
            place = self.active.place(item)
            kept[MD5_NAME], self._digests = await self.active.engine.disk.run(
                lambda token: all_digests(place, part_bytes, token)
            )
        return kept

    async def is_in(self, item: Item, found: ObjectHead) -> bool:
        """Whether the object has this very content."""
        active = self.active
        return await matched(await active.plane(), active.engine.disk, active.place(item), found) is Match.YES

    def keeps_changing(self, item: Item) -> AppError:
        return keeps_changing(self.active.place(item))


async def unless_there(
    active: ActiveTransfer, target: ObjectPath, write: Callable[..., Awaitable[StoredObject]]
) -> StoredObject:
    """Write there, and where what is there is to be left alone, only if nothing is: else Occupied."""
    if not active.record.order.rules.keeps_existing:
        return await write()
    try:
        return await write(only_new=True)
    except (NotOffered, InvalidInput):  # not every service knows such a condition
        if await (await active.plane()).head(target) is not None:
            raise occupied(target) from None
        return await write()


Source: TypeAlias = "FileSource | ShardSource"


async def until_still(source: Source, item: Item, attempt: Callable[[], Awaitable[None]]) -> None:
    """Try again when the source changes meanwhile, but not for ever."""
    for _ in range(CHANGED_TRIES):
        try:
            await attempt()
        except SourceChanged:
            continue
        return
    raise source.keeps_changing(item)


def metadata_of(active: ActiveTransfer, item: Item) -> dict[str, str]:
    rules = active.record.order.rules
    kept = dict(rules.metadata)
    if rules.keep_times:
        kept[TIME_NAME] = f"{item.modified_ns // 1_000_000_000}.{item.modified_ns % 1_000_000_000:09d}"
    if rules.keep_modes:
        kept[MODE_NAME] = f"{item.mode:o}"
    return kept
