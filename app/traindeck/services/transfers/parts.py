"""A large file in parts or pieces: what it is made of, taken up where it was left, begun again when it changes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from traindeck.domain.errors import AppError
from traindeck.domain.storage.objects import MD5_NAME, MODE_NAME, TIME_NAME
from traindeck.domain.transfers.records import (
    Item,
    ItemState,
    SentPart,
    part_count,
)
from traindeck.services.storage.data_ports import Body, ObjectHead
from traindeck.services.transfers.active import ActiveTransfer, Unit
from traindeck.services.transfers.bodies import (
    CHANGED_TRIES,
    SourceChanged,
    has_changed,
    keeps_changing,
    look,
    stretch,
)
from traindeck.services.transfers.comparing import has_content
from traindeck.services.transfers.digests import all_digests


@dataclass(slots=True)
class Pieces:
    """Pieces handed out and not yet ended. After the first failure the others under way end, and no more begin."""

    active: ActiveTransfer
    item: Callable[[], Item]
    close: Callable[[], Awaitable[None]]
    left: int = 0
    error: AppError | None = None

    def first_unit(self, begin: Callable[[], Awaitable[None]]) -> Unit:
        return Unit(self.item(), begin, is_small=False, fail=lambda error: self.active.failed(self.item(), error))

    async def hand_out(
        self, numbers: Sequence[int], size_of: Callable[[int], int], move: Callable[[int], Awaitable[None]]
    ) -> None:
        self.left, self.error = len(numbers), None
        if not numbers:
            await self.close()
        for number in numbers:
            run = partial(self._one, number, move)
            piece = Unit(self.item(), run, size_of(number), is_small=False, is_piece=True, fail=self._failed)
            self.active.add(piece)

    async def _one(self, number: int, move: Callable[[int], Awaitable[None]]) -> None:
        if not self.error:
            await move(number)
        if self.left > 1:
            self.left -= 1
        elif self.error:
            self.left = 0
            self.active.failed(self.item(), self.error)
        else:
            # Still counted: a failure of the closing is told by `_failed`.
            await self.close()

    def _failed(self, error: AppError) -> None:
        self.error = self.error or error
        self.left -= 1
        if not self.left:
            self.active.failed(self.item(), self.error)


class InParts(ABC):
    """The same for every direction; a pause is no try, only a source that changed is."""

    def __init__(self, active: ActiveTransfer, item: Item) -> None:
        self.active = active
        self.item = item
        self.parts: dict[int, SentPart] = {}
        self._changes = 0
        self._has_changed = False
        self._pieces = Pieces(active, lambda: self.item, self._close)

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
        return self._pieces.first_unit(self._begin)

    def size_of(self, number: int) -> int:
        return min(self.item.part_bytes, self.item.size_bytes - (number - 1) * self.item.part_bytes)

    def memory_of(self, number: int) -> int:
        return self.size_of(number)

    def was_done(self, kept: Mapping[int, SentPart], etag: str = "") -> None:
        """An earlier program was done with it, and only did not write that down any more."""
        self.active.count(self.item.size_bytes - _bytes(kept.values()))
        self.active.ended(self.item, ItemState.DONE, is_verified=True, etag=etag or None)

    async def _begin(self) -> None:
        active = self.active
        self._has_changed = False
        await active.context.ledger.flush()
        kept = {part.number: part for part in await active.context.journal.parts(active.id, self.item.key)}
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
        await self._pieces.hand_out(missing, self.memory_of, self._move)

    async def _move(self, number: int) -> None:
        if self._has_changed:
            return
        try:
            part = await self.move(number)
        except SourceChanged:
            self._has_changed = True
            return
        self.parts[number] = part
        self.active.part_done(self.item, part)

    async def _close(self) -> None:
        if self._has_changed or not await self.finish():
            await self._begin_again()

    async def _begin_again(self) -> None:
        await self.drop()
        self._changes += 1
        if self._changes >= CHANGED_TRIES:
            raise self.given_up()
        self.active.add(self.first_unit())


def _bytes(parts: Iterable[SentPart]) -> int:
    return sum(part.size_bytes for part in parts)


class Source(Protocol):
    """Something that may change at any moment; what is read of it raises SourceChanged then."""

    async def look(self, item: Item) -> Item:
        """The item as it is now."""

    async def has_changed(self, item: Item) -> bool:
        """Whether there is another now; one that is gone was sent as it was."""

    def may_be_there(self, item: Item) -> bool:
        """Whether it is worth a request to ask if the object has this content already."""

    async def body(self, item: Item, offset: int, size: int) -> Body:
        """A stretch of it, hashed."""

    async def md5(self, item: Item, offset: int, size: int) -> bytes:
        """Of a stretch as it is there now."""

    async def is_otherwise(self, item: Item, body: Body, offset: int) -> bool:
        """Whether a body that was hashed long ago is no longer what is there, although nothing tells."""

    async def metadata(self, item: Item, part_bytes: int = 0) -> dict[str, str]:
        """What is kept with the object; `part_bytes`: how it will be cut, where it goes in parts."""

    async def is_in(self, item: Item, found: ObjectHead) -> bool:
        """Whether the object has this very content."""

    def keeps_changing(self, item: Item) -> AppError: ...


@dataclass(slots=True)
class FileSource:
    """One file of this computer."""

    active: ActiveTransfer
    _digests: Sequence[bytes] = ()  # of its parts, where it was read as a whole before
    _part_bytes: int = 0

    def _place(self, item: Item) -> Path:
        return self.active.place(item)

    async def look(self, item: Item) -> Item:
        place = self._place(item)
        return await self.active.context.disk.run(lambda _: look(place, item))

    async def has_changed(self, item: Item) -> bool:
        place = str(self._place(item))
        return await self.active.context.disk.run(lambda _: has_changed(place, item))

    def may_be_there(self, item: Item) -> bool:
        return self.active.is_doubtful(item)

    async def body(self, item: Item, offset: int, size: int) -> Body:
        return await self._stretch(item, offset, size, self._known(offset))

    async def md5(self, item: Item, offset: int, size: int) -> bytes:
        return (await self._stretch(item, offset, size)).md5

    async def is_otherwise(self, item: Item, body: Body, offset: int) -> bool:
        return bool(self._known(offset)) and await self.md5(item, offset, body.size_bytes) != body.md5

    def _known(self, offset: int) -> bytes:
        number = offset // self._part_bytes if self._part_bytes else 0
        return self._digests[number] if number < len(self._digests) else b""

    async def _stretch(self, item: Item, offset: int, size: int, known: bytes = b"") -> Body:
        place, context = self._place(item), self.active.context
        return await context.disk.run(
            lambda token: stretch(place, item, offset, size, context.disk, context.limit, token, known)
        )

    async def metadata(self, item: Item, part_bytes: int = 0) -> dict[str, str]:
        kept = metadata_of(self.active, item)
        self._digests, self._part_bytes = (), part_bytes
        if part_bytes and self.active.record.order.rules.whole_md5:
            place = self._place(item)
            kept[MD5_NAME], self._digests = await self.active.context.disk.run(
                lambda token: all_digests(place, part_bytes, token)
            )
        return kept

    async def is_in(self, item: Item, found: ObjectHead) -> bool:
        return bool(await self.active.context.disk.run(partial(has_content, self._place(item), found)))

    def keeps_changing(self, item: Item) -> AppError:
        return keeps_changing(self._place(item))


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
    kept = {}
    if rules.keep_times:
        kept[TIME_NAME] = f"{item.modified_ns // 1_000_000_000}.{item.modified_ns % 1_000_000_000:09d}"
    if rules.keep_modes:
        kept[MODE_NAME] = f"{item.mode:o}"
    return kept
