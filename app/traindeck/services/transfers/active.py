"""One transfer under way: what is ready to be moved, what is being moved, what waits, and how it ended."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.domain.errors import (
    AccessRefused,
    AppError,
    DiskFull,
    KeysRefused,
    NotUnderstood,
    Occupied,
    ends_all,
)
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.transfers.local_names import part_of
from traindeck.domain.transfers.orders import CompareBy, Kind, known_place
from traindeck.domain.transfers.records import (
    Action,
    Item,
    ItemState,
    SentPart,
    Totals,
    TransferRecord,
    TransferState,
    WaitsFor,
    waits_for,
)
from traindeck.runtime.clock import delays, utc_now
from traindeck.services.http.calls import Setback, pause_after
from traindeck.services.storage.data_ports import ObjectHead
from traindeck.services.storage.wire.data_plane import DataPlane
from traindeck.services.transfers.bodies import gone, still_named
from traindeck.services.transfers.ledger import Transfer
from traindeck.services.transfers.ready import ReadyUnits, Unit
from traindeck.services.transfers.rows import transfer_row

if TYPE_CHECKING:
    from traindeck.services.transfers.engine import TransferEngine

log = logging.getLogger(__name__)

# So many failures in a row, with no success between, are not about the files.
HOLD_AFTER = 6
FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 60.0

_chance = random.Random()


def _waits() -> Iterator[float]:
    return delays(FIRST_WAIT_S, LONGEST_WAIT_S, _chance)


class ActiveTransfer:
    """The state of one transfer; everything here happens on the engine's loop."""

    def __init__(self, record: TransferRecord, engine: TransferEngine, patience_s: float | None = None) -> None:
        order = record.order
        self.record = record
        self.root = Path(record.root)
        self.id = record.id
        self.kind = order.kind
        self.is_move = order.rules.moves
        self.engine = engine
        self.pace = engine.paces[order.profile]
        self._ready = ReadyUnits()
        self.workers: set[asyncio.Task[None]] = set()
        self.running = 0  # also those whose task has not begun yet
        self._most_at_once = order.rules.parallel
        self.is_paused = record.state is TransferState.PAUSED
        self.is_cancelled = False
        self.is_known = asyncio.Event()  # its plan is made
        self.is_over = asyncio.Event()
        self.under_way = 0
        self.done_bytes = 0
        self.is_planning = False
        self.wants_yes = record.state is TransferState.READY
        self._doubt_to = record.fed_to
        self._bucket = order.remote.bucket
        self.remembers = order.kind is Kind.DOWNLOAD and order.rules.compare is CompareBy.SIZE_AND_TIME
        self.begun: set[ObjectPath] = set()  # uploads in parts, of which an answer may have been lost
        self._patience_s = patience_s
        self._plane: DataPlane | None = None
        self._news = asyncio.Event()
        self._has_turn = False
        self._totals = Totals()
        # The time is of use against another program, whose journal counts from one as well.
        self.mark = hashlib.blake2b(f"{record.id} {record.created}".encode(), digest_size=4).hexdigest()
        self._place = ""
        # Trouble that is not about one file
        self._failures = 0
        self._waits = _waits()
        self._held_until: float | None = None
        self._is_probing = False
        self._trouble: AppError | None = None  # what is tried again
        self._tries = 0
        self._next_try: datetime | None = None  # of a request, which sees to that itself
        self._fatal: AppError | None = None
        self._good_at = asyncio.get_running_loop().time()

    def place(self, item: Item) -> Path:
        """Where the item is, or goes, on this computer."""
        return self.root / item.name if item.name else self.root

    def part(self, item: Item) -> Path:
        """Where the object is while it is not whole; no two transfers share one."""
        return part_of(self.place(item), self.mark)

    def place_words(self, item: Item) -> str:
        """The same as text, for many small files."""
        root = str(self.root)
        return os.path.join(root, *item.name.split("/")) if item.name else root  # noqa: PTH118

    def remote(self, item: Item) -> ObjectPath:
        """The item's own object: the target going up, else the source."""
        return ObjectPath(self._bucket, item.key)

    def is_doubtful(self, item: Item) -> bool:
        """It may have been under way, or done, when an earlier program ended."""
        return item.key <= self._doubt_to

    async def plane(self) -> DataPlane:
        if self._plane is None:
            self._plane = await self.engine.open_plane(self.record.order.profile)
        return self._plane

    async def head(self, item: Item) -> ObjectHead:
        """The item's own object as it is now."""
        found = await (await self.plane()).head(self.remote(item))
        if found is None:
            raise gone(self.remote(item))
        return still_named(found, item.etag)

    # What the engine asks

    @property
    def may_work(self) -> bool:
        """Whether units may be taken now."""
        if not self._has_turn or self.is_paused or self.is_cancelled:
            return False
        if self._held_until is not None or self._fatal is not None:
            return False
        if self._most_at_once and self.running >= self._most_at_once:
            return False
        return not (self._is_probing and self.workers)

    @property
    def wants_turn(self) -> bool:
        return not (self.is_paused or self.is_cancelled or self.is_over.is_set() or self.wants_yes)

    def give_turn(self, has_turn: bool) -> None:
        if has_turn != self._has_turn:
            self._has_turn = has_turn
            self.tell()

    def take(self, memory_bytes: int) -> Unit | None:
        """A unit that needs no more memory than this."""
        unit = self._ready.take(memory_bytes)
        if unit is not None and self._has_room:
            self._news.set()
        return unit

    def put_back(self, unit: Unit) -> None:
        self._ready.put_back(unit)

    def clear(self) -> None:
        """Nothing of it is done any more."""
        self._ready.clear()

    # What the movers tell

    def add(self, unit: Unit) -> None:
        self._ready.add(unit)
        self.engine.dispatch()

    def count(self, moved_bytes: int) -> None:
        self.done_bytes += moved_bytes
        self.engine.has_news(self.id)

    def part_done(self, item: Item, part: SentPart) -> None:
        self.engine.ledger.part(self.id, item.key, part)
        self.went_well()

    def ended(
        self,
        item: Item,
        state: ItemState,
        error: AppError | None = None,
        *,
        is_verified: bool = False,
        etag: str | None = None,
    ) -> None:
        """The item needs nothing more."""
        action, is_over = item.action, state is ItemState.DONE
        if self.is_move and is_over and action in (Action.MOVE, Action.MAKE_FOLDER, Action.LINK):
            # Half of a move: its source is left when everything has arrived.
            action, state = Action.LEAVE, ItemState.QUEUED
            self._totals.copied_files += 1
        elif action is Action.LEAVE and is_over:
            self._totals.copied_files -= 1
        # Written out: `replace` costs as much as all the rest that is done here for a small file.
        over = Item(
            item.key,
            item.name,
            item.size_bytes,
            item.modified_ns,
            item.inode,
            item.mode,
            item.etag if etag is None else etag,
            action,
            state,
            item.upload_id if state is ItemState.FAILED else "",
            0 if action is Action.LEAVE else item.part_bytes,
            is_verified,
            error,
        )
        self._totals.verified += is_verified and item.action is not Action.LEAVE
        self._note(over)
        if is_over:
            if self.kind is Kind.UPLOAD and over.etag and over.action is Action.MOVE:
                self.remember(over)
            self.went_well()

    def remember(self, here: Item) -> None:
        """This file, as it is on this computer, has the content that the service calls by this ETag."""
        if here.etag:
            self._place = self._place or known_place(self.record.order, self.record.root)
            self.engine.ledger.known(self._place, here)

    def failed(self, item: Item, error: AppError) -> None:
        """It waits where waiting may help, else it is over."""
        if isinstance(error, Occupied) and self.record.order.rules.keeps_existing:
            self.count(item.size_bytes)
            self.ended(item, ItemState.KEPT)
            return
        reason = waits_for(error)
        if reason is None:
            log.warning("transfer %d: %s: %s %s", self.id, item.key, error, error.detail)
            if self._is_vain(error):
                self._fatal = self._fatal or error
            self.ended(item, ItemState.FAILED, error)
            return
        if isinstance(error, AccessRefused):
            self._plane = None  # the keys may be others by now
        self._failures += 1
        is_given_up = self._is_out_of_patience(error)
        if not is_given_up:  # else nothing is tried again
            self._met(error)
        if isinstance(error, KeysRefused):
            self.engine.hold_for_keys(self.record.order.profile, error)
        elif self._failures >= HOLD_AFTER:
            self._hold(error, is_given_up=is_given_up)
        if is_given_up and not self._fatal:
            self.ended(item, ItemState.FAILED, error)
        else:
            self._note(replace(item, state=ItemState.WAITING, error=error))

    def _is_vain(self, error: AppError) -> bool:
        """The rest would fare no better; an answer without sense may be about one object only, many are not."""
        if isinstance(error, NotUnderstood):
            self._failures += 1
            return self._failures >= HOLD_AFTER
        return ends_all(error)

    def set_back(self, setback: Setback) -> None:
        """One of its requests failed, and is sent again by itself."""
        self._met(setback.error, setback.next_try)

    def _met(self, error: AppError, next_try: datetime | None = None) -> None:
        self._trouble, self._next_try = error, next_try
        self._tries += 1
        if self._tries == 1:
            self.engine.tell_at_once(self)
        self.engine.has_news(self.id)

    def went_well(self) -> None:
        self._is_probing = False
        self._good_at = asyncio.get_running_loop().time()
        if not (self._failures or self._tries or self._trouble):  # as with nearly all of a million files
            return
        self._failures = 0
        self._waits = _waits()
        self._tries, self._next_try = 0, None
        if self._held_until is None and not self._totals.files[ItemState.WAITING]:
            self._trouble = None

    def _is_out_of_patience(self, error: AppError) -> bool:
        if self._patience_s is None:
            return False
        waited = asyncio.get_running_loop().time() - self._good_at
        # Nobody is there to give other keys or to make room.
        return isinstance(error, AccessRefused | DiskFull) or waited >= self._patience_s

    def _note(self, item: Item) -> None:
        self.under_way -= 1
        self._totals.files[item.state] += 1
        self.engine.ledger.item(self.id, item)
        self._news.set()
        self.engine.has_news(self.id)

    def hold_for_keys(self, error: KeysRefused) -> None:
        """Nothing more is asked with these keys: too much of it locks the account."""
        self._plane = None
        is_given_up = self._is_out_of_patience(error)
        if not is_given_up:
            self._met(error)
        self._hold(error, is_given_up=is_given_up)
        self.tell()

    def _hold(self, error: AppError, *, is_given_up: bool) -> None:
        if is_given_up:
            self._fatal = error
        elif self._held_until is None:
            self._held_until = asyncio.get_running_loop().time() + self._next_wait(error)

    def _next_wait(self, error: AppError) -> float:
        pause = pause_after(error, self._waits)
        # The keys or the disk wait for somebody, who may have been there.
        return next(self._waits) if pause is None else pause

    # What the user wants

    def pause(self) -> None:
        self.is_paused = True
        for worker in self.workers:
            worker.cancel()
        self.tell()

    def resume(self) -> None:
        """After a pause, or because what it waited for may be over."""
        self.is_paused = False
        self._plane = None
        self._waits = _waits()
        if self._held_until is not None:
            self._held_until = 0.0
        self._good_at = asyncio.get_running_loop().time()
        self.tell()

    def confirm(self) -> None:
        self.wants_yes = False
        self.tell()

    # What the feeder waits for

    def tell(self) -> None:
        self._news.set()
        self.engine.has_news(self.id)
        if self._ready:
            self.engine.dispatch()

    async def room(self) -> None:
        """Come back when more can be made ready; raises what ends the whole transfer."""
        while True:
            await self._until_open()
            if self._has_room:
                return
            await self._wait(None)

    @property
    def _has_room(self) -> bool:
        return self._ready.has_room(self.pace.limit)

    async def quiet(self, most: int = 0) -> None:
        """Come back when nothing is under way, or no more than so many items."""
        while self.under_way > most:
            await self._until_open()
            if self.under_way > most:
                await self._wait(None)

    async def trouble_over(self, error: AppError) -> None:
        """Wait as long as one should before trying again what is not about one file."""
        if self._is_out_of_patience(error):
            raise error
        self._met(error)
        self._plane = None
        self._held_until = asyncio.get_running_loop().time() + self._next_wait(error)
        await self._until_open()

    async def _until_open(self) -> None:
        while True:
            if self._fatal:
                raise self._fatal
            now = asyncio.get_running_loop().time()
            if self._held_until is not None and now >= self._held_until:
                self._held_until, self._next_try = None, None
                self._is_probing = True
                self._failures = HOLD_AFTER - 1
                self.tell()
            if self._held_until is not None:
                await self._wait(self._held_until - now)
            elif self.is_paused or not self._has_turn:
                await self._wait(None)
            else:
                return

    async def _wait(self, seconds: float | None) -> None:
        self._news.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return

    async def until_yes(self) -> None:
        self.is_known.set()
        while self.wants_yes:
            await self._wait(None)

    async def next_round(self) -> bool:
        """After all was tried once: wait for what waits, and queue it again. False: nothing waits."""
        if not self._totals.files[ItemState.WAITING]:
            return False
        error = self._trouble
        assert error is not None
        await self.engine.ledger.flush()
        if self._is_out_of_patience(error):
            await self.engine.journal.give_up_waiting(self.id)
        else:
            await self.trouble_over(error)
            await self.engine.journal.open_again(self.id, [ItemState.WAITING])
        await self.count_again()
        return True

    # Bookkeeping

    async def change(self, **changes: object) -> None:
        self.record = await self.engine.journal.change(self.id, **changes)
        self.root = Path(self.record.root)
        self.tell()

    async def count_again(self) -> None:
        await self.engine.ledger.flush()
        self._totals = await self.engine.journal.totals(self.id)
        if not self.workers:
            self.done_bytes = self._totals.done_bytes
        self.tell()

    async def next_items(self, after: str, most: int, action: Action) -> list[Item]:
        items = await self.engine.journal.next_items(self.id, after, most, action=action)
        self.under_way += len(items)
        return items

    @property
    def failed_files(self) -> int:
        return self._totals.files[ItemState.FAILED]

    @property
    def good_files(self) -> int:
        return self._totals.files[ItemState.DONE] + self._totals.files[ItemState.EQUAL]

    @property
    def row(self) -> Transfer:
        trouble = None if self.record.state.is_over or self.is_over.is_set() else self._trouble
        waits, next_try = None, self._next_try if trouble else None
        if self._held_until is not None and trouble:
            waits = waits_for(trouble)
            left = self._held_until - asyncio.get_running_loop().time()
            next_try = utc_now() + timedelta(seconds=max(0.0, left)) if waits else None
        return transfer_row(
            self,
            self._totals,
            state=self._shown_state(waits),
            trouble=trouble,
            waits=waits,
            tries=self._tries if trouble else 0,
            next_try=next_try,
        )

    def _shown_state(self, waits: WaitsFor | None) -> TransferState:
        state = self.record.state
        if state.is_over:
            return state
        if self.is_paused:
            return TransferState.PAUSED
        if self.wants_yes and self.record.is_planned:
            return TransferState.READY
        if waits:
            return TransferState.WAITING
        if not self._has_turn:
            return TransferState.QUEUED
        return TransferState.PLANNING if self.is_planning or not self.record.is_planned else TransferState.RUNNING
