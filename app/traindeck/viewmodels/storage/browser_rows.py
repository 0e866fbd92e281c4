"""The rows of a browser by rank: put in order in a worker, read in blocks when they are looked at."""

from __future__ import annotations

import asyncio
from array import array
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from PySide6.QtCore import QObject, Signal

from traindeck.domain.errors import InvalidInput
from traindeck.domain.storage.objects import Look, ObjectEntry, Shown, Size
from traindeck.domain.texts import count_text, text
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.store.object_index import ObjectIndex, RankedRows

BLOCK = 128
MOST_CHOSEN = 100_000
_BLOCKS_KEPT = 32
_WANTED_KEPT = 6
_MOST_KEPT_IDS = 5_000
_SHORTEST_PAUSE_S = 0.25
_REST = 5  # an order is followed by a rest so many times as long, while a listing goes on

_Blocks = Mapping[int, list[Shown | None]]


@dataclass(frozen=True, slots=True)
class ArrangedRows:
    """All that is shown of one look, from one moment."""

    look: Look
    order: RankedRows
    blocks: _Blocks
    as_of: datetime | None
    """When these rows were all there was; None while that is not known."""
    below: Size | None
    """Everything below the folder, if it was ever listed."""
    targets: tuple[int | None, int | None]
    """Where the row is that was to be shown, and that which was at the top."""

    @property
    def count(self) -> int:
        return len(self.order.ids)


class BrowserRows(QObject):
    """What one tab shows, a row at a time; the old order stays until the new one is there."""

    replaced = Signal()
    """Every row may be another one."""
    read = Signal(int, int)
    """These rows were read since they were asked for."""
    pointed = Signal(int)
    """The row that was to be shown was found."""
    topped = Signal(int)
    """The row that was at the top was found again."""

    def __init__(self, calls: BlockingCalls, scope: TaskScope, name: str) -> None:
        super().__init__()
        self._calls = calls
        self._scope = scope
        self._arranging, self._reading, self._finding = f"{name} arrange", f"{name} rows", f"{name} find"
        self._index: ObjectIndex | None = None
        self._look = Look()
        self.shown = ArrangedRows(Look(), RankedRows(array("i"), 0, 0, {}), {}, None, None, (None, None))
        self._blocks: OrderedDict[int, list[Shown | None]] = OrderedDict()
        self._wanted: list[int] = []
        self._seen = (0, 0)
        self._kept: tuple[int, ...] = ()
        self._target = ""
        self.top_wanted = ""
        """What was at the top when this place was left: in each order it is there, until somebody acts here."""
        self._invalidated = asyncio.Event()
        self._missed = asyncio.Event()

    def close(self) -> None:
        self._scope.cancel(self._arranging)
        self._scope.cancel(self._reading)
        self._scope.cancel(self._finding)

    # what is shown

    def row(self, rank: int) -> Shown | None:
        """None while it is read, and where it is gone."""
        block = rank // BLOCK
        rows = self._blocks.get(block)
        if rows is None:
            self._want(block)
            return None
        at = rank - block * BLOCK
        return rows[at] if at < len(rows) else None

    def id_at(self, rank: int) -> int:
        return self.shown.order.ids[rank]

    async def entries(self, ranges: Sequence[tuple[int, int]]) -> list[ObjectEntry]:
        """What the rows of these ranks (first and last) are."""
        count = sum(last - first + 1 for first, last in ranges)
        if count > MOST_CHOSEN:
            raise InvalidInput(
                count_text(
                    "{count} row is selected. At most {most} can be processed at once.",
                    "{count} rows are selected. At most {most} can be processed at once.",
                    count,
                    most=MOST_CHOSEN,
                ),
                text("Select fewer, or the folder that contains them."),
            )
        ids = [self.id_at(rank) for first, last in ranges for rank in range(first, last + 1)]
        index = self._index
        if index is None:
            return []
        rows = await self._calls.run(lambda _: index.rows(ids))
        return [rows[row_id].entry for row_id in ids if row_id in rows]

    def find(self, begin: str) -> None:
        """Tell where the first row is whose name begins so."""
        if self._index is not None:
            self._scope.start(self._finding, partial(self._find, self._index, begin), Repeat.REPLACE)

    # asking for another order

    def use(self, index: ObjectIndex | None) -> None:
        self._index = index

    def arrange(self, look: Look) -> None:
        """Show this; an order that is on its way is given up."""
        self._look = look
        self._invalidated.set()
        if self._index is not None:
            self._scope.start(self._arranging, partial(self._arrange, self._index), Repeat.REPLACE)

    def invalidate(self) -> None:
        """The index changed; what is shown follows now and then."""
        self._invalidated.set()
        if self._index is not None:
            self._scope.start(self._arranging, partial(self._arrange, self._index))

    def keep(self, ids: Sequence[int]) -> None:
        """Rows to be found again in the next order."""
        self._kept = tuple(ids[:_MOST_KEPT_IDS])

    def see(self, first: int, last: int) -> None:
        """These are on the screen: the next order has them read before it is shown."""
        self._seen = (first, last)

    def point_to(self, key: str) -> None:
        """Tell where this object is, once it is among the rows."""
        self._target = key

    # inside

    async def _arrange(self, index: ObjectIndex) -> None:
        """Goes on until the tab is closed: an end could fall together with the next one."""
        loop = asyncio.get_running_loop()
        while await self._invalidated.wait():
            self._invalidated.clear()
            began, look = loop.time(), self._look
            seen = self._seen if look == self.shown.look else (0, BLOCK - 1)
            kept, arranged = self._kept, None
            while arranged is None or kept != self._kept:  # what was chosen meanwhile would be lost
                kept = self._kept
                targets = (self._target, self.top_wanted)
                arranged = await self._calls.run(partial(_arranged, index, look, kept, seen, targets))
            self._show(arranged)
            if self.shown.count:
                await asyncio.sleep(max(_SHORTEST_PAUSE_S, _REST * (loop.time() - began)))

    def _show(self, arranged: ArrangedRows) -> None:
        self.shown = arranged
        self._blocks = OrderedDict(arranged.blocks)
        self._wanted = []
        self.replaced.emit()
        pointed, topped = arranged.targets
        if pointed is not None:
            self._target = self.top_wanted = ""
            self.pointed.emit(pointed)
        elif topped is not None and self.top_wanted:
            self.topped.emit(topped)

    async def _find(self, index: ObjectIndex, begin: str) -> None:
        shown = self.shown
        rank = await self._calls.run(partial(_rank_of, index, shown, begin))
        if rank is not None and shown is self.shown:
            self.pointed.emit(rank)

    def _want(self, block: int) -> None:
        if block not in self._wanted:
            # What was scrolled past meanwhile is not worth reading.
            self._wanted = [*self._wanted[-_WANTED_KEPT + 1 :], block]
        self._missed.set()
        if self._index is not None:
            self._scope.start(self._reading, partial(self._read, self._index))

    async def _read(self, index: ObjectIndex) -> None:
        while await self._missed.wait():
            if not self._wanted:
                self._missed.clear()
                continue
            block, shown = self._wanted.pop(), self.shown
            rows = await self._calls.run(partial(_read_block, index, shown.order, block))
            if shown is not self.shown:
                continue  # another order came: these ranks mean other rows now
            self._blocks[block] = rows
            while len(self._blocks) > _BLOCKS_KEPT:
                self._blocks.popitem(last=False)
            self.read.emit(block * BLOCK, block * BLOCK + len(rows) - 1)


