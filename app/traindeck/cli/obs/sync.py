"""`traindeck obs sync`: make one side like the other, and say what became of every file."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.cli import terminal
from traindeck.cli.exit_codes import DONE, FAILED
from traindeck.cli.main import Call
from traindeck.cli.obs.cp import Place, order, place, spelled, tell_of_small_files
from traindeck.cli.obs.plans import PLANNED, aside, plan_content, show_items, tell_renamed, with_options
from traindeck.cli.progress import item_content, items_of, moving_shown, to_its_end
from traindeck.domain.errors import AppError, InvalidInput
from traindeck.domain.outcomes import worst
from traindeck.domain.storage.objects import ObjectPath, size_words
from traindeck.domain.texts import Text, count_text, say, say_count, text
from traindeck.domain.transfers.orders import CompareBy, Kind, Order, Rules
from traindeck.domain.transfers.records import DIFFERENCES, Item, ItemState
from traindeck.domain.transfers.sync_rules import too_many_removals

if TYPE_CHECKING:
    from traindeck.assembly.data_core import DataCore
    from traindeck.services.transfers import Transfer


async def sync(call: Call) -> int:
    if call.options.verify:
        return await _verify(call)
    async with call.data() as core:
        wanted = _order(call, core)
        core.transfers.set_rate(call.options.limit)
        if call.options.dry_run:  # lists all of them, with the limit
            wanted = replace(wanted, rules=replace(wanted.rules, max_delete=sys.maxsize))
        with moving_shown(call.output, core.transfers, Path(call.options.source).name):
            row = await core.transfers.planned(wanted, is_preview=call.options.dry_run)
        tell_of_small_files(call, row)
        if call.options.dry_run:
            await show_items(call, core, row, PLANNED)
            await core.transfers.drop(row.id)
            _summary(call, row, await tell_renamed(call, core, row), is_preview=True)
            if row.removals > call.options.max_delete:
                raise too_many_removals(row.removals, call.options.max_delete)
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
        await show_items(call, core, row, states)
        renamed = await tell_renamed(call, core, row)
        if trouble is not None:
            raise trouble
        _summary(call, row, renamed)
    return DONE


async def _verify(call: Call) -> int:
    refuse_beside(call, "delete", "dry_run")
    async with call.data() as core:
        wanted = _order(call, core)
        here = Path(wanted.source) if wanted.kind is Kind.UPLOAD else wanted.remote_source
        there = Path(wanted.target) if wanted.kind is Kind.DOWNLOAD else wanted.remote_target
        rules = Rules(
            ignore=wanted.rules.ignore,
            filters=wanted.rules.filters,
            has_ignore_files=True,
            links=wanted.rules.links,
        )
        return await verify(call, core, [(here, there)], rules)


def _order(call: Call, core: DataCore) -> Order:
    options = call.options
    source, target = place(options.source), place(options.target)
    source = source.as_folder() if isinstance(source, ObjectPath) else source
    target = target.as_folder() if isinstance(target, ObjectPath) else target
    by = CompareBy(options.compare)
    rules = Rules(
        compare=by,
        ignore=tuple(options.ignore),
        has_ignore_files=True,
        delete=options.delete,
        max_delete=options.max_delete,
        empty_folders=options.empty_folders,
        keep_times=by is CompareBy.SIZE_AND_TIME or options.keep_times,
        keep_modes=options.keep_modes,
        store_md5=options.store_md5,
    )
    return order(call.profile(core), source, target, with_options(rules, options))


def _is_meant(call: Call, row: Transfer) -> bool:
    count, target = row.removals, row.target
    question = say_count("Delete {count} file at {target}?", "Delete {count} files at {target}?", count, target=target)
    without_a_yes = count_text(
        "This would delete {count} file at {target}.", "This would delete {count} files at {target}.",
        count, target=target,
    )  # fmt: skip
    return terminal.is_meant(call.options, without_a_yes, question)


def _summary(call: Call, row: Transfer, renamed: Sequence[dict[str, str]], *, is_preview: bool = False) -> None:
    planned, words = plan_content([row])
    content = planned | {
        "source": row.source,
        "target": row.target,
        "moved": 0 if is_preview else row.done_files,
        "to_move": planned["to_move"] if is_preview else 0,
        "verified": row.verified_files,
        "bytes": row.total_bytes,
        "renamed": renamed,
    }
    if not is_preview:
        words = say(
            "Transferred or deleted: {count}. Identical: {equal}. Confirmed by size and checksum: " "{verified}.",
            count=row.done_files, equal=row.equal_files, verified=row.verified_files,
        )  # fmt: skip
        words = " ".join((words, *aside(row.kept_files, row.skipped_files)))
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
    ItemState.MISSING_HERE: text("Missing at source"),
    ItemState.MISSING_THERE: text("Missing at destination"),
    ItemState.UNKNOWN: text("Cannot be checked"),
    ItemState.SKIPPED: text("Skipped"),
    ItemState.FAILED: text("Could not be read"),
}


async def verify(call: Call, core: DataCore, pairs: Sequence[tuple[Place, Place]], rules: Rules) -> int:
    """The exit code: success only when nothing differs and all could be looked at."""
    found: Counter[ItemState] = Counter()
    troubles: list[AppError] = []
    for source, target in pairs:
        check = Order(Kind.CHECK, call.profile(core), spelled(source), spelled(target), rules)
        number = await core.transfers.begin(check)
        row, error = await to_its_end(call.output, core.transfers, number, Path(check.source).name)
        # Differences alone are no trouble: the exit code tells of them.
        if error is not None and (not row.differences or row.failed_files):
            troubles.append(error)
        found += await _check_list(call, core, row)
        await core.transfers.drop(row.id)  # all of it is said, and there may be a million
    content = {name.replace(" ", "_"): found[state] for state, name in _RESULTS.items()}
    parts = [say("Confirmed by size and checksum: {count}.", count=f"{found[ItemState.DONE]:,}")]
    parts += [f"{say(words)}: {found[state]:,}." for state, words in _WORDS.items() if found[state]]
    call.output.result(content, " ".join(parts))
    trouble = worst(troubles)
    if any(found[state] for state in DIFFERENCES):
        if trouble is not None:
            call.output.note(trouble.sentence())
        return FAILED  # nothing is worse
    if trouble is not None:
        raise trouble
    return DONE


async def _check_list(call: Call, core: DataCore, row: Transfer) -> Counter[ItemState]:
    """Of people only what is not verified is said; a program gets every file."""
    counts: Counter[ItemState] = Counter()
    async for item in items_of(core.transfers, row, *_RESULTS):
        counts[item.state] += 1
        if call.output.json_wanted:
            call.output.document(item_content(row, item, _RESULTS[item.state]))
        elif item.state in _WORDS:
            call.output.named(f"{say(_WORDS[item.state])}: ", item.name or Path(row.source).name, _check_rest(item))
    return counts


def _check_rest(item: Item) -> str:
    words = f"  {size_words(item.size_bytes)}"
    return f"{words}  {say(item.error.title)}" if item.error is not None else words


def refuse_beside(call: Call, *names: str) -> None:
    """Options that mean a change have no place beside --verify."""
    for name in names:
        if getattr(call.options, name):
            option = name.replace("_", "-")
            raise InvalidInput(
                text("--verify changes nothing, so --{option} has no effect with it.", option=option),
                text("Leave one of them out."),
            )
