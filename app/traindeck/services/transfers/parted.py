"""A large file on its way in parts: taken up where it was left, and begun again when its source changes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping

from traindeck.domain.errors import AppError
from traindeck.domain.transfers import Item, ItemState, SentPart, part_count
from traindeck.services.transfers.bodies import CHANGED_TRIES, SourceChanged
from traindeck.services.transfers.lane import Lane, Unit
from traindeck.services.transfers.pieces import Pieces


class InParts(ABC):
    """The same for every direction; a pause is no try, only a source that changed is."""

    def __init__(self, lane: Lane, item: Item) -> None:
        self.lane = lane
        self.item = item
        self.parts: dict[int, SentPart] = {}
        self._changes = 0
        self._has_changed = False
        self._pieces = Pieces(lane, lambda: self.item, self._close)

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
        self.lane.count(self.item.size_bytes - _bytes(kept.values()))
        self.lane.ended(self.item, ItemState.DONE, is_verified=True, etag=etag or None)

    async def _begin(self) -> None:
        lane = self.lane
        self._has_changed = False
        await lane.ground.ledger.flush()
        kept = {part.number: part for part in await lane.ground.journal.parts(lane.id, self.item.key)}
        try:
            good = await self.take_up(kept)
        except SourceChanged:
            await self._begin_again()
            return
        if good is None:
            return
        lane.count(_bytes(good.values()) - _bytes(kept.values()))
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
        self.lane.part_done(self.item, part)

    async def _close(self) -> None:
        if self._has_changed or not await self.finish():
            await self._begin_again()

    async def _begin_again(self) -> None:
        await self.drop()
        self._changes += 1
        if self._changes >= CHANGED_TRIES:
            raise self.given_up()
        self.lane.add(self.first_unit())


def _bytes(parts: Iterable[SentPart]) -> int:
    return sum(part.size_bytes for part in parts)
