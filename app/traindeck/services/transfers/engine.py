"""Moves what the journal says, on one loop: fair between transfers, as fast as the service answers, never twice."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import sys
from collections import defaultdict
from collections.abc import Sequence
from contextlib import AbstractContextManager, AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from traindeck.domain.errors import (
    AppError,
    Conflict,
    KeysRefused,
    ServiceTrouble,
    Unexpected,
    Unreachable,
)
from traindeck.domain.texts import text
from traindeck.domain.transfers.orders import Kind, Order
from traindeck.domain.transfers.records import ItemState, TransferRecord, TransferState, check_of, waits_for
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.clock import utc_now
from traindeck.runtime.tasks import Listeners, Repeat, TaskScope
from traindeck.services.http.calls import setbacks_told
from traindeck.services.jobs.locks import held
from traindeck.services.storage.wire.data_plane import OpenPlane
from traindeck.services.transfers.active import ActiveTransfer
from traindeck.services.transfers.feeding import live
from traindeck.services.transfers.ledger import Ledger, Transfer
from traindeck.services.transfers.orphans import remove_all_orphans, take_back
from traindeck.services.transfers.pace import Pace, RateLimit
from traindeck.services.transfers.ready import Unit

if TYPE_CHECKING:
    from traindeck.store.transfer_journal import TransferJournal

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

    def __init__(self, journal: TransferJournal, open_plane: OpenPlane, disk: BlockingCalls, locks: Path) -> None:
        self.journal = journal
        self.ledger = Ledger(journal)
        self.open_plane = open_plane
        self.disk = disk
        self.limit = RateLimit()
        # No more than there are cores: else all parts are ready at the same time, and the line is idle until then.
        self.hashing = asyncio.Semaphore(os.cpu_count() or 1)
        self.paces: defaultdict[str, Pace] = defaultdict(Pace)  # of the profiles
        self.changed: Listeners[Sequence[Transfer]] = Listeners()
        self._locks = locks
        self._under_way: dict[int, ActiveTransfer] = {}
        self._over: dict[int, Transfer] = {}
        self._dirty: set[int] = set()
        self._beat = asyncio.Event()
        self._names = itertools.count(1)
        self._running = 0
        self._memory = 0
        self._turn = 0
        self._active: list[ActiveTransfer] = []
        self._is_closing = False
        self._owned = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self._owned.__aenter__()
        self._loop = asyncio.get_running_loop()
        self._now = self._loop.time
        self._owned.push_async_callback(self.ledger.flush)
        self._scope = await self._owned.enter_async_context(TaskScope(report))
        self._scope.start("ledger", self.ledger.keep)
        self._scope.start("beat", self._tell)
        self._scope.start("tidy", self._forget_old)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_closing = True
        await self._owned.__aexit__(kind, error, trace)

    # What is wanted

    async def resume_unfinished(self) -> None:
        """Take up what earlier programs left undone, unless one still works on it, and show what they did."""
        for record in await self.journal.unfinished():
            if record.id not in self._under_way:
                self._start(record)
        for record in await self.journal.all():
            if record.state.is_over and not self._is_forgotten(record) and record.id not in self._under_way:
                self._over[record.id] = await self._row_of(record)
                self.has_news(record.id)

    async def add(
        self, order: Order, *, needs_confirmation: bool = False, patience_s: float | None = None, takes_up: bool = False
    ) -> int:
        """Begin a transfer.

        `needs_confirmation`: only plan it, until `confirm`. `patience_s`: what cannot go on for so long fails.
        `takes_up`: go on with one that asks the same and was left undone, and look at both sides anew.
        """
        record = await self._left_undone(order) if takes_up else None
        if record is None:
            record = await self.journal.add(order, utc_now())
        if needs_confirmation:
            record = await self.journal.change(record.id, state=TransferState.READY)
        self._start(record, patience_s)
        return record.id

    async def _left_undone(self, order: Order) -> TransferRecord | None:
        for record in await self.journal.unfinished():
            is_left = record.id not in self._under_way and record.state is not TransferState.READY
            if is_left and record.order.asks_the_same(order):
                async with held(self._lock(record.id), self.disk) as is_free:
                    rules = order.rules.to_json()
                    if is_free and record.order.rules.moves and record.is_planned:
                        # Its source may be half gone: there is no other plan of it.
                        return await self.journal.change(record.id, rules=rules, state=TransferState.RUNNING)
                    if is_free:
                        await self.journal.forget_unbegun(record.id)
                        changes = {"rules": rules, "is_planned": False, "state": TransferState.PLANNING}
                        return await self.journal.change(record.id, **changes)
        return None

    async def pause(self, transfer_id: int) -> None:
        active = self._under_way.get(transfer_id)
        if active is not None and not active.is_paused:
            active.pause()
            self._share_turns()
            # Without its yes it would begin by itself with the next program.
            await active.change(state=TransferState.READY if active.wants_yes else TransferState.PAUSED)

    async def resume(self, transfer_id: int) -> None:
        """After a pause; or now, where it would wait longer."""
        active = self._under_way.get(transfer_id)
        if active is None:
            return
        was_paused = active.is_paused
        active.resume()
        if was_paused:
            state = TransferState.RUNNING if active.record.is_planned else TransferState.PLANNING
            await active.change(state=TransferState.READY if active.wants_yes else state)
            self._launch(active)

    def resume_with(self, profile: str) -> None:
        """Its keys or its addresses are others now, or the network is back."""
        for active in self._under_way.values():
            if active.record.order.profile == profile and not active.is_paused:
                active.resume()
        self.dispatch()

    async def confirm(self, transfer_id: int) -> None:
        active = self._under_way.get(transfer_id)
        if active is not None and active.wants_yes and not active.is_cancelled:
            # First in the journal: what was agreed to goes on with the next program, whenever this one ends.
            await active.change(state=TransferState.RUNNING if active.record.is_planned else TransferState.PLANNING)
            active.confirm()
            self._share_turns()

    async def cancel(self, transfer_id: int) -> None:
        """End it and take back what is half there; what is done stays."""
        active = self._under_way.get(transfer_id)
        if active is None or active.is_cancelled:
            return
        active.is_cancelled = True
        for worker in active.workers:
            worker.cancel()
        self._scope.start(_name(active), lambda: self._take_back(active), Repeat.REPLACE)

    async def retry(self, transfer_id: int) -> None:
        """Try once more what failed."""
        if transfer_id in self._under_way:
            return
        record = await self.journal.get(transfer_id)
        if not record.state.is_over:
            return
        if record.order.kind is Kind.REMOVE:
            files = (await self.journal.totals(transfer_id)).files
            if not (files[ItemState.DONE] or files[ItemState.FAILED]):
                raise Conflict(
                    text("This deletion was not confirmed yet."),
                    text("Delete it from its list again, to see how much it is."),
                )
        if record.order.kind is Kind.CHECK:
            await self._check_anew(record)
            return
        await self.journal.open_again(transfer_id, [ItemState.FAILED, ItemState.WAITING])
        state = TransferState.RUNNING if record.is_planned else TransferState.PLANNING
        if not record.is_planned and record.order.rules.delete:
            state = TransferState.READY  # nobody has seen yet what it would remove
        self._start(await self.journal.change(transfer_id, state=state, error=None, ended=None))

    async def _check_anew(self, record: TransferRecord) -> None:
        await self.journal.forget_unbegun(record.id)
        changes = {"is_planned": False, "state": TransferState.PLANNING, "error": None, "started": None, "ended": None}
        self._start(await self.journal.change(record.id, **changes))

    async def verify(self, transfer_id: int) -> None:
        """Look whether all that a transfer brought, which is over, is still where it should be."""
        if transfer_id in self._under_way:
            return
        record = await self.journal.get(transfer_id)
        if record.order.kind is Kind.CHECK:
            await self._check_anew(record)
        else:
            await self.add(check_of(record))

    async def move_first(self, transfer_id: int) -> None:
        active = self._under_way.get(transfer_id)
        if active is not None:
            active.record = await self.journal.move_first(transfer_id)
            self._share_turns()

    async def forget(self, transfer_id: int) -> None:
        """Take one that is over out of the list; unfinished pieces here and at the service go first."""
        if transfer_id in self._under_way:
            return
        self._over.pop(transfer_id, None)
        await self._forget(await self.journal.get(transfer_id))

    async def ended(self, transfer_id: int) -> Transfer:
        """How it ended, as soon as it has."""
        active = self._under_way.get(transfer_id)
        if active is not None:
            await active.is_over.wait()
        return self._over.get(transfer_id) or await self._row_of(await self.journal.get(transfer_id))

    async def _row_of(self, record: TransferRecord) -> Transfer:
        active = ActiveTransfer(record, self)
        await active.count_again()
        return active.row

    async def planned(self, transfer_id: int) -> Transfer:
        """Its plan, as soon as that is made; or how it failed."""
        active = self._under_way.get(transfer_id)
        if active is None:  # it ended before anybody could ask
            return await self.ended(transfer_id)
        await active.is_known.wait()
        return active.row

    def rows(self) -> list[Transfer]:
        """Newest first."""
        found = {**self._over, **{active.id: active.row for active in self._under_way.values()}}
        return [found[number] for number in sorted(found, reverse=True)]

    # How it is done

    async def _forget_old(self) -> None:
        for record in await self.journal.all():
            if record.state.is_over and self._is_forgotten(record) and record.id not in self._under_way:
                await self._forget(record)

    def _is_forgotten(self, record: TransferRecord) -> bool:
        return record.is_dropped or (record.ended or record.created) < utc_now() - _FORGET_AFTER

    async def _forget(self, record: TransferRecord) -> None:
        """What cannot be taken back now stays in the journal, and the next program tries again."""
        async with held(self._lock(record.id), self.disk) as is_free:
            if not is_free:
                return
            is_given_up = (record.ended or record.created) < utc_now() - _GIVE_UP_AFTER
            if await self._remove_pieces(ActiveTransfer(record, self)) or is_given_up:
                await self.journal.forget(record.id)
            elif not record.is_dropped:
                await self.journal.change(record.id, is_dropped=True)

    def _start(self, record: TransferRecord, patience_s: float | None = None) -> None:
        self._over.pop(record.id, None)
        active = ActiveTransfer(record, self, patience_s)
        self._under_way[record.id] = active
        self._launch(active)

    def _launch(self, active: ActiveTransfer) -> None:
        if not active.is_paused:
            self._scope.start(_name(active), lambda: self._live(active))
        self._share_turns()
        self.has_news(active.id)

    async def _live(self, active: ActiveTransfer) -> None:
        async with held(self._lock(active.id), self.disk) as is_ours:
            if is_ours:
                await self._live_to_the_end(active)
            else:
                self._dirty.discard(active.id)  # another program moves it, and shows it
        self._end(active, is_shown=is_ours)

    async def _live_to_the_end(self, active: ActiveTransfer) -> None:
        try:
            with self._setbacks_of(active):
                await live(active)
            # Without network or keys it would only make the end late; forgetting it looks for them, too.
            if active.record.error is None or waits_for(active.record.error) is None:
                await remove_all_orphans(active)
        except Exception as error:
            # Also a journal that cannot be written: then the next program takes it up where this one left it.
            log.exception("transfer %d ended", active.id)
            known = error if isinstance(error, AppError) else Unexpected(f"{type(error).__name__}: {error}")
            active.record = replace(active.record, state=TransferState.FAILED, error=known, ended=utc_now())

    def _setbacks_of(self, active: ActiveTransfer) -> AbstractContextManager[None]:
        # Opening the way asks on another thread.
        return setbacks_told(lambda setback: self._loop.call_soon_threadsafe(active.set_back, setback))

    def _end(self, active: ActiveTransfer, *, is_shown: bool) -> None:
        active.clear()
        active.is_over.set()
        active.is_known.set()
        self._under_way.pop(active.id, None)
        if is_shown:
            self._over[active.id] = active.row
            self.has_news(active.id)
        self._share_turns()

    async def _take_back(self, active: ActiveTransfer) -> None:
        if active.workers:
            await asyncio.wait(active.workers)
        async with held(self._lock(active.id), self.disk) as is_ours:
            if is_ours:
                await self._remove_pieces(active)
                await active.change(state=TransferState.CANCELLED, ended=utc_now())
        self._end(active, is_shown=is_ours)

    async def _remove_pieces(self, active: ActiveTransfer) -> bool:
        """Whether all that was half there is gone."""
        await self.ledger.flush()
        is_clean = True
        for item in await self.journal.begun(active.id):
            try:
                await take_back(active, item)
            except AppError as error:
                is_clean = False
                log.warning("unfinished pieces of %s were not removed: %s", item.key, error)
            else:
                await self.journal.begin_parts(active.id, replace(item, upload_id="", part_bytes=0))
        if active.begun:
            await remove_all_orphans(active)
        return is_clean

    def _lock(self, transfer_id: int) -> Path:
        return self._locks / f"{transfer_id}.lock"

    async def _tell(self) -> None:
        while True:
            await self._beat.wait()
            self._beat.clear()
            dirty, self._dirty = self._dirty, set()
            rows = [
                self._under_way[number].row if number in self._under_way else self._over.get(number) for number in dirty
            ]
            self.changed.tell([row for row in rows if row is not None])
            await asyncio.sleep(BEAT_S)

    def tell_at_once(self, active: ActiveTransfer) -> None:
        """What the next row may no longer show."""
        self.changed.tell([active.row])

    def has_news(self, transfer_id: int) -> None:
        self._dirty.add(transfer_id)
        self._beat.set()

    def hold_for_keys(self, profile: str, error: KeysRefused) -> None:
        """Told by `Connections`; and by its own transfers, so that nothing leaves while the news crosses threads."""
        for active in self._under_way.values():
            if active.record.order.profile == profile:
                active.hold_for_keys(error)

    def _share_turns(self) -> None:
        """The first few go at once; the others wait, and plan when their turn comes."""
        waiting = sorted(
            (active for active in self._under_way.values() if active.wants_turn),
            key=lambda active: (active.record.place, active.id),
        )
        self._active = waiting[:MOST_ACTIVE]
        for active in list(self._under_way.values()):
            active.give_turn(active in self._active or active.wants_yes)
        self.dispatch()

    def dispatch(self) -> None:
        while not self._is_closing and (found := self._next()) is not None:
            active, unit = found
            self._scope.start(f"worker {next(self._names)}", partial(self._work, active, unit))

    def _next(self) -> tuple[ActiveTransfer, Unit] | None:
        """What comes next, and whose it is: each transfer in its turn, among those that may."""
        # Where nothing is under way even the largest piece may go.
        memory = _MEMORY_BYTES - self._memory if self._running else sys.maxsize
        for number in range(len(self._active)):
            at = (self._turn + number) % len(self._active)
            active = self._active[at]
            if active.pace.running >= active.pace.limit or not active.may_work:
                continue
            unit = active.take(memory)
            if unit is not None:
                self._turn = at + 1
                active.pace.running += 1
                active.running += 1
                self._running += 1
                self._memory += unit.size_bytes
                return active, unit
        return None

    async def _work(self, active: ActiveTransfer, unit: Unit) -> None:
        """One piece after the other, as long as there is one for one more."""
        following: tuple[ActiveTransfer, Unit] | None = (active, unit)
        task = asyncio.current_task()
        assert task is not None
        while following is not None:
            active = following[0]
            with self._setbacks_of(active):
                while following is not None and following[0] is active:
                    await self._do(*following, task)
                    following = None if self._is_closing else self._next()
                    self.dispatch()

    async def _do(self, active: ActiveTransfer, unit: Unit, task: asyncio.Task[None]) -> None:
        began = self._now()
        active.workers.add(task)
        error: AppError | None = None
        is_done = False
        try:
            await unit.run()
            is_done = True
        except AppError as known:
            error = known
        except Exception as mistake:
            log.exception("transfer %d: %s", active.id, unit.item.key)
            error = Unexpected(f"{type(mistake).__name__}: {mistake}")
        finally:
            active.workers.discard(task)
            active.pace.running -= 1
            active.running -= 1
            self._running -= 1
            self._memory -= unit.size_bytes
            if not is_done and error is None:  # cancelled: it is done by whoever comes next
                active.put_back(unit)
                self.dispatch()
        if error is not None:
            if isinstance(error, ServiceTrouble) and not isinstance(error, Unreachable):
                active.pace.was_refused()
            if unit.fail is not None:
                unit.fail(error)
            else:
                for item in (unit.item, *unit.others):
                    active.failed(item, error)
        elif unit.is_small:
            now = self._now()
            active.pace.ended(now - began, now)


def report(name: str, error: AppError) -> None:
    log.error("%s: %s %s", name, error, error.detail)


def _name(active: ActiveTransfer) -> str:
    return f"transfer {active.id}"
