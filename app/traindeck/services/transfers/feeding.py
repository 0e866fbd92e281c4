"""The life of one transfer, from the plan to the last file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from traindeck.domain.errors import AppError, Conflict
from traindeck.domain.texts import text
from traindeck.domain.transfers import Action, Item, Kind, TransferState, waits_for
from traindeck.services.transfers.copies import Copies
from traindeck.services.transfers.downloads import Downloads, Folders
from traindeck.services.transfers.lane import Lane
from traindeck.services.transfers.pack_planning import PackPlanner
from traindeck.services.transfers.packing import Packs
from traindeck.services.transfers.planning import Outline, Planner
from traindeck.services.transfers.removals import Removals
from traindeck.services.transfers.uploads import Uploads

_AT_ONCE = 500


class Mover(Protocol):
    """Makes units out of items, and waits while there are enough."""

    async def feed(self, items: Sequence[Item]) -> None: ...

    async def make_folders(self, items: Sequence[Item]) -> None: ...


async def live(lane: Lane) -> None:
    """Do all of it; what cannot be helped ends the transfer and is told there."""
    try:
        if not lane.record.is_planned:
            await _plan(lane)
        await lane.count_again()
        await lane.until_yes()
        if lane.record.state is not TransferState.RUNNING:
            await lane.change(state=TransferState.RUNNING)
        await _move(lane)
        await lane.count_again()
        if lane.failed_files and not lane.good_files:
            raise await lane.first_failure()
        if lane.failed_files:
            error = await lane.first_failure()
            await lane.change(state=TransferState.PARTLY, error=error, ended=lane.ground.clock())
        else:
            await lane.change(state=TransferState.DONE, ended=lane.ground.clock())
    except AppError as error:
        await lane.count_again()
        await lane.change(state=TransferState.FAILED, error=error, ended=lane.ground.clock())


async def _plan(lane: Lane) -> None:
    lane.is_planning = True
    try:
        outline = await _outline(lane)
    finally:
        lane.is_planning = False
    state = TransferState.READY if lane.wants_yes else TransferState.RUNNING
    await lane.change(is_planned=True, root=outline.root, has_gaps=outline.has_gaps, state=state)


async def _outline(lane: Lane) -> Outline:
    order, ground = lane.record.order, lane.ground
    while True:
        await lane.room()
        try:
            if lane.record.started is None:
                await lane.change(started=ground.clock())
            await ground.journal.forget_removals(lane.id)
            if order.kind is Kind.PACK:
                return await PackPlanner(lane.id, order, lane.plane, ground.disk, ground.journal).plan()
            planner = Planner(order, await lane.plane(), ground.disk, lambda batch: ground.journal.plan(lane.id, batch))
            return await planner.plan()
        except AppError as error:
            if waits_for(error) is None:
                raise
            await lane.trouble_over(error)


async def _move(lane: Lane) -> None:
    mover = _mover(lane)
    await _feed(lane, mover, Action.MOVE)
    await _feed(lane, mover, Action.MAKE_FOLDER)
    if lane.record.has_gaps or lane.failed_files:
        await lane.ground.journal.close_removals(lane.id, _not_removed())
    await _feed(lane, mover, Action.REMOVE)
    if isinstance(mover, Packs) and not lane.failed_files:
        await lane.ground.journal.plan(lane.id, [mover.description])
        await _feed(lane, mover, Action.DESCRIBE)


def _mover(lane: Lane) -> Mover:
    match lane.kind:
        case Kind.UPLOAD:
            return Uploads(lane)
        case Kind.DOWNLOAD:
            return Downloads(lane, Folders(lane.root))
        case Kind.COPY:
            return Copies(lane)
        case Kind.PACK:
            return Packs(lane)


async def _feed(lane: Lane, mover: Mover, action: Action) -> None:
    after = ""
    while True:
        await lane.room()
        try:
            items = await lane.next_items(after, _AT_ONCE, action)
        except AppError as error:
            if waits_for(error) is None:
                raise
            await lane.trouble_over(error)
            continue
        if items:
            after = items[-1].key
            match action:
                case Action.MOVE:
                    await mover.feed(items)
                case Action.MAKE_FOLDER:
                    await mover.make_folders(items)
                case Action.REMOVE:
                    await Removals(lane).feed(items)
                case Action.DESCRIBE:
                    await Packs(lane).describe(items)
            continue
        await lane.quiet()
        if not await lane.next_round():
            return
        after = ""


def _not_removed() -> AppError:
    return Conflict(
        text("It was not removed, because not everything could be read or moved."),
        text("Look at the files that failed, then do it again."),
    )
