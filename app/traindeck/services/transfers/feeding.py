"""The life of one transfer, from the plan to the last file."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

from traindeck.domain import errors as kept_errors
from traindeck.domain.errors import AppError, Conflict, Unexpected
from traindeck.domain.texts import text
from traindeck.domain.transfers.records import (
    Action,
    Item,
    ItemState,
    Kind,
    Order,
    TransferState,
    waits_for,
)
from traindeck.services.transfers.active import ActiveTransfer
from traindeck.services.transfers.comparing import Memory
from traindeck.services.transfers.planning import Outline, Planner

if TYPE_CHECKING:
    from traindeck.services.transfers.packing.pack_planning import PackPlanner

_AT_ONCE = 500


class Mover(Protocol):
    """Makes units out of items, and waits while there are enough."""

    async def feed(self, items: Sequence[Item]) -> None: ...

    async def make_folders(self, items: Sequence[Item]) -> None: ...


async def live(active: ActiveTransfer) -> None:
    """Do all of it; what cannot be helped ends the transfer and is told there."""
    try:
        if not active.record.is_planned:
            await _plan(active)
        # What an earlier program let wait is tried at once.
        await active.context.journal.open_again(active.id, [ItemState.WAITING])
        await active.count_again()
        await active.until_yes()
        if active.record.state is not TransferState.RUNNING:
            await active.change(state=TransferState.RUNNING)
        await _move(active)
        await active.count_again()
        if active.failed_files and not active.good_files and active.kind is not Kind.CHECK:
            raise await _first_failure(active)
        if active.failed_files:
            error = await _first_failure(active)
            await active.change(state=TransferState.PARTLY, error=error, ended=active.context.clock())
        elif active.differences:
            await active.change(
                state=TransferState.PARTLY, error=_differ(active.differences), ended=active.context.clock()
            )
        else:
            await active.change(state=TransferState.DONE, ended=active.context.clock())
    except AppError as error:
        await active.count_again()
        await active.change(state=TransferState.FAILED, error=error, ended=active.context.clock())


async def _plan(active: ActiveTransfer) -> None:
    active.is_planning = True
    try:
        outline = await _outline(active)
    finally:
        active.is_planning = False
    state = TransferState.READY if active.wants_yes else TransferState.RUNNING
    await active.change(is_planned=True, root=outline.root, has_gaps=outline.has_gaps, state=state)


async def _outline(active: ActiveTransfer) -> Outline:
    order, context = active.record.order, active.context
    while True:
        await active.room()
        try:
            if active.record.started is None:
                await active.change(started=context.clock())
            await context.journal.forget_removals(active.id)
            if order.kind is Kind.PACK:
                return await _packing_planner(active).plan()
            if _is_of_chosen(order):
                from traindeck.services.transfers.chosen import plan_chosen

                return await plan_chosen(active)
            memory = Memory(context.journal, order)
            keep = partial(context.journal.plan, active.id)
            return await _planner(order)(order, await active.plane(), context.disk, keep, memory).plan()
        except AppError as error:
            if waits_for(error) is None:
                raise
            await active.trouble_over(error)


def _packing_planner(active: ActiveTransfer) -> PackPlanner:
    from traindeck.services.transfers.packing.pack_planning import PackPlanner

    context, record = active.context, active.record
    has_begun = bool(record.fed_to)
    return PackPlanner(active.id, record.order, active.plane, context.disk, context.journal, has_begun=has_begun)


def _planner(order: Order) -> type[Planner]:
    if order.rules.chosen:
        from traindeck.services.transfers.chosen_files import ChosenCheckPlanner, ChosenPlanner

        return ChosenCheckPlanner if order.kind is Kind.CHECK else ChosenPlanner
    if order.kind is not Kind.CHECK:
        return Planner
    from traindeck.services.transfers.checking import CheckPlanner

    return CheckPlanner


async def _move(active: ActiveTransfer) -> None:
    if active.kind in (Kind.REMOVE, Kind.RESTORE):
        await _remove(active)
        return
    mover = _mover(active)
    await _feed(active, mover.feed, Action.MOVE)
    await _feed(active, mover.make_folders, Action.MAKE_FOLDER)
    if active.is_move:
        await active.count_again()  # and everything that arrived is in the journal
        from traindeck.services.transfers.moving import Sources, forget_empty_folders

        await _feed(active, Sources(active).feed, Action.LEAVE)
        await forget_empty_folders(active)
        return
    if active.record.has_gaps or active.failed_files:
        await active.context.journal.close_removals(active.id, _not_removed())
    if active.kind is Kind.PACK and not active.failed_files:
        await _describe(active)
    await _remove(active)


async def _describe(active: ActiveTransfer) -> None:
    """An index of archives that are all there."""
    from traindeck.services.transfers.packing.packing import Packs

    packs = Packs(active)
    await active.context.journal.plan(active.id, [packs.description])
    await _feed(active, packs.describe, Action.DESCRIBE)


async def _remove(active: ActiveTransfer) -> None:
    from traindeck.services.transfers.removals import Removals

    await _feed(active, Removals(active).feed, Action.REMOVE)


def _mover(active: ActiveTransfer) -> Mover:
    # Loaded here, so that no command waits for what it does not do.
    match active.kind:
        case Kind.UPLOAD:
            from traindeck.services.transfers.uploads import Uploads

            return Uploads(active)
        case Kind.DOWNLOAD:
            from traindeck.services.transfers.downloads import Downloads, Folders

            return Downloads(active, Folders(active.root))
        case Kind.PACK:
            from traindeck.services.transfers.packing.packing import Packs

            return Packs(active)
        case Kind.CHECK:
            from traindeck.services.transfers.checking import Checks

            return Checks(active)
        case _:
            from traindeck.services.transfers.moving import Copies

            return Copies(active)


async def _feed(active: ActiveTransfer, feed: Callable[[Sequence[Item]], Awaitable[None]], action: Action) -> None:
    after = ""
    while True:
        await active.room()
        try:
            items = await active.next_items(after, _AT_ONCE, action)
        except AppError as error:
            if waits_for(error) is None:
                raise
            await active.trouble_over(error)
            continue
        if items:
            after = items[-1].key
            await feed(items)
            continue
        await active.quiet()
        if not await active.next_round():
            return
        after = ""


def _is_of_chosen(order: Order) -> bool:
    if order.kind is Kind.COPY:
        return order.rules.moves or bool(order.rules.chosen)
    return order.kind in (Kind.REMOVE, Kind.RESTORE)


async def _first_failure(active: ActiveTransfer) -> AppError:
    """Of one file its own, of many one that says how many they are."""
    (first,) = await active.context.journal.items(active.id, [ItemState.FAILED], most=1)
    error = first.error or Unexpected(first.key)
    if active.failed_files == 1:
        return error
    return kept_errors.told_as(
        error,
        text(
            "{count} files could not be moved. The first, {file}: {words}",
            count=active.failed_files,
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
