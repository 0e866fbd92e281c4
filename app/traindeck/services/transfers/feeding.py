"""The life of one transfer, from the plan to the last file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Protocol

from traindeck.domain import kept_errors
from traindeck.domain.errors import AppError, Conflict, Unexpected
from traindeck.domain.texts import text
from traindeck.domain.transfers import Action, Item, ItemState, Kind, TransferState, waits_for
from traindeck.services.transfers.check_planning import CheckPlanner
from traindeck.services.transfers.checks import Checks
from traindeck.services.transfers.comparing import Memory
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
        # What an earlier program let wait is tried at once.
        await lane.ground.journal.open_again(lane.id, [ItemState.WAITING])
        await lane.count_again()
        await lane.until_yes()
        if lane.record.state is not TransferState.RUNNING:
            await lane.change(state=TransferState.RUNNING)
        await _move(lane)
        await lane.count_again()
        if lane.failed_files and not lane.good_files and lane.kind is not Kind.CHECK:
            raise await _first_failure(lane)
        if lane.failed_files:
            error = await _first_failure(lane)
            await lane.change(state=TransferState.PARTLY, error=error, ended=lane.ground.clock())
        elif lane.differences:
            await lane.change(state=TransferState.PARTLY, error=_differ(lane.differences), ended=lane.ground.clock())
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
                has_begun = bool(lane.record.fed_to)
                planner = PackPlanner(lane.id, order, lane.plane, ground.disk, ground.journal, has_begun=has_begun)
                return await planner.plan()
            memory = Memory(ground.journal, order)
            keep = partial(ground.journal.plan, lane.id)
            kind = CheckPlanner if order.kind is Kind.CHECK else Planner
            return await kind(order, await lane.plane(), ground.disk, keep, memory).plan()
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
        case Kind.CHECK:
            return Checks(lane)


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


async def _first_failure(lane: Lane) -> AppError:
    """Of one file its own, of many one that says how many they are."""
    (first,) = await lane.ground.journal.items(lane.id, [ItemState.FAILED], most=1)
    error = first.error or Unexpected(first.key)
    if lane.failed_files == 1:
        return error
    return kept_errors.told_as(
        error,
        text(
            "{count} files could not be moved. The first, {file}: {words}",
            count=lane.failed_files,
            file=first.key,
            words=error.title,
        ),
    )


def _differ(count: int) -> AppError:
    return Conflict(
        text("Files that are not the same on both sides: {count}.", count=count),
        text("The list of files names each of them."),
    )


def _not_removed() -> AppError:
    return Conflict(
        text("It was not removed, because not everything could be read or moved."),
        text("Look at the files that failed, then do it again."),
    )
