"""`traindeck obs rm`: objects and folders, counted first, removed by pages; and brought back where that is possible."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from traindeck.cli import terminal
from traindeck.cli.exit_codes import DONE
from traindeck.cli.main import Call
from traindeck.cli.obs.cat import no_object
from traindeck.cli.progress import items_of, moving_shown, raise_worst, to_its_end
from traindeck.domain.errors import AppError, Conflict, InvalidInput
from traindeck.domain.outcomes import Outcomes, worst
from traindeck.domain.storage.objects import ObjectPath, outermost, size_words
from traindeck.domain.texts import count_text, say, say_count, text
from traindeck.domain.transfers.name_filter import FilterRules
from traindeck.domain.transfers.orders import Kind, Order, removal_of
from traindeck.domain.transfers.records import ItemState

if TYPE_CHECKING:
    from traindeck.assembly.data_core import DataCore
    from traindeck.services.storage.sdk.buckets import ObsStorage
    from traindeck.services.transfers import Transfer


async def rm(call: Call) -> int:
    paths = [ObjectPath.parse(path) for path in call.options.paths]
    if call.options.undo:
        return await _undo(call, paths)
    if call.options.version_id is not None or call.options.all_versions:
        from traindeck.cli.obs.rm_versions import remove_versions

        return await remove_versions(call, paths)
    for path in paths:
        if path.is_folder and not call.options.recursive:
            raise InvalidInput(
                text("“{path}” is a folder.", path=str(path)),
                text("Add --recursive to delete everything in it."),
            )
    async with call.data() as core:
        profile = call.profile(core)
        storage = (await core.connections.open(profile)).storage
        doomed = outermost([await _there(storage, path, recursive=call.options.recursive) for path in paths])
        orders = [
            with_filters(removal_of(profile, list(same)), call.options.filters)
            for _, same in groupby(doomed, key=lambda path: path.bucket)
        ]
        with moving_shown(call.output, core.transfers, say("Delete")):
            rows = [await core.transfers.planned(order, is_preview=True) for order in orders]
        count, size = sum(row.removals for row in rows), sum(row.removal_bytes for row in rows)
        if call.options.dry_run or (call.options.recursive and not await _is_meant(call, core, doomed, count, size)):
            return await _left_alone(call, core, rows, count, size)
        await _carried_out(call, core, rows)
    call.output.result(
        {"removed": count, "bytes": size},
        say_count(
            "Deleted {count} object ({size}).", "Deleted {count} objects ({size}).", count, size=size_words(size)
        ),
    )
    return DONE


async def _there(storage: ObsStorage, path: ObjectPath, *, recursive: bool) -> ObjectPath:
    """The object, or else the folder; raises NotFound when there is neither."""
    if not path.is_folder:
        if await storage.info(path) is not None:
            return path
        if not recursive:
            raise no_object(path)
    folder = path.as_folder()
    if not folder.is_bucket and await storage.info(folder) is None:
        from traindeck.services.storage.listing import nothing_there

        raise nothing_there(path)
    return folder


async def _is_meant(call: Call, core: DataCore, paths: tuple[ObjectPath, ...], count: int, size: int) -> bool:
    if call.options.yes or count == 0:
        return True
    total = size_words(size)
    if not terminal.somebody_is_there():
        raise terminal.refuse_without_a_yes(
            count_text(
                "This would delete everything there: {count} object, {size}.",
                "This would delete everything there: {count} objects, {size}.",
                count,
                size=total,
            )
        )
    try:
        comes_back = all([await _keeps_versions(call, core, path) for path in paths])
    except AppError:
        comes_back = False  # nobody knows, so nothing is promised
    if comes_back:
        return terminal.confirmed(
            say_count("Delete {count} object ({size})?", "Delete {count} objects ({size})?", count, size=total)
        )
    return terminal.confirmed(
        say_count(
            "Delete {count} object ({size}) permanently?",
            "Delete {count} objects ({size}) permanently?",
            count, size=total,
        )
    )  # fmt: skip


async def _keeps_versions(call: Call, core: DataCore, path: ObjectPath) -> bool:
    return await core.planes.run(call.profile(core), lambda plane: plane.keeps_versions(path.bucket))


async def _left_alone(call: Call, core: DataCore, rows: list[Transfer], count: int, size: int) -> int:
    if call.options.dry_run:
        for row in rows:
            await _list(call, core, row, ItemState.QUEUED)
    for row in rows:
        await core.transfers.drop(row.id)
    if not call.options.dry_run:
        call.output.note(say("Nothing was deleted."))
    else:
        words = say_count(
            "To delete: {count} object, {size}.", "To delete: {count} objects, {size}.", count, size=size_words(size)
        )
        call.output.result({"removed": 0, "to_remove": count, "bytes": size}, words)
    return DONE


async def _carried_out(call: Call, core: DataCore, rows: list[Transfer]) -> None:
    troubles: list[AppError] = []
    for row in rows:
        if row.removals:
            core.transfers.confirm(row.id)
    for row in rows:
        if not row.removals:
            await core.transfers.drop(row.id)
            continue
        _, error = await to_its_end(call.output, core.transfers, row.id, say("Delete"))
        if error is not None:
            troubles.append(error)
            await _list(call, core, row, ItemState.FAILED)
    if (trouble := worst(troubles)) is not None:
        raise trouble


def with_filters(order: Order, filters: FilterRules) -> Order:
    return replace(order, rules=replace(order.rules, filters=filters))


async def _list(call: Call, core: DataCore, row: Transfer, state: ItemState) -> None:
    bucket = ObjectPath.parse(row.source).bucket
    async for item in items_of(core.transfers, row, state):
        path = str(ObjectPath(bucket, item.key))
        if item.error is not None:
            content = {"path": path, "size": item.size_bytes, "error": item.error.sentence()}
            call.output.result(content, item.error.sentence())
        else:
            content = {"path": path, "size": item.size_bytes}
            call.output.named_result(content, "× ", path, f"  {size_words(item.size_bytes)}")


async def _undo(call: Call, paths: list[ObjectPath]) -> int:
    count = 0
    outcomes = Outcomes()
    async with call.data() as core:
        for path in paths:
            if not await _keeps_versions(call, core, path):
                raise Conflict(
                    text(
                        "Versioning of the bucket “{name}” is not enabled, so deleted objects cannot be undeleted.",
                        name=path.bucket,
                    ),
                    text("Enable versioning to keep deleted objects in the future."),
                )
            order = with_filters(Order(Kind.RESTORE, call.profile(core), str(path), ""), call.options.filters)
            with outcomes.one(str(path)), moving_shown(call.output, core.transfers, path.name):
                row = await core.transfers.move(order)
                count += row.done_files
    raise_worst(call.output, outcomes)
    words = say_count("Undeleted {count} object.", "Undeleted {count} objects.", count)
    if not count:
        words = say("Nothing was undeleted: there are no deleted objects at {path}.", path=" ".join(map(str, paths)))
    call.output.result({"restored": count}, words)
    return DONE