def _arranged(
    index: ObjectIndex,
    look: Look,
    kept: Sequence[int],
    seen: tuple[int, int],
    targets: tuple[str, str],
    token: CancelToken,
) -> ArrangedRows:
    pointed, topped = (index.number_of(target) if target else None for target in targets)
    order = index.order(look, (*kept, *(number for number in (pointed, topped) if number is not None)), token)
    last = min(seen[1], len(order.ids) - 1)
    blocks = {block: _block(index, order, block) for block in range(seen[0] // BLOCK, last // BLOCK + 1)}
    is_search = bool(look.search)
    as_of = index.listed(look.folder, deep=is_search)
    below = None if is_search else index.size(look.folder, token)
    places = tuple(None if number is None else order.places.get(number) for number in (pointed, topped))
    return ArrangedRows(look, order, blocks, as_of, below, (places[0], places[1]))


def _rank_of(index: ObjectIndex, shown: ArrangedRows, begin: str, token: CancelToken) -> int | None:
    number = index.first_named(shown.look, begin, token)
    return shown.order.ids.index(number) if number is not None and number in shown.order.ids else None


def _block(index: ObjectIndex, order: RankedRows, block: int) -> list[Shown | None]:
    ids = order.ids[block * BLOCK : (block + 1) * BLOCK]
    rows = index.rows(ids)
    return [rows.get(row_id) for row_id in ids]


def _read_block(index: ObjectIndex, order: RankedRows, block: int, _: CancelToken) -> list[Shown | None]:
    return _block(index, order, block)
