"""The life of one transfer, from the plan to the last file."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from traindeck.domain import errors as kept_errors
from traindeck.domain.errors import AppError, Conflict, Unexpected
from traindeck.domain.outcomes import is_worse, is_worst, of_file
from traindeck.domain.texts import count_text, text
from traindeck.domain.transfers.orders import Kind, Links, Order
from traindeck.domain.transfers.records import Action, Item, ItemState, TransferState, waits_for
from traindeck.runtime.clock import utc_now
from traindeck.services.transfers.active import ActiveTransfer
from traindeck.services.transfers.planning import Outline, Planner

_AT_ONCE = 500


Feed = Callable[[Sequence[Item]], Awaitable[None]]
"""Makes units out of items, and waits while there are enough."""


async def live(active: ActiveTransfer) -> None:
    """Do all of it; what cannot be helped ends the transfer and is told there."""
    try:
        if not active.record.is_planned:
            await _plan(active)
        # What an earlier program let wait is tried at once.
        await active.engine.journal.open_again(active.id, [ItemState.WAITING])
        await active.count_again()
        await active.until_yes()
        if active.record.state is not TransferState.RUNNING:
            await active.change(state=TransferState.RUNNING)
        await _move(active)
        await active.count_again()
        error: AppError | None = None
        differences = active.row.differences
        state = TransferState.PARTLY if active.failed_files or differences else TransferState.DONE
        if active.failed_files:
            error = await _worst_failure(active)
            if not active.good_files and active.kind is not Kind.CHECK:
                raise error
        elif differences:
            error = Conflict(
                text("Files that differ: {count}.", count=differences),
                text("The list of files shows each of them."),
            )
    except AppError as failure:
        await active.count_again()
        state, error = TransferState.FAILED, failure
    await active.change(state=state, error=error, ended=utc_now())


async def _plan(active: ActiveTransfer) -> None:
    active.is_planning = True
    try:
        outline = await _outline(active)
    finally:
        active.is_planning = False
    # Counted first: a plan that is shown without its deletions could be confirmed without a question.
    await active.count_again()
    if active.record.order.rules.delete and (outline.has_gaps or active.failed_files):
        await _keep_what_would_be_deleted(active)  # so that a preview shows it, too
        await active.count_again()
    active.went_well()
    state = TransferState.READY if active.wants_yes else TransferState.RUNNING
    await active.change(is_planned=True, root=outline.root, has_gaps=outline.has_gaps, state=state)


async def _outline(active: ActiveTransfer) -> Outline:
    order, engine = active.record.order, active.engine
    while True:
        await active.room()
        try:
            if active.record.started is None:
                await active.change(started=utc_now())
            await engine.journal.forget_removals(active.id)
            if order.kind is Kind.PACK:
                from traindeck.services.transfers.packing.pack_planning import PackPlanner

                has_begun = bool(active.record.fed_to)
                return await PackPlanner(active.id, order, active.plane, engine.disk, engine.journal, has_begun).plan()
            if _is_of_chosen(order):
                from traindeck.services.transfers.chosen import plan_chosen

                return await plan_chosen(active)
            plane, keep = await active.plane(), partial(engine.journal.plan, active.id)
            if order.kind is Kind.CHECK:
                from traindeck.services.transfers.checking import CheckPlanner

                return await CheckPlanner(order, plane, engine.disk, keep).plan()
            return await Planner(order, plane, engine.disk, keep, engine.journal).plan()
        except AppError as error:
            if waits_for(error) is None:
                raise
            await active.trouble_over(error)


async def _move(active: ActiveTransfer) -> None:
    if active.kind in (Kind.REMOVE, Kind.RESTORE):
        await _remove(active)
        return
    feed = _mover(active)
    await _feed(active, feed, Action.MOVE)
    await _feed(active, feed, Action.MAKE_FOLDER)
    if active.record.order.rules.links is Links.KEEP:
        await _feed(active, feed, Action.LINK)
    if active.is_move:
        await active.count_again()  # and everything that arrived is in the journal
        from traindeck.services.transfers.moving import Sources, forget_empty_folders

        await _feed(active, Sources(active).feed, Action.LEAVE)
        await forget_empty_folders(active)
        return
    if active.record.has_gaps or active.failed_files:
        await _keep_what_would_be_deleted(active)
    if active.kind is Kind.PACK and not active.failed_files:
        await _describe(active)
    await _remove(active)


async def _keep_what_would_be_deleted(active: ActiveTransfer) -> None:
    error = Conflict(
        text("It was not deleted, because not everything could be read or transferred."),
        text("Check the failed files, then start again."),
    )
    await active.engine.journal.close_removals(active.id, error)


async def _describe(active: ActiveTransfer) -> None:
    """An index of archives that are all there."""
    from traindeck.services.transfers.packing.packing import Packs

    packs = Packs(active)
    await active.engine.journal.plan(active.id, [packs.description])
    await _feed(active, packs.describe, Action.DESCRIBE)


async def _remove(active: ActiveTransfer) -> None:
    from traindeck.services.transfers.removals import Removals

    await _feed(active, Removals(active).feed, Action.REMOVE)


def _mover(active: ActiveTransfer) -> Feed:
    rules = active.record.order.rules
    # Loaded here, so that no command waits for what it does not do.
    match active.kind:
        case Kind.UPLOAD:
            from traindeck.services.transfers.uploads import Uploads

            return Uploads(active).feed
        case Kind.DOWNLOAD:
            from traindeck.services.transfers.downloads import Downloads
            from traindeck.services.transfers.placing import Folders

            return Downloads(active, Folders(active.root, follows_links=rules.links is Links.FOLLOW)).feed
        case Kind.PACK:
            from traindeck.services.transfers.packing.packing import Packs

            return Packs(active).feed
        case Kind.CHECK:
            from traindeck.services.transfers.checking import Checks

            return Checks(active).feed
        case _:
            from traindeck.services.transfers.moving import Copies

            return Copies(active).feed


async def _feed(active: ActiveTransfer, feed: Feed, action: Action) -> None:
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


async def _worst_failure(active: ActiveTransfer) -> AppError:
    """Of one file its own, of many one that says how many they are."""
    after, worst, name = "", None, ""
    while page := await active.engine.journal.items(active.id, [ItemState.FAILED], after=after, most=_AT_ONCE):
        after = page[-1].key
        for item in page:
            error = of_file(item.error or Unexpected(item.key), was_listed=active.kind is Kind.DOWNLOAD)
            if worst is None or is_worse(error, worst):
                worst, name = error, item.key
        if worst is not None and is_worst(worst):
            break
    assert worst is not None
    if active.failed_files == 1:
        return worst
    return kept_errors.told_as(
        worst,
        count_text(
            "{count} file was not transferred: {file}: {words}",
            "{count} files were not transferred. One of them, {file}: {words}",
            active.failed_files,
            file=name,
            words=worst.title,
        ),
    )
