"""`--verify` of `traindeck obs sync` and `obs cp`: compare what is there file by file; nothing moves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.cli.call import DONE, FAILED, Call
from traindeck.cli.output import printable
from traindeck.cli.progress import Progress
from traindeck.domain.errors import AppError, InvalidInput
from traindeck.domain.objects import ObjectPath, size_words
from traindeck.domain.texts import Text, say, text
from traindeck.domain.transfers import DIFFERENCES, Item, ItemState, Kind, Order, Rules

if TYPE_CHECKING:
    from traindeck.assembly.data_core import DataCore
    from traindeck.services.transfers import Transfer

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
        found += await _list(call, core, row)
        await core.transfers.drop(row.id)  # all of it is said, and there may be a million
    _summary(call, found)
    if trouble is not None:
        raise trouble
    return FAILED if any(found[state] for state in DIFFERENCES) else DONE


async def _checked(call: Call, core: DataCore, order: Order) -> tuple[Transfer, AppError | None]:
    """How it ended, and what kept it from looking at all of it."""
    number = await core.transfers.begin(order)
    try:
        with Progress(call.output, Path(order.source).name) as progress:
            return await core.transfers.finished(number, progress=progress.at), None
    except AppError as error:
        row = next(one for one in core.transfers.rows() if one.id == number)
        is_done = row.differences > 0 and not row.failed_files
        return row, None if is_done else error


async def _list(call: Call, core: DataCore, row: Transfer) -> Counter[ItemState]:
    """Of people only what is not verified is said; a program gets every file."""
    counts: Counter[ItemState] = Counter()
    after = ""
    while page := await core.transfers.items(row.id, tuple(_RESULTS), after=after):
        for item in page:
            counts[item.state] += 1
            if call.output.json_wanted:
                call.output.document(_document(row, item))
            elif item.state in _WORDS:
                call.output.line(_line(row, item))
        after = page[-1].key
    return counts


def _document(row: Transfer, item: Item) -> dict[str, object]:
    content: dict[str, object] = {
        "name": item.name or Path(row.source).name,
        "size": item.size_bytes,
        "result": _RESULTS[item.state],
    }
    if item.error is not None:
        content["error"] = item.error.sentence()
    return content


def _line(row: Transfer, item: Item) -> str:
    words = f"{say(_WORDS[item.state])}: {item.name or Path(row.source).name}  {size_words(item.size_bytes)}"
    return printable(f"{words}  {say(item.error.title)}" if item.error is not None else words)


def _summary(call: Call, found: Counter[ItemState]) -> None:
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
