"""Results on their way into the journal, several times a second and many at once."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict

from traindeck.domain.errors import AppError
from traindeck.domain.transfers import Item, SentPart
from traindeck.services.transfers.ports import Journal

log = logging.getLogger(__name__)

_PAUSE_S = 0.2
_AGAIN_S = 5.0


class Ledger:
    """Keeps what happened until the journal has it."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._items: defaultdict[int, dict[str, Item]] = defaultdict(dict)
        self._parts: defaultdict[int, list[tuple[str, SentPart]]] = defaultdict(list)
        self._known: defaultdict[str, list[Item]] = defaultdict(list)
        self._news = asyncio.Event()
        self._writing = asyncio.Lock()

    def item(self, transfer_id: int, item: Item) -> None:
        self._items[transfer_id][item.key] = item
        self._news.set()

    def part(self, transfer_id: int, key: str, part: SentPart) -> None:
        self._parts[transfer_id].append((key, part))
        self._news.set()

    def known(self, place: str, here: Item) -> None:
        self._known[place].append(here)
        self._news.set()

    async def keep(self) -> None:
        """Write as long as this runs; what cannot be written now is written later."""
        while True:
            await self._news.wait()
            await asyncio.sleep(_PAUSE_S)
            try:
                await self.flush()
            except AppError as error:
                log.warning("results of transfers are not on the disk yet: %s", error)
                await asyncio.sleep(_AGAIN_S)

    async def flush(self) -> None:
        """Everything that happened before this is on the disk when it returns."""
        async with self._writing:
            self._news.clear()
            try:
                while self._parts:
                    transfer_id, parts = next(iter(self._parts.items()))
                    del self._parts[transfer_id]
                    await self._write_parts(transfer_id, parts)
                while self._items:
                    transfer_id, items = next(iter(self._items.items()))
                    del self._items[transfer_id]
                    await self._write_items(transfer_id, items)
                while self._known:
                    place, known = next(iter(self._known.items()))
                    del self._known[place]
                    await self._write_known(place, known)
            finally:
                if self._parts or self._items or self._known:
                    self._news.set()

    async def _write_known(self, place: str, known: list[Item]) -> None:
        try:
            await self._journal.remember(place, known)
        except BaseException:
            self._known[place] = known + self._known[place]
            raise

    async def _write_parts(self, transfer_id: int, parts: list[tuple[str, SentPart]]) -> None:
        try:
            await self._journal.note_parts(transfer_id, parts)
        except BaseException:
            self._parts[transfer_id] = parts + self._parts[transfer_id]
            raise

    async def _write_items(self, transfer_id: int, items: dict[str, Item]) -> None:
        try:
            await self._journal.note(transfer_id, list(items.values()))
        except BaseException:
            self._items[transfer_id] = {**items, **self._items[transfer_id]}
            raise
