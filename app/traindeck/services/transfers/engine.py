"""Moves what the journal says, on one loop: fair between transfers, as fast as the service answers, never twice."""

from __future__ import annotations

import asyncio
import itertools
import logging
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from traindeck.domain.errors import AppError, Conflict, KeysRefused, ServiceTrouble, Unexpected, Unreachable
from traindeck.domain.texts import text
from traindeck.domain.transfers import Item, ItemState, Kind, Order, TransferRecord, TransferState, check_of, waits_for
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.clock import utc_now
from traindeck.runtime.listeners import Listeners
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.services.file_locks import held
from traindeck.services.transfers.feeding import live
from traindeck.services.transfers.lane import Ground, Lane, Unit
from traindeck.services.transfers.ledger import Ledger
from traindeck.services.transfers.orphans import remove_all_orphans
from traindeck.services.transfers.ports import Journal, OpenPlane
from traindeck.services.transfers.rate_limit import RateLimit
from traindeck.services.transfers.rows import Transfer

if TYPE_CHECKING:
    from traindeck.services.ports import Clock

log = logging.getLogger(__name__)

BEAT_S = 0.1
MOST_ACTIVE = 4
# What may be in memory at a time, over all transfers; four parts fill a line, and more would all be lost by a kill.
_MEMORY_BYTES = 64 * 1024 * 1024
_FORGET_AFTER = timedelta(days=7)
# The bucket, the disk or the account may be gone for good.
_GIVE_UP_AFTER = timedelta(days=90)


