"""`traindeck obs cp` and `mv`: files, folders and objects from anywhere to anywhere."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.cli import terminal
from traindeck.cli.exit_codes import DONE
from traindeck.cli.main import Call
from traindeck.cli.obs.cat import ByteRange, printed
from traindeck.cli.obs.plans import (
    PLANNED,
    aside,
    behind_links,
    joined,
    plan_content,
    show_items,
    tell_left_out,
    tell_renamed,
    with_head_options,
    with_plan_options,
)
from traindeck.cli.progress import raise_worst, say_failed, to_its_end
from traindeck.domain.errors import InvalidInput
from traindeck.domain.outcomes import Outcomes
from traindeck.domain.storage.objects import ObjectPath, names_a_service, size_words
from traindeck.domain.texts import say, say_count, text
from traindeck.domain.transfers.local_names import System, local_part
from traindeck.domain.transfers.orders import MOVE, Kind, Links, Order, Rules
from traindeck.domain.transfers.packing import advises_packing, likely_shards
from traindeck.runtime.files import local_errors

if TYPE_CHECKING:
    from traindeck.assembly.data_core import DataCore
    from traindeck.services.transfers import Transfer, Transfers


def tell_of_small_files(call: Call, row: Transfer) -> bool:
    """Whether there was anything to say."""
    files, size_bytes = row.files - row.removals, row.total_bytes
    if row.kind is not Kind.UPLOAD or size_bytes is None or not advises_packing(files, size_bytes):
        return False
    call.output.note(
        say_count(
            "{count} small file, {size} on average. Jobs request every file separately. “traindeck "
            "obs pack” would pack them into about {shards} tar shards with an index; uploading takes "
            "about as long either way.",
            "{count} small files, {size} each on average. Jobs request every file separately. "
            "“traindeck obs pack” would pack them into about {shards} tar shards with an index; "
            "uploading takes about as long either way.",
            files,
            size=size_words(size_bytes // files),
            shards=likely_shards(files, size_bytes),
        )
    )
    return True


@contextmanager
def small_files_told(call: Call, transfers: Transfers) -> Iterator[None]:
    """As soon as the plan of the transfer inside is known, and once."""
    is_told = False

    def on_news(row: Transfer) -> None:
        nonlocal is_told
        is_told = is_told or tell_of_small_files(call, row)

    with transfers.changed.heard_by(on_news):
        yield


STREAM = "-"

Place = ObjectPath | Path


async def _from_standard_input(call: Call, core: DataCore, target: ObjectPath, rules: Rules) -> None:
    from traindeck.services.transfers.pace import RateLimit
    from traindeck.services.transfers.streams import send_stream

    limit = RateLimit(call.options.limit)
    await core.planes.run(
        call.profile(core), lambda plane: send_stream(plane, target, terminal.bytes_from_standard_input, limit, rules)
    )


async def cp(call: Call) -> int:
    sources, target = [place(source) for source in call.options.sources], place(call.options.target)
    refuse_impossible(sources, target)
    rules = with_head_options(Rules(), call.options, makes_objects=isinstance(target, ObjectPath))
    rules = with_plan_options(rules, call.options)
    if call.options.verify:
        return await _verify(call, sources, target, rules)
    if call.options.dry_run or call.options.no_clobber:
        _refuse_pipes(sources, target)
    if call.options.dry_run:
        assert target is not None
        return await _planned(call, _pairs(sources, target), rules)
    make_folder(target, call.options.target, is_folder=len(sources) > 1)
    count = verified = kept = skipped = 0
    left_out: list[dict[str, str]] = []
    renamed: list[dict[str, str]] = []
    outcomes = Outcomes()
    async with call.data() as core:
        core.transfers.set_rate(call.options.limit)
        for source in sources:
            if source is None:
                assert isinstance(target, ObjectPath)
                await _from_standard_input(call, core, target, rules)
                count += 1
            elif target is None:
                assert isinstance(source, ObjectPath)
                await printed(call, core, source, ByteRange(), call.options.limit)
                count += 1
            else:
                into = below(target, source, alone=len(sources) == 1)
                with outcomes.one(spelled(source)), small_files_told(call, core.transfers):
                    row, aside_now, others = await _moved(
                        call, core, order(call.profile(core), source, into, rules), source
                    )
                    count += row.done_files + row.equal_files
                    verified += row.verified_files
                    kept, skipped = kept + row.kept_files, skipped + row.skipped_files
                    left_out, renamed = left_out + aside_now, renamed + others
    raise_worst(call.output, outcomes)
    content: dict[str, object] = {"files": count, "target": call.options.target}
    if target is None:
        if call.output.json_wanted:
            call.output.document(content)
    else:
        words = say_count(
            "Copied {count} file to {target}", "Copied {count} files to {target}", count, target=str(target)
        )
        if None not in sources:
            content |= {"verified": verified, "kept": kept, "skipped": skipped, "left_out": left_out}
            content |= {"renamed": renamed}
            confirmed = say("Confirmed by size and checksum: {count}", count=verified)
            words = joined((words, confirmed, *aside(kept, skipped)))
        call.output.result(content, words)
    return DONE


async def _planned(call: Call, pairs: list[tuple[Place, Place]], rules: Rules) -> int:
    """Only say what would be done: it is planned as it would be to do it, and dropped."""
    rows: list[Transfer] = []
    renamed: list[dict[str, str]] = []
    async with call.data() as core:
        for source, into in pairs:
            row = await core.transfers.planned(order(call.profile(core), source, into, rules), is_preview=True)
            rows.append(row)
            is_one = len(pairs) == 1 or (isinstance(source, Path) and source.is_file())
            await show_items(call, core, row, PLANNED, "" if is_one else f"{_name(source)}/")
            renamed += await tell_renamed(call, core, row)
            await core.transfers.drop(row.id)
    content, words = plan_content(rows)
    call.output.result({"target": call.options.target, **content, "renamed": renamed}, words)
    return DONE


def _refuse_pipes(sources: list[Place | None], target: Place | None) -> None:
    if target is None or None in sources:
        raise InvalidInput(
            text("A pipe does not support preview or skipping existing files."),
            text("Specify files, folders or objects on both sides."),
        )


async def _verify(call: Call, sources: list[Place | None], target: Place | None, rules: Rules) -> int:
    from traindeck.cli.obs.sync import refuse_beside, verify

    refuse_beside(call, "dry_run", "no_clobber")
    if target is None or None in sources:
        raise InvalidInput(
            text("Data from or to a pipe cannot be verified."),
            text("Specify a file or folder on this computer."),
        )
    pairs = _pairs(sources, target)
    async with call.data() as core:
        return await verify(call, core, pairs, Rules(both_sides=False, filters=rules.filters, links=rules.links))


async def mv(call: Call) -> int:
    sources, target = [place(source) for source in call.options.sources], place(call.options.target)
    if target is None or None in sources:
        raise InvalidInput(
            text("Standard input and standard output cannot be moved."),
            text("Use “obs cp” instead."),
        )
    refuse_impossible(sources, target)
    rules = with_plan_options(MOVE, call.options)
    if call.options.dry_run:
        return await _planned(call, _pairs(sources, target), rules)
    make_folder(target, call.options.target, is_folder=len(sources) > 1)
    count = kept = skipped = linked = 0
    left_out: list[dict[str, str]] = []
    renamed: list[dict[str, str]] = []
    outcomes = Outcomes()
    async with call.data() as core:
        core.transfers.set_rate(call.options.limit)
        for source, into in _pairs(sources, target):
            with outcomes.one(spelled(source)):
                row, aside_now, others = await _moved(
                    call, core, order(call.profile(core), source, into, rules), source
                )
                behind = await behind_links(core, row) if rules.links is Links.FOLLOW else 0
                count, linked = count + row.done_files - behind, linked + behind
                kept, skipped = kept + row.kept_files, skipped + row.skipped_files
                left_out, renamed = left_out + aside_now, renamed + others
    raise_worst(call.output, outcomes)
    moved = say_count("Moved {count} file to {target}", "Moved {count} files to {target}", count, target=str(target))
    told = [] if not linked else [say("Copied only, because they are behind links: {count}", count=f"{linked:,}")]
    call.output.result(
        {"files": count, "target": call.options.target, "kept": kept, "skipped": skipped, "left_out": left_out}
        | {"renamed": renamed, "copied_only": linked},
        joined((moved, *told, *aside(kept, skipped))),
    )
    return DONE


_Told = list[dict[str, str]]


async def _moved(call: Call, core: DataCore, what: Order, source: Place) -> tuple[Transfer, _Told, _Told]:
    """Report the result, with files that were left out or renamed."""
    number = await core.transfers.begin(what)
    row, trouble = await to_its_end(call.output, core.transfers, number, _name(source))
    left_out, renamed = await tell_left_out(call, core, row), await tell_renamed(call, core, row)
    if trouble is None:
        return row, left_out, renamed
    if row.failed_files > 1:
        await say_failed(call.output, core.transfers, row)
    raise trouble


def order(profile: str, source: Place | None, target: Place | None, rules: Rules | None = None) -> Order:
    match source, target:
        case Path(), ObjectPath():
            kind = Kind.UPLOAD
        case ObjectPath(), Path():
            kind = Kind.DOWNLOAD
        case ObjectPath(), ObjectPath():
            kind = Kind.COPY
        case _:
            raise _both_here()
    return Order(kind, profile, spelled(source), spelled(target), rules or Rules())


def spelled(where: Place) -> str:
    return str(where.absolute()) if isinstance(where, Path) else str(where)


def _name(source: Place) -> str:
    # As it was named, also where that is a link; no more than “.” and “..” is made a name of.
    return os.path.basename(os.path.abspath(source)) if isinstance(source, Path) else source.name  # noqa: PTH100, PTH119


def _both_here() -> InvalidInput:
    return InvalidInput(
        text("Source and destination are both on this computer."), text("At least one side must be obs://bucket/key.")
    )


def place(spelling: str) -> Place | None:
    """None is the standard stream."""
    if spelling == STREAM:
        return None
    if names_a_service(spelling):
        return ObjectPath.parse(spelling)
    return Path(spelling).expanduser()


def refuse_impossible(sources: list[Place | None], target: Place | None) -> None:
    several = len(sources) > 1
    if any(isinstance(source, Path) or source is None for source in sources) and not isinstance(target, ObjectPath):
        raise _both_here()
    if None in sources and (several or (isinstance(target, ObjectPath) and target.is_folder)):
        raise InvalidInput(
            text("Standard input becomes one object, which needs a name."),
            text("Specify it as the only source, with a destination such as obs://bucket/name."),
        )
    if target is None and several:
        raise InvalidInput(
            text("Only one object can be written to standard output."), text("Copy them one by one, or into a folder.")
        )
    if several and isinstance(target, ObjectPath) and not target.is_folder:
        raise InvalidInput(
            text("With several sources, the destination must be a folder."),
            text("End the destination with “/”: {folder}", folder=str(target.as_folder())),
        )


def make_folder(target: Place | None, spelling: str, *, is_folder: bool) -> None:
    """A destination on this computer that is meant to be a folder is one before anything is put there."""
    if isinstance(target, Path) and (is_folder or spelling.endswith(("/", os.sep))):
        with local_errors(target):
            target.mkdir(parents=True, exist_ok=True)


def _pairs(sources: list[Place | None], target: Place) -> list[tuple[Place, Place]]:
    return [(source, below(target, source, alone=len(sources) == 1)) for source in sources if source is not None]


def below(target: Place, source: Place, *, alone: bool) -> Place:
    """Where this source goes: alone it is the destination, among others it keeps its name below it."""
    if alone:
        return target
    if isinstance(target, Path):
        # A key may end with what leads out of a folder here, or with what no file can be called.
        return target / local_part(source.name, System(is_windows=os.name == "nt"))
    is_folder = source.is_dir() if isinstance(source, Path) else source.is_folder
    return target.join(_name(source) + ("/" if is_folder else ""))
