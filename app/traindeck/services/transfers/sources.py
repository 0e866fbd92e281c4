"""What one large object is made of, as whoever sends it in parts wants to know it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from traindeck.domain.errors import AppError
from traindeck.domain.transfers import MD5_NAME, MODE_NAME, TIME_NAME, Item
from traindeck.services.data_ports import Body, Found
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
from traindeck.services.transfers.lane import Lane


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

    async def is_in(self, item: Item, found: Found) -> bool:
        """Whether the object has this very content."""

    def keeps_changing(self, item: Item) -> AppError: ...


@dataclass(slots=True)
class FileSource:
    """One file of this computer."""

    lane: Lane
    _digests: Sequence[bytes] = ()  # of its parts, where it was read as a whole before
    _part_bytes: int = 0

    def _place(self, item: Item) -> Path:
        return self.lane.place(item)

    async def look(self, item: Item) -> Item:
        place = self._place(item)
        return await self.lane.ground.disk.run(lambda _: look(place, item))

    async def has_changed(self, item: Item) -> bool:
        place = str(self._place(item))
        return await self.lane.ground.disk.run(lambda _: has_changed(place, item))

    def may_be_there(self, item: Item) -> bool:
        return self.lane.is_doubtful(item)

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
        place, ground = self._place(item), self.lane.ground
        return await ground.disk.run(
            lambda token: stretch(place, item, offset, size, ground.disk, ground.limit, token, known)
        )

    async def metadata(self, item: Item, part_bytes: int = 0) -> dict[str, str]:
        kept = metadata_of(self.lane, item)
        self._digests, self._part_bytes = (), part_bytes
        if part_bytes and self.lane.record.order.rules.whole_md5:
            place = self._place(item)
            kept[MD5_NAME], self._digests = await self.lane.ground.disk.run(
                lambda token: all_digests(place, part_bytes, token)
            )
        return kept

    async def is_in(self, item: Item, found: Found) -> bool:
        return bool(await self.lane.ground.disk.run(partial(has_content, self._place(item), found)))

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


def metadata_of(lane: Lane, item: Item) -> dict[str, str]:
    rules = lane.record.order.rules
    kept = {}
    if rules.keep_times:
        kept[TIME_NAME] = f"{item.modified_ns // 1_000_000_000}.{item.modified_ns % 1_000_000_000:09d}"
    if rules.keep_modes:
        kept[MODE_NAME] = f"{item.mode:o}"
    return kept
