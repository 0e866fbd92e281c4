"""One large file in pieces that several move at once; whoever ends last closes it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from traindeck.domain.errors import AppError
from traindeck.domain.transfers import Item
from traindeck.services.transfers.lane import Lane, Unit


@dataclass(slots=True)
class Pieces:
    """Pieces handed out and not yet ended. After the first failure the others under way end, and no more begin."""

    lane: Lane
    item: Callable[[], Item]
    close: Callable[[], Awaitable[None]]
    left: int = 0
    error: AppError | None = None

    def first_unit(self, begin: Callable[[], Awaitable[None]]) -> Unit:
        return Unit(self.item(), begin, is_small=False, fail=lambda error: self.lane.failed(self.item(), error))

    async def hand_out(
        self, numbers: Sequence[int], size_of: Callable[[int], int], move: Callable[[int], Awaitable[None]]
    ) -> None:
        self.left, self.error = len(numbers), None
        if not numbers:
            await self.close()
        for number in numbers:
            run = partial(self._one, number, move)
            piece = Unit(self.item(), run, size_of(number), is_small=False, is_piece=True, fail=self._failed)
            self.lane.add(piece)

    async def _one(self, number: int, move: Callable[[int], Awaitable[None]]) -> None:
        if not self.error:
            await move(number)
        if self.left > 1:
            self.left -= 1
        elif self.error:
            self.left = 0
            self.lane.failed(self.item(), self.error)
        else:
            # Still counted: a failure of the closing is told by `_failed`.
            await self.close()

    def _failed(self, error: AppError) -> None:
        self.error = self.error or error
        self.left -= 1
        if not self.left:
            self.lane.failed(self.item(), self.error)
