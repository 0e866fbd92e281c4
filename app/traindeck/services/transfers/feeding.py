"""The life of one transfer, from the plan to the last file."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

from traindeck.domain import kept_errors
from traindeck.domain.errors import AppError, Conflict, Unexpected
from traindeck.domain.texts import text
from traindeck.domain.transfers import Action, Item, ItemState, Kind, Order, TransferState, waits_for
from traindeck.services.transfers.comparing import Memory
from traindeck.services.transfers.lane import Lane
from traindeck.services.transfers.planning import Outline, Planner

if TYPE_CHECKING:
    from traindeck.services.transfers.pack_planning import PackPlanner

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
                return await _packing_planner(lane).plan()
            if _is_of_chosen(order):
                from traindeck.services.transfers.chosen import plan_chosen

                return await plan_chosen(lane)
            memory = Memory(ground.journal, order)
            keep = partial(ground.journal.plan, lane.id)
            return await _planner(order)(order, await lane.plane(), ground.disk, keep, memory).plan()
        except AppError as error:
            if waits_for(error) is None:
                raise
            await lane.trouble_over(error)


def _packing_planner(lane: Lane) -> PackPlanner:
    from traindeck.services.transfers.pack_planning import PackPlanner

    ground, record = lane.ground, lane.record
    has_begun = bool(record.fed_to)
    return PackPlanner(lane.id, record.order, lane.plane, ground.disk, ground.journal, has_begun=has_begun)


def _planner(order: Order) -> type[Planner]:
    if order.kind is not Kind.CHECK:
        return Planner
    from traindeck.services.transfers.check_planning import CheckPlanner

    return CheckPlanner


async def _move(lane: Lane) -> None:
    if lane.kind in (Kind.REMOVE, Kind.RESTORE):
        await _remove(lane)
        return
    mover = _mover(lane)
    await _feed(lane, mover.feed, Action.MOVE)
    await _feed(lane, mover.make_folders, Action.MAKE_FOLDER)
    if lane.is_move:
        await lane.count_again()  # and everything that arrived is in the journal
        from traindeck.services.transfers.moving import Sources, forget_empty_folders

        await _feed(lane, Sources(lane).feed, Action.LEAVE)
        await forget_empty_folders(lane)
        return
    if lane.record.has_gaps or lane.failed_files:
        await lane.ground.journal.close_removals(lane.id, _not_removed())
    if lane.kind is Kind.PACK and not lane.failed_files:
        await _describe(lane)
    await _remove(lane)


async def _describe(lane: Lane) -> None:
    """An index of archives that are all there."""
    from traindeck.services.transfers.packing import Packs

    packs = Packs(lane)
    await lane.ground.journal.plan(lane.id, [packs.description])
    await _feed(lane, packs.describe, Action.DESCRIBE)


async def _remove(lane: Lane) -> None:
    from traindeck.services.transfers.removals import Removals

    await _feed(lane, Removals(lane).feed, Action.REMOVE)


def _mover(lane: Lane) -> Mover:
    # Loaded here, so that no command waits for what it does not do.
    match lane.kind:
        case Kind.UPLOAD:
            from traindeck.services.transfers.uploads import Uploads

            return Uploads(lane)
        case Kind.DOWNLOAD:
            from traindeck.services.transfers.downloads import Downloads, Folders

            return Downloads(lane, Folders(lane.root))
        case Kind.PACK:
            from traindeck.services.transfers.packing import Packs

            return Packs(lane)
        case Kind.CHECK:
            from traindeck.services.transfers.checks import Checks

            return Checks(lane)
        case _:
            from traindeck.services.transfers.copies import Copies

            return Copies(lane)


async def _feed(lane: Lane, feed: Callable[[Sequence[Item]], Awaitable[None]], action: Action) -> None:
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
            await feed(items)
            continue
        await lane.quiet()
        if not await lane.next_round():
            return
        after = ""


def _is_of_chosen(order: Order) -> bool:
    if order.kind is Kind.COPY:
        return order.rules.moves or bool(order.rules.chosen)
    return order.kind in (Kind.REMOVE, Kind.RESTORE)


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
