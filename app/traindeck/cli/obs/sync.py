"""`traindeck obs sync`: make one side like the other, and say what became of every file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.cli import terminal
from traindeck.cli.main import DONE, FAILED, Call
from traindeck.cli.obs.cp import place, tell_of_small_files
from traindeck.cli.progress import item_content, to_its_end
from traindeck.domain.errors import AppError, InvalidInput
from traindeck.domain.storage.objects import ObjectPath, size_words
from traindeck.domain.texts import Text, say, text
from traindeck.domain.transfers.records import (
    DIFFERENCES,
    Action,
    CompareBy,
    Item,
    ItemState,
    Kind,
    Links,
    Order,
    Rules,
)

if TYPE_CHECKING:
    from traindeck.assembly.data_core import DataCore
    from traindeck.services.transfers import Transfer


_MOVED = {Kind.UPLOAD: "uploaded", Kind.DOWNLOAD: "downloaded", Kind.COPY: "copied"}
_SIGNS = {Kind.UPLOAD: "↑", Kind.DOWNLOAD: "↓", Kind.COPY: "→"}


async def sync(call: Call) -> int:
    if call.options.verify:
        return await _verify(call)
    async with call.data() as core:
        order = _order(call, core)
        core.transfers.set_rate(call.options.limit)
        row = await core.transfers.planned(order, is_preview=call.options.dry_run)
        tell_of_small_files(call, row)
        if call.options.dry_run:
            await _list(call, core, row, (ItemState.QUEUED, ItemState.FAILED, ItemState.SKIPPED))
            await core.transfers.drop(row.id)
            _summary(call, row, is_preview=True)
            return DONE
        is_meant = False
        try:
            is_meant = not row.removals or _is_meant(call, row)
        finally:
            if not is_meant:  # else it would wait in the window for a yes that nobody wants to give
                await core.transfers.drop(row.id)
        if not is_meant:
            call.output.note(say("Nothing was changed."))
            return DONE
        core.transfers.confirm(row.id)
        row, trouble = await to_its_end(call.output, core.transfers, row.id, Path(call.options.source).name)
        states = tuple(ItemState) if call.output.json_wanted else (ItemState.DONE, ItemState.FAILED, ItemState.SKIPPED)
        await _list(call, core, row, states)
        if trouble is not None:
            raise trouble
        _summary(call, row)
    return DONE


async def _verify(call: Call) -> int:

    refuse_beside(call, "delete", "dry_run")
    async with call.data() as core:
        order = _order(call, core)
        here = Path(order.source) if order.kind is Kind.UPLOAD else order.remote_source
        there = Path(order.target) if order.kind is Kind.DOWNLOAD else order.remote_target
        rules = Rules(ignore=order.rules.ignore, has_ignore_files=True, links=order.rules.links)
        return await verify(call, core, [(here, there)], rules)


def _order(call: Call, core: DataCore) -> Order:
    options = call.options
    source, target = place(options.source), place(options.target)
    match source, target:
        case Path(), ObjectPath():
            kind, words = Kind.UPLOAD, (str(source.absolute()), str(target.as_folder()))
        case ObjectPath(), Path():
            kind, words = Kind.DOWNLOAD, (str(source.as_folder()), str(target.absolute()))
        case ObjectPath(), ObjectPath():
            kind, words = Kind.COPY, (str(source.as_folder()), str(target.as_folder()))
        case _:
            raise InvalidInput(
                text("Both sides are on this computer."), text("Write at least one side as obs://bucket/key.")
            )
    by = CompareBy(options.compare)
    rules = Rules(
        compare=by,
        ignore=tuple(options.ignore),
        has_ignore_files=True,
        delete=options.delete,
        max_delete=options.max_delete,
        links=Links(options.links),
        empty_folders=options.empty_folders,
        keep_times=by is CompareBy.SIZE_AND_TIME or options.keep_times,
        keep_modes=options.keep_modes,
    )
    return Order(kind, call.profile(core), *words, rules)


def _is_meant(call: Call, row: Transfer) -> bool:
    if call.options.yes:
        return True
    question = text("Files to remove at {target}: {count}. Go on?", target=row.target, count=row.removals)
    if not terminal.somebody_is_there():
        raise terminal.refuse_without_a_yes(
            text("This would remove {count} files at {target}.", count=row.removals, target=row.target)
        )
    return terminal.confirmed(say(question))


async def _list(call: Call, core: DataCore, row: Transfer, states: tuple[ItemState, ...]) -> None:
    after = ""
    while page := await core.transfers.items(row.id, states, after=after):
        for item in page:
            if call.output.json_wanted:
                call.output.document(item_content(row, item, _result(row, item), verified=item.is_verified))
            else:
                call.output.line(_line(row, item))
        after = page[-1].key


def _line(row: Transfer, item: Item) -> str:
    sign = "×" if item.action is Action.REMOVE else _SIGNS[row.kind]
    words = f"{sign} {item.name or Path(row.source).name}  {size_words(item.size_bytes)}"
    return f"{words}  {item.error.sentence()}" if item.error is not None else words


def _result(row: Transfer, item: Item) -> str:
    match item.state:
        case ItemState.DONE:
            return "removed" if item.action is Action.REMOVE else _MOVED[row.kind]
        case ItemState.QUEUED | ItemState.WAITING:
            return "to remove" if item.action is Action.REMOVE else "to move"
        case state:
            return state.name.lower()


def _summary(call: Call, row: Transfer, *, is_preview: bool = False) -> None:
    to_move = row.files - row.removals - row.failed_files if is_preview else 0
    content = {
        "source": row.source,
        "target": row.target,
        "moved": 0 if is_preview else row.done_files,
        "to_move": to_move,
        "equal": row.equal_files,
        "skipped": row.skipped_files,
        "failed": row.failed_files,
        "removals": row.removals,
        "verified": row.verified_files,
        "bytes": row.total_bytes,
    }
    if is_preview:
        words = say(
            "Would be moved: {count}, {size}. Equal: {equal}. Would be removed: {removals}.",
            count=to_move, size=size_words(row.total_bytes), equal=row.equal_files, removals=row.removals,
        )  # fmt: skip
    else:
        words = say(
            "Moved or removed: {count}. Equal: {equal}. Confirmed by size and MD5: {verified}.",
            count=row.done_files, equal=row.equal_files, verified=row.verified_files,
        )  # fmt: skip
    call.output.result(content, words)


_RESULTS = {
    ItemState.DONE: "verified",
    ItemState.DIFFERENT: "differs",
    ItemState.MISSING_HERE: "missing here",
    ItemState.MISSING_THERE: "missing there",
    ItemState.UNKNOWN: "cannot be checked",
    ItemState.SKIPPED: "skipped",
    ItemState.FAILED: "failed",
}
_WORDS: dict[ItemState, Text] = {
    ItemState.DIFFERENT: text("Different"),
    ItemState.MISSING_HERE: text("Missing here"),
    ItemState.MISSING_THERE: text("Missing there"),
    ItemState.UNKNOWN: text("Cannot be checked"),
    ItemState.SKIPPED: text("Skipped"),
    ItemState.FAILED: text("Could not be read"),
}


async def verify(
    call: Call, core: DataCore, pairs: Sequence[tuple[Path | ObjectPath, Path | ObjectPath]], rules: Rules
) -> int:
    """The exit code: success only when nothing differs and all could be looked at."""
    found: Counter[ItemState] = Counter()
    trouble: AppError | None = None
    for source, target in pairs:
        words = [str(one.absolute()) if isinstance(one, Path) else str(one) for one in (source, target)]
        order = Order(Kind.CHECK, call.profile(core), words[0], words[1], rules)
        row, error = await _checked(call, core, order)
        trouble = trouble or error
        found += await _check_list(call, core, row)
        await core.transfers.drop(row.id)  # all of it is said, and there may be a million
    _check_summary(call, found)
    if trouble is not None:
        raise trouble
    return FAILED if any(found[state] for state in DIFFERENCES) else DONE


async def _checked(call: Call, core: DataCore, order: Order) -> tuple[Transfer, AppError | None]:
    """How it ended, and what kept it from looking at all of it."""
    number = await core.transfers.begin(order)
    row, error = await to_its_end(call.output, core.transfers, number, Path(order.source).name)
    is_done = row.differences > 0 and not row.failed_files
    return row, None if is_done else error


async def _check_list(call: Call, core: DataCore, row: Transfer) -> Counter[ItemState]:
    """Of people only what is not verified is said; a program gets every file."""
    counts: Counter[ItemState] = Counter()
    after = ""
    while page := await core.transfers.items(row.id, tuple(_RESULTS), after=after):
        for item in page:
            counts[item.state] += 1
            if call.output.json_wanted:
                call.output.document(item_content(row, item, _RESULTS[item.state]))
            elif item.state in _WORDS:
                call.output.line(_check_line(row, item))
        after = page[-1].key
    return counts


def _check_line(row: Transfer, item: Item) -> str:
    words = f"{say(_WORDS[item.state])}: {item.name or Path(row.source).name}  {size_words(item.size_bytes)}"
    return f"{words}  {say(item.error.title)}" if item.error is not None else words


def _check_summary(call: Call, found: Counter[ItemState]) -> None:
    content = {name.replace(" ", "_"): found[state] for state, name in _RESULTS.items()}
    parts = [say("Verified by size and MD5: {count}.", count=f"{found[ItemState.DONE]:,}")]
    parts += [f"{say(words)}: {found[state]:,}." for state, words in _WORDS.items() if found[state]]
    call.output.result(content, " ".join(parts))


def refuse_beside(call: Call, *names: str) -> None:
    """Options that mean a change have no place beside --verify."""
    for name in names:
        if getattr(call.options, name):
            option = name.replace("_", "-")
            raise InvalidInput(
                text("--verify changes nothing, so --{option} has no meaning beside it.", option=option),
                text("Leave one of them out."),
            )