class TransferEngine:
    """Enter it on the loop it is to run on; leaving it stops everything and forgets nothing."""

    def __init__(
        self, journal: Journal, open_plane: OpenPlane, disk: BlockingCalls, locks: Path, clock: Clock = utc_now
    ) -> None:
        self._journal = journal
        self._open_plane = open_plane
        self._disk = disk
        self._locks = locks
        self._clock = clock
        self._lanes: dict[int, Lane] = {}
        self._over: dict[int, Transfer] = {}
        self._dirty: set[int] = set()
        self._beat = asyncio.Event()
        self._names = itertools.count(1)
        self._running = 0
        self._memory = 0
        self._turn = 0
        self._active: list[Lane] = []
        self._is_closing = False
        self._owned = AsyncExitStack()
        self.limit = RateLimit()
        self.changed: Listeners[Sequence[Transfer]] = Listeners()

    async def __aenter__(self) -> Self:
        await self._owned.__aenter__()
        self._ledger = Ledger(self._journal)
        self._now = asyncio.get_running_loop().time
        self._ground = Ground(
            journal=self._journal,
            ledger=self._ledger,
            open_plane=self._open_plane,
            disk=self._disk,
            clock=self._clock,
            limit=self.limit,
            has_news=self._has_news,
            has_work=self._dispatch,
            keys_refused=self._keys_refused,
        )
        self._owned.push_async_callback(self._ledger.flush)
        self._scope = await self._owned.enter_async_context(TaskScope(self._report))
        self._scope.start("ledger", self._ledger.keep)
        self._scope.start("beat", self._tell)
        self._scope.start("tidy", self._forget_old)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_closing = True
        await self._owned.__aexit__(kind, error, trace)

    # What is wanted

    async def resume(self) -> None:
        """Take up what earlier programs left undone, unless one still works on it, and show what they did."""
        for record in await self._journal.unfinished():
            if record.id not in self._lanes:
                self._start(record)
        for record in await self._journal.all():
            if record.state.is_over and not self._is_forgotten(record) and record.id not in self._lanes:
                lane = Lane(record, self._ground)
                await lane.count_again()
                self._over[record.id] = lane.row
                self._has_news(lane)

    async def add(
        self, order: Order, *, needs_yes: bool = False, patience_s: float | None = None, takes_up: bool = False
    ) -> int:
        """Begin a transfer.

        `needs_yes`: only plan it, until `say_yes`. `patience_s`: what cannot go on for so long fails.
        `takes_up`: go on with one of the same words that was left undone, and look at both sides anew.
        """
        record = await self._left_undone(order) if takes_up else None
        if record is None:
            record = await self._journal.add(order, self._clock())
        if needs_yes:
            record = await self._journal.change(record.id, state=TransferState.READY)
        self._start(record, patience_s)
        return record.id

    async def _left_undone(self, order: Order) -> TransferRecord | None:
        for record in await self._journal.unfinished():
            if record.order == order and record.id not in self._lanes and record.state is not TransferState.READY:
                async with held(self._lock(record.id), self._disk) as is_free:
                    if is_free and record.order.rules.moves and record.is_planned:
                        # Its source may be half gone: there is no other plan of it.
                        return await self._journal.change(record.id, state=TransferState.RUNNING)
                    if is_free:
                        await self._journal.forget_unbegun(record.id)
                        return await self._journal.change(record.id, is_planned=False, state=TransferState.PLANNING)
        return None

    async def pause(self, transfer_id: int) -> None:
        lane = self._lanes.get(transfer_id)
        if lane is not None and not lane.is_paused:
            lane.pause()
            self._share_turns()
            # Without its yes it would begin by itself with the next program.
            await lane.change(state=TransferState.READY if lane.wants_yes else TransferState.PAUSED)

    async def go_on(self, transfer_id: int) -> None:
        """After a pause; or now, where it would wait longer."""
        lane = self._lanes.get(transfer_id)
        if lane is None:
            return
        if lane.is_paused:
            state = TransferState.RUNNING if lane.record.is_planned else TransferState.PLANNING
            state = TransferState.READY if lane.wants_yes else state
            lane.go_on()
            await lane.change(state=state)
            self._start_lane(lane)
        else:
            lane.go_on()

    def go_on_with(self, profile: str) -> None:
        """Its keys or its addresses are others now, or the network is back."""
        for lane in self._lanes.values():
            if lane.record.order.profile == profile and not lane.is_paused:
                lane.go_on()
        self._dispatch()

    async def say_yes(self, transfer_id: int) -> None:
        lane = self._lanes.get(transfer_id)
        if lane is not None and lane.wants_yes:
            lane.say_yes()
            self._share_turns()

    async def cancel(self, transfer_id: int) -> None:
        """End it and take back what is half there; what is done stays."""
        lane = self._lanes.get(transfer_id)
        if lane is None or lane.is_cancelled:
            return
        lane.is_cancelled = True
        for worker in lane.workers:
            worker.cancel()
        self._scope.start(_name(lane), lambda: self._take_back(lane), Repeat.REPLACE)

    async def retry(self, transfer_id: int) -> None:
        """Try once more what failed."""
        if transfer_id in self._lanes:
            return
        record = await self._journal.get(transfer_id)
        if not record.state.is_over:
            return
        if record.order.kind is Kind.REMOVE and not await self._was_begun(transfer_id):
            raise Conflict(
                text("Nobody has agreed to this deletion yet."),
                text("Delete it where it is listed, to see how much it is."),
            )
        if record.order.kind is Kind.CHECK:
            await self._check_anew(record)
            return
        await self._journal.open_again(transfer_id, [ItemState.FAILED, ItemState.WAITING])
        state = TransferState.RUNNING if record.is_planned else TransferState.PLANNING
        if not record.is_planned and record.order.rules.delete:
            state = TransferState.READY  # nobody has seen yet what it would remove
        self._start(await self._journal.change(transfer_id, state=state, error=None, ended=None))

    async def _was_begun(self, transfer_id: int) -> bool:
        files = (await self._journal.totals(transfer_id)).files
        return any(files.get(state) for state in (ItemState.DONE, ItemState.FAILED))

    async def _check_anew(self, record: TransferRecord) -> None:
        await self._journal.forget_unbegun(record.id)
        changes = {"is_planned": False, "state": TransferState.PLANNING, "error": None, "started": None, "ended": None}
        self._start(await self._journal.change(record.id, **changes))

    async def verify(self, transfer_id: int) -> None:
        """Look whether all that a transfer brought, which is over, is still where it should be."""
        if transfer_id in self._lanes:
            return
        record = await self._journal.get(transfer_id)
        if record.order.kind is Kind.CHECK:
            await self._check_anew(record)
        else:
            await self.add(check_of(record))

    async def move_first(self, transfer_id: int) -> None:
        lane = self._lanes.get(transfer_id)
        if lane is not None:
            lane.record = await self._journal.move_first(transfer_id)
            self._share_turns()

    async def forget(self, transfer_id: int) -> None:
        """Take one that is over out of the list; unfinished pieces here and at the service go first."""
        if transfer_id in self._lanes:
            return
        self._over.pop(transfer_id, None)
        await self._forget(await self._journal.get(transfer_id))

    async def ended(self, transfer_id: int) -> Transfer:
        """How it ended, as soon as it has."""
        lane = self._lanes.get(transfer_id)
        if lane is not None:
            await lane.is_over.wait()
        row = self._over.get(transfer_id)
        if row is None:
            lane = Lane(await self._journal.get(transfer_id), self._ground)
            await lane.count_again()
            row = lane.row
        return row

    async def planned(self, transfer_id: int) -> Transfer:
        """Its plan, as soon as that is made; or how it failed."""
        lane = self._lanes.get(transfer_id)
        if lane is None:  # it ended before anybody could ask
            return await self.ended(transfer_id)
        await lane.is_known.wait()
        return lane.row

    def rows(self) -> list[Transfer]:
        """Newest first."""
        found = {**self._over, **{lane.id: lane.row for lane in self._lanes.values()}}
        return [found[number] for number in sorted(found, reverse=True)]

    async def items(
        self,
        transfer_id: int,
        states: Sequence[ItemState] = tuple(ItemState),
        *,
        is_verified: bool | None = None,
        after: str = "",
        most: int = 1000,
    ) -> list[Item]:
        """A page of what is to be done and was done, with the results of this moment."""
        await self._ledger.flush()
        return await self._journal.items(transfer_id, states, is_verified=is_verified, after=after, most=most)

    # How it is done

    async def _forget_old(self) -> None:
        for record in await self._journal.all():
            if record.state.is_over and self._is_forgotten(record) and record.id not in self._lanes:
                await self._forget(record)

    def _is_forgotten(self, record: TransferRecord) -> bool:
        return record.is_dropped or (record.ended or record.created) < self._clock() - _FORGET_AFTER

    async def _forget(self, record: TransferRecord) -> None:
        """What cannot be taken back now stays in the journal, and the next program tries again."""
        async with held(self._lock(record.id), self._disk) as is_free:
            if not is_free:
                return
            is_given_up = (record.ended or record.created) < self._clock() - _GIVE_UP_AFTER
            if await self._remove_pieces(Lane(record, self._ground)) or is_given_up:
                await self._journal.forget(record.id)
            elif not record.is_dropped:
                await self._journal.change(record.id, is_dropped=True)

    def _start(self, record: TransferRecord, patience_s: float | None = None) -> None:
        self._over.pop(record.id, None)
        lane = Lane(record, self._ground, patience_s)
        self._lanes[record.id] = lane
        self._start_lane(lane)

    def _start_lane(self, lane: Lane) -> None:
        if not lane.is_paused:
            self._scope.start(_name(lane), lambda: self._live(lane))
        self._share_turns()
        self._has_news(lane)

    async def _live(self, lane: Lane) -> None:
        async with held(self._lock(lane.id), self._disk) as is_ours:
            if is_ours:
                await self._live_to_the_end(lane)
            else:
                # Another program moves it, and shows it.
                self._dirty.discard(lane.id)
        self._end(lane, is_shown=is_ours)

    async def _live_to_the_end(self, lane: Lane) -> None:
        try:
            await live(lane)
            # Without network or keys it would only make the end late; forgetting it looks for them, too.
            if lane.record.error is None or waits_for(lane.record.error) is None:
                await remove_all_orphans(lane)
        except Exception as error:
            # Also a journal that cannot be written: then the next program takes it up where this one left it.
            log.exception("transfer %d ended", lane.id)
            known = error if isinstance(error, AppError) else Unexpected(f"{type(error).__name__}: {error}")
            lane.record = replace(lane.record, state=TransferState.FAILED, error=known, ended=self._clock())

    def _end(self, lane: Lane, *, is_shown: bool = True) -> None:
        lane.clear()
        lane.is_over.set()
        lane.is_known.set()
        self._lanes.pop(lane.id, None)
        if is_shown:
            self._over[lane.id] = lane.row
            self._has_news(lane)
        self._share_turns()

    async def _take_back(self, lane: Lane) -> None:
        if lane.workers:
            await asyncio.wait(lane.workers)
        async with held(self._lock(lane.id), self._disk) as is_ours:
            if is_ours:
                await self._remove_pieces(lane)
                await lane.change(state=TransferState.CANCELLED, ended=self._clock())
        self._end(lane, is_shown=is_ours)

    async def _remove_pieces(self, lane: Lane) -> bool:
        """Whether all that was half there is gone."""
        # It brings all the movers along, and is seldom needed.
        from traindeck.services.transfers.taking_back import take_back

        await self._ledger.flush()
        is_clean = True
        for item in await self._journal.begun(lane.id):
            try:
                await take_back(lane, item)
            except AppError as error:
                is_clean = False
                log.warning("unfinished pieces of %s were not removed: %s", item.key, error)
            else:
                await self._journal.begin_parts(lane.id, replace(item, upload_id="", part_bytes=0))
        if lane.begun:
            await remove_all_orphans(lane)
        return is_clean

    def _lock(self, transfer_id: int) -> Path:
        return self._locks / f"{transfer_id}.lock"

    async def _tell(self) -> None:
        while True:
            await self._beat.wait()
            self._beat.clear()
            dirty, self._dirty = self._dirty, set()
            rows = [self._lanes[number].row if number in self._lanes else self._over.get(number) for number in dirty]
            self.changed.tell([row for row in rows if row is not None])
            await asyncio.sleep(BEAT_S)

    def _has_news(self, lane: Lane) -> None:
        self._dirty.add(lane.id)
        self._beat.set()

    def _keys_refused(self, profile: str, error: KeysRefused) -> None:
        for lane in self._lanes.values():
            if lane.record.order.profile == profile:
                lane.hold_for_keys(error)

    def _share_turns(self) -> None:
        """The first few go at once; the others wait, and plan when their turn comes."""
        waiting = sorted((lane for lane in self._lanes.values() if lane.wants_turn), key=_place)
        self._active = waiting[:MOST_ACTIVE]
        for lane in list(self._lanes.values()):
            lane.give_turn(lane in self._active or lane.wants_yes)
        self._dispatch()

    def _dispatch(self) -> None:
        while not self._is_closing and (found := self._next()) is not None:
            lane, unit = found
            self._scope.start(f"worker {next(self._names)}", partial(self._work, lane, unit))

    def _next(self) -> tuple[Lane, Unit] | None:
        """What comes next, and whose it is: each lane in its turn, among those that may."""
        # Where nothing is under way even the largest piece may go.
        memory = _MEMORY_BYTES - self._memory if self._running else sys.maxsize
        for number in range(len(self._active)):
            at = (self._turn + number) % len(self._active)
            lane = self._active[at]
            if lane.pace.running >= lane.pace.limit or not lane.may_work:
                continue
            unit = lane.take(memory)
            if unit is not None:
                self._turn = at + 1
                lane.pace.running += 1
                self._running += 1
                self._memory += unit.size_bytes
                return lane, unit
        return None

    async def _work(self, lane: Lane, unit: Unit) -> None:
        """One piece after the other, as long as there is one for one more."""
        task = asyncio.current_task()
        assert task is not None
        while True:
            await self._do(task, lane, unit)
            following = None if self._is_closing else self._next()
            if following is None:
                return
            lane, unit = following
            self._dispatch()

    async def _do(self, task: asyncio.Task[None], lane: Lane, unit: Unit) -> None:
        began = self._now()
        lane.workers.add(task)
        error: AppError | None = None
        is_done = False
        try:
            await unit.run()
            is_done = True
        except AppError as known:
            error = known
        except Exception as mistake:
            log.exception("transfer %d: %s", lane.id, unit.item.key)
            error = Unexpected(f"{type(mistake).__name__}: {mistake}")
        finally:
            lane.workers.discard(task)
            lane.pace.running -= 1
            self._running -= 1
            self._memory -= unit.size_bytes
            if not is_done and error is None:  # cancelled: it is done by whoever comes next
                lane.put_back(unit)
                self._dispatch()
        if error is not None:
            if isinstance(error, ServiceTrouble) and not isinstance(error, Unreachable):
                lane.pace.was_refused()
            (unit.fail or (lambda known: lane.failed(unit.item, known)))(error)
        elif unit.is_small:
            now = self._now()
            lane.pace.ended(now - began, now)

    @staticmethod
    def _report(name: str, error: AppError) -> None:
        log.error("%s: %s %s", name, error, error.detail)


def _name(lane: Lane) -> str:
    return f"transfer {lane.id}"


def _place(lane: Lane) -> tuple[float, int]:
    return lane.record.place, lane.id
