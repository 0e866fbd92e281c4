"""`traindeck obs pack`: many small files as a few tar archives, what is in them, and files out of them again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from traindeck.cli import terminal
from traindeck.cli.exit_codes import DONE, code_of
from traindeck.cli.main import Call
from traindeck.cli.obs.cp import Place, place, spelled
from traindeck.cli.obs.plans import aside
from traindeck.cli.progress import ByteProgress, item_content, items_of, moving_shown, to_its_end
from traindeck.cli.target_file import TargetFile, target_file
from traindeck.domain.errors import AppError, InvalidInput, Occupied
from traindeck.domain.storage.objects import ObjectPath, size_words
from traindeck.domain.texts import say, say_count, text
from traindeck.domain.transfers.orders import Kind, Links, Order, Rules
from traindeck.domain.transfers.records import ItemState
from traindeck.runtime.files import local_errors
from traindeck.services.datasets.loaders import LOADERS, loader_source

if TYPE_CHECKING:
    from traindeck.assembly.data_core import DataCore
    from traindeck.services.transfers import Transfer
    from traindeck.services.transfers.packing.unpacking import PackedPlace

Result = TypeVar("Result")


async def pack(call: Call) -> int:
    options = call.options
    if options.list or options.unpack:
        if options.list and options.target is not None:
            raise InvalidInput(
                text("To list, specify only one path."), text("Specify the folder with the packed files.")
            )
        return await (_list(call) if options.list else _unpack(call))
    writes_loader = options.loader and not options.dry_run
    loader = _loader_file(call, options.loader) if writes_loader else None
    if writes_loader and loader is None:
        return DONE
    async with call.data() as core:
        core.transfers.set_rate(options.limit)
        order = _order(call, core)
        row = await _planned(call, core, order)
        if row is None:
            call.output.note(say("Nothing was changed."))
            return DONE
        if options.dry_run:
            await _show(call, core, row, (ItemState.QUEUED, ItemState.SKIPPED))
            await core.transfers.drop(row.id)
            if not call.output.json_wanted:
                words = say_count(
                    "To create: {count} shard, {size}.",
                    "To create: {count} shards, {size}.",
                    row.files,
                    size=size_words(row.total_bytes),
                )
                call.output.line(words)
            return DONE
        core.transfers.confirm(row.id)
        row, trouble = await to_its_end(call.output, core.transfers, row.id, Path(options.source).name)
        await _show(call, core, row, (ItemState.DONE, ItemState.FAILED, ItemState.SKIPPED))
        if trouble is not None:
            raise trouble
        content = {
            "source": row.source, "target": row.target, "shards": row.done_files - 1, "bytes": row.total_bytes,
            "skipped": row.skipped_files,
        }  # fmt: skip
        words = say_count(
            "Packed into {target}: {count} shard, {size}.",
            "Packed into {target}: {count} shards, {size}.",
            row.done_files - 1, target=row.target, size=size_words(row.total_bytes),
        )  # fmt: skip
        words = " ".join((words, *aside(0, row.skipped_files)))
        if loader is not None:
            await core.disk.run(lambda _: _write_loader(loader, options.loader))
            content["loader"] = str(loader.path)
        call.output.result(content, words)
        if loader is not None and not call.output.json_wanted:
            call.output.line(say("To read the shards in training: {file}", file=str(content["loader"])))
    return DONE


def _loader_file(call: Call, framework: str) -> TargetFile | None:
    """None: one that is there is not to be replaced. As it comes with the program, nobody has changed it."""
    place = Path(LOADERS[framework]).absolute()
    return TargetFile(place) if _is_loader(place, framework) else target_file(call, place)


def _write_loader(file: TargetFile, framework: str) -> None:
    if not _is_loader(file.path, framework):
        file.write(loader_source(framework))


def _is_loader(place: Path, framework: str) -> bool:
    with local_errors(place):
        return place.is_file() and place.read_bytes() == loader_source(framework)


async def _planned(call: Call, core: DataCore, order: Order) -> Transfer | None:
    """None: it would have replaced another packing, and somebody said no."""
    try:
        with moving_shown(call.output, core.transfers, Path(order.source).name):
            return await core.transfers.planned(order, is_preview=call.options.dry_run)
    except Occupied as error:
        if call.options.dry_run:
            raise
        await core.transfers.drop(core.transfers.rows()[0].id)
        if not terminal.somebody_is_there():
            raise terminal.refuse_without_a_yes(error.title) from error
        if not terminal.confirmed(say(text("{words} Continue?", words=error.title))):
            return None
        return await core.transfers.planned(replace(order, rules=replace(order.rules, may_replace=True)))
    except AppError:
        if call.options.dry_run:
            raise
        # The newest is this one; what it could not take is worth more than how many they are.
        await _show(call, core, core.transfers.rows()[0], (ItemState.FAILED,))
        raise


async def _show(call: Call, core: DataCore, row: Transfer, states: tuple[ItemState, ...]) -> None:
    async for item in items_of(core.transfers, row, *states):
        content = item_content(row, item, _RESULTS.get(item.state, "to pack"))
        if item.error is not None and not call.output.json_wanted:
            call.output.named("× ", item.name, f"  {item.error.sentence()}", is_note=True)
        else:
            call.output.named_result(content, "▣ ", item.name, f"  {size_words(item.size_bytes)}")


_RESULTS = {ItemState.DONE: "packed", ItemState.FAILED: "failed", ItemState.SKIPPED: "skipped"}


def _order(call: Call, core: DataCore) -> Order:
    options = call.options
    source, target = (spelled(_place(side)) for side in (options.source, options.target))
    rules = Rules(
        ignore=tuple(options.ignore),
        filters=options.filters,
        has_ignore_files=True,
        links=Links(options.links),
        empty_folders=options.empty_folders,
        shard_bytes=options.shard_size,
        shard_files=options.files_per_shard,
        skip_unreadable=options.skip_unreadable,
        may_replace=options.yes,
    )
    return Order(Kind.PACK, call.profile(core), source, target, rules)


def _place(spelling: str | None) -> Place:
    found = place(spelling) if spelling is not None else None
    if found is None:
        raise InvalidInput(
            text("Packing needs a folder to read and a folder to write to."),
            text("Specify both, for example: traindeck obs pack data obs://bucket/shards/"),
        )
    return found.as_folder() if isinstance(found, ObjectPath) else found


# What is packed already


async def _list(call: Call) -> int:
    count = 0

    async def work(packed: PackedPlace) -> int:
        from traindeck.services.transfers.packing.unpacking import entries

        nonlocal count
        async for batch in entries(packed):
            count += len(batch)
            for entry in batch:
                if call.output.json_wanted:
                    call.output.document(
                        {
                            "path": entry.path, "shard": entry.shard, "offset": entry.offset,
                            "size": entry.size_bytes, "md5": entry.md5,
                        }
                    )  # fmt: skip
                else:
                    call.output.named("", entry.path, f"  {size_words(entry.size_bytes)}  {entry.shard}")
        return DONE

    async with call.data() as core:
        await _at(call, core, work)
    call.output.note(say("Files: {count}", count=f"{count:,}"))
    return DONE


async def _unpack(call: Call) -> int:
    target = _place(call.options.target)
    if isinstance(target, ObjectPath):
        raise InvalidInput(
            text("Files can only be unpacked into a folder on this computer."),
            text("Specify such a folder. You can upload the files from there."),
        )
    async with call.data() as core:

        async def work(packed: PackedPlace) -> int:
            from traindeck.services.transfers.packing.unpacking import Unpacking

            links = Links(call.options.links)
            unpacking = Unpacking(packed, target.absolute(), core.disk, call.options.only, links=links)
            with ByteProgress(call.output, target.name) as progress:
                done = await unpacking.run(progress.at)
            for name, error in done.failures:
                call.output.named("× ", name, f"  {error.sentence()}", is_note=True)
            content = {
                "files": done.files, "equal": done.equal, "failed": done.failed, "bytes": done.bytes,
                "target": str(target),
            }  # fmt: skip
            words = say(
                "Unpacked to {target}. Files: {count}, identical: {equal}, failed: {failed}.",
                target=str(target), count=done.files, equal=done.equal, failed=done.failed,
            )  # fmt: skip
            call.output.result(content, words)
            return DONE if done.worst is None else code_of(done.worst)

        return await _at(call, core, work)


async def _at(call: Call, core: DataCore, work: Callable[[PackedPlace], Awaitable[Result]]) -> Result:
    from traindeck.services.transfers.packing.unpacking import PackedBucket, PackedFolder

    source = _place(call.options.source)
    if isinstance(source, Path):
        return await work(PackedFolder(source, core.disk))
    return await core.planes.run(
        call.profile(core), lambda plane: work(PackedBucket(source.as_folder(), core.disk, plane))
    )
