"""What copying, moving and syncing have in common: rules from options, what would be done, what was left out."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.cli.main import Call
from traindeck.cli.progress import item_content, items_of
from traindeck.domain.errors import InvalidInput
from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import say, text
from traindeck.domain.transfers.orders import Kind, Links, Rules
from traindeck.domain.transfers.records import Action, Item, ItemState, name_there

if TYPE_CHECKING:
    from traindeck.assembly.data_core import DataCore
    from traindeck.services.transfers import Transfer

_MOVED = {Kind.UPLOAD: "uploaded", Kind.DOWNLOAD: "downloaded", Kind.COPY: "copied"}
_SIGNS = {Kind.UPLOAD: "↑", Kind.DOWNLOAD: "↓", Kind.COPY: "→"}
_MOST_NAMED = 20
_MOST_IN_A_DOCUMENT = 1000

PLANNED = (ItemState.QUEUED, ItemState.FAILED, ItemState.SKIPPED, ItemState.KEPT)


def with_options(rules: Rules, options: Namespace) -> Rules:
    """These rules with what may be said to every command that moves something."""
    return replace(
        rules,
        filters=options.filters,
        links=Links(options.links),
        parallel=options.parallel,
        part_bytes=options.part_size,
    )


def with_plan_options(rules: Rules, options: Namespace) -> Rules:
    planned = with_options(rules, options)
    return replace(
        planned, keeps_existing=options.no_clobber, tells_replaced=options.dry_run, store_md5=options.store_md5
    )


def with_head_options(rules: Rules, options: Namespace, *, makes_objects: bool) -> Rules:
    """What is to be said about objects; InvalidInput: there are none, or no service would take it."""
    from traindeck.domain.storage.object_facts import HeadChange

    change = HeadChange(options.content_type or None, metadata=dict(options.metadata))
    if not makes_objects and (options.storage_class or not change.is_empty):
        raise InvalidInput(
            text("A file on this computer has no storage class, content type or metadata."),
            text("Leave out --class, --content-type and --metadata, or copy to a bucket."),
        )
    change.check()
    return replace(
        rules,
        storage_class=options.storage_class,
        content_type=options.content_type,
        metadata=tuple(change.metadata.items()),
    )


async def show_items(call: Call, core: DataCore, row: Transfer, states: Sequence[ItemState], below: str = "") -> None:
    async for item in items_of(core.transfers, row, *states):
        name = below + (item.name or Path(row.source).name)
        content = item_content(row, item, result_of(row, item), verified=item.is_verified) | {"name": name}
        if item.replaces:
            content["replaces"] = True
        if call.output.json_wanted:
            call.output.document(content)
        else:
            call.output.named(f"{_sign(row, item)} ", name, _rest(item))


def result_of(row: Transfer, item: Item) -> str:
    match item.state:
        case ItemState.DONE:
            return "removed" if item.action is Action.REMOVE else _MOVED[row.kind]
        case ItemState.QUEUED | ItemState.WAITING:
            return "to remove" if item.action is Action.REMOVE else "to move"
        case state:
            return state.name.lower()


def _sign(row: Transfer, item: Item) -> str:
    if item.action is Action.REMOVE:
        return "×"
    return "=" if item.state is ItemState.KEPT else _SIGNS[row.kind]


def _rest(item: Item) -> str:
    words = f"  {size_words(item.size_bytes)}"
    if item.state is ItemState.KEPT:
        return f"{words}  {say('already exists')}"
    if item.replaces and item.state.is_open:
        words = f"{words}  {say('replaces the existing one')}"
    return f"{words}  {item.error.sentence()}" if item.error is not None else words


async def tell_left_out(call: Call, core: DataCore, row: Transfer) -> list[dict[str, str]]:
    """People get the first names on standard error; the answer is for programs."""
    found: list[dict[str, str]] = []
    if row.skipped_files:
        async for item in items_of(core.transfers, row, ItemState.SKIPPED):
            why = say(item.error.title) if item.error else ""
            found.append({"name": item.name or Path(row.source).name, "why": why})
            if len(found) >= _MOST_IN_A_DOCUMENT:
                break
        if not call.output.json_wanted:
            call.output.note(say("Skipped: {count}.", count=f"{row.skipped_files:,}"))
            for one in found[:_MOST_NAMED]:
                call.output.note(f"  {one['name']}: {one['why']}")
            if row.skipped_files > _MOST_NAMED:
                call.output.note(say("… and {count} more.", count=f"{row.skipped_files - _MOST_NAMED:,}"))
    return found


async def tell_renamed(call: Call, core: DataCore, row: Transfer) -> list[dict[str, str]]:
    """Names that this system cannot hold, each once: when it is brought here, or back."""
    if row.kind not in (Kind.UPLOAD, Kind.DOWNLOAD):
        return []
    items = await core.transfers.renamed(row.id, most=_MOST_IN_A_DOCUMENT)
    found = [{"name": item.name, "object": name_there(item)} for item in items]
    if found and not call.output.json_wanted:
        call.output.note(say("Names that differ on this computer: {count}.", count=f"{len(found):,}"))
        for one in found[:_MOST_NAMED]:
            call.output.named("  ", f"{one['object']} → {one['name']}", "", is_note=True)
        if len(found) > _MOST_NAMED:
            call.output.note(say("… and {count} more.", count=f"{len(found) - _MOST_NAMED:,}"))
    return found


async def behind_links(core: DataCore, row: Transfer) -> int:
    """How many files a move copied only: they are where a link leads to, which is not part of the folder."""
    from traindeck.services.transfers.local_tree import goes_through_link

    if row.kind is not Kind.UPLOAD:
        return 0
    root, found = Path(row.root), 0
    async for item in items_of(core.transfers, row, ItemState.DONE):
        found += goes_through_link(root, root / item.name)
    return found


def plan_content(rows: Iterable[Transfer]) -> tuple[dict[str, object], str]:
    """The sums of what was planned, for programs and for people."""
    some = list(rows)
    to_move = sum(row.files - row.removals - row.failed_files for row in some)
    size_bytes = sum(row.total_bytes or 0 for row in some)
    counts = {
        "equal": sum(row.equal_files for row in some),
        "replaced": sum(row.replaced_files for row in some),
        "replaced_bytes": sum(row.replacing_bytes for row in some),
        "kept": sum(row.kept_files for row in some),
        "skipped": sum(row.skipped_files for row in some),
        "failed": sum(row.failed_files for row in some),
        "removals": sum(row.removals for row in some),
    }
    words = say(
        "To transfer: {count}, {size}. Identical: {equal}. To delete: {removals}.",
        count=to_move, size=size_words(size_bytes), equal=counts["equal"], removals=counts["removals"],
    )  # fmt: skip
    if counts["replaced"]:
        replaced = size_words(counts["replaced_bytes"])
        words += " " + say("To replace: {count}, {size}.", count=counts["replaced"], size=replaced)
    more = aside(counts["kept"], counts["skipped"], counts["failed"])
    return {"moved": 0, "to_move": to_move, "bytes": size_bytes, **counts}, " ".join((words, *more))


def joined(words: Sequence[str]) -> str:
    """One after the other, as the language ends its sentences; the last as it stands."""
    return reduce(lambda one, other: say("{one}. {other}", one=one, other=other), words)


def aside(kept: int, skipped: int, failed: int = 0) -> list[str]:
    """What was not moved, where there is any."""
    words = []
    if kept:
        words.append(say("Kept, already exist: {count}.", count=f"{kept:,}"))
    if skipped:
        words.append(say("Skipped: {count}.", count=f"{skipped:,}"))
    if failed:
        words.append(say("Cannot be transferred: {count}.", count=f"{failed:,}"))
    return words
