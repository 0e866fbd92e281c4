"""`traindeck obs mini`: a small dataset out of a large one."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.cli.exit_codes import DONE
from traindeck.cli.main import Call
from traindeck.cli.obs.cp import Place, order, place
from traindeck.cli.progress import StatusLine, to_its_end
from traindeck.domain.errors import InvalidInput, NotFound
from traindeck.domain.storage.objects import ObjectPath, count_words, size_words
from traindeck.domain.texts import say, say_count, text
from traindeck.domain.transfers.mini import ClassShare, SampleChoice
from traindeck.domain.transfers.orders import SEND, Kind, Rules

if TYPE_CHECKING:
    from traindeck.assembly.data_core import DataCore

_MOST_CLASSES_SHOWN = 40


async def mini(call: Call) -> int:
    if call.options.per_class == 0:
        raise InvalidInput(
            text("--per-class must be 1 or more."), text("Specify how many samples of each class to keep.")
        )
    source = _folder(call.options.source)
    target = _folder(call.options.target) if call.options.target else _beside(source)
    _refuse_inside(source, target)
    choice = SampleChoice(call.options.per_class, call.options.share or 0.0, call.options.seed)
    async with call.data() as core:
        await _look_through(call, core, source, choice)
        names = choice.names
        if not names:
            raise NotFound(
                text("{place} contains no files.", place=str(source)), text("Specify the folder of a dataset.")
            )
        if call.options.dry_run:
            _tell(call, choice.classes, target, is_preview=True)
            return DONE
        await _refuse_others(call, core, target, names)
        if isinstance(source, Path) and isinstance(target, Path):
            from traindeck.services.transfers.mini import copied_here

            await core.disk.run(partial(copied_here, source, target, names))
        else:
            await _moved(call, core, source, target, names)
    _tell(call, choice.classes, target)
    return DONE


def _folder(spelling: str) -> Place:
    found = place(spelling)
    if found is None:
        raise InvalidInput(text("A dataset must be a folder."), text("Specify a folder or obs://bucket/folder/."))
    return found.as_folder() if isinstance(found, ObjectPath) else found.absolute()


def _beside(source: Place) -> Place:
    if isinstance(source, Path):
        if not source.name:
            raise InvalidInput(
                text("No folder can be created next to “{place}”.", place=str(source)),
                text("Specify a destination, for example obs://bucket/data_mini/."),
            )
        return source.with_name(f"{source.name}_mini")
    if source.is_bucket:
        raise InvalidInput(
            text("A whole bucket needs a destination."), text("Specify one, for example obs://bucket/data_mini/.")
        )
    return ObjectPath(source.bucket, f"{source.key.removesuffix('/')}_mini/")


def _refuse_inside(source: Place, target: Place) -> None:
    inside = (
        target.is_relative_to(source)
        if isinstance(source, Path) and isinstance(target, Path)
        else isinstance(source, ObjectPath) and isinstance(target, ObjectPath)
        and target.bucket == source.bucket and target.key.startswith(source.key)
    )  # fmt: skip
    if inside:
        raise InvalidInput(
            text("“{target}” is inside the dataset.", target=str(target)),
            text("Specify a folder outside of the dataset."),
        )


async def _look_through(call: Call, core: DataCore, source: Place, choice: SampleChoice) -> None:
    from traindeck.services.transfers.mini import files_here, files_there

    count = 0
    with StatusLine(call.output) as line:

        def take(name: str, size_bytes: int) -> None:
            nonlocal count
            count += 1
            choice.add(name, size_bytes)
            line.draw(lambda: say("Counting: {count} so far…", count=count_words(count)))

        if isinstance(source, Path):
            left = await files_here(core.disk, source, take)
        else:
            left = []
            found = source
            await core.planes.run(call.profile(core), lambda plane: files_there(plane, found, take))
    for entry in left:
        assert entry.problem is not None
        call.output.note(f"× {entry.name}  {entry.problem.sentence()}")


async def _refuse_others(call: Call, core: DataCore, target: Place, names: list[str]) -> None:
    from traindeck.services.transfers.mini import files_here, files_there, refuse_others

    there: set[str] = set()

    def take(name: str, _: int) -> None:
        there.add(name)

    if isinstance(target, Path):
        if target.exists():
            await files_here(core.disk, target, take)
    else:
        found = target
        await core.planes.run(
            call.profile(core), lambda plane: files_there(plane, found, take, may_be_empty=True)
        )  # fmt: skip
    refuse_others(str(target), there, names)


async def _moved(call: Call, core: DataCore, source: Place, target: Place, names: list[str]) -> None:
    pairs = tuple((name, name) for name in names)
    wanted = order(call.profile(core), source, target)
    compare = None if wanted.kind is Kind.COPY else SEND.compare
    number = await core.transfers.begin(replace(wanted, rules=Rules(chosen=pairs, compare=compare)))
    _, trouble = await to_its_end(call.output, core.transfers, number, source.name)
    if trouble is not None:
        raise trouble


def _tell(call: Call, classes: dict[str, ClassShare], target: Place, *, is_preview: bool = False) -> None:
    samples, kept, files, size = (
        sum(getattr(one, name) for one in classes.values()) for name in ("samples", "kept", "files", "size_bytes")
    )
    if call.output.json_wanted:
        listed = {name: {"samples": one.samples, "kept": one.kept} for name, one in sorted(classes.items())}
        content = {"target": str(target), "samples": samples, "kept": kept, "files": files, "bytes": size}
        call.output.document({**content, "classes": listed, "preview": is_preview})
        return
    rows = [[name or ".", f"{one.kept:,}", f"{one.samples:,}"] for name, one in sorted(classes.items())]
    call.output.table([say("Class"), say("Kept"), say("Of")], rows[:_MOST_CLASSES_SHOWN], frozenset({1, 2}))
    if len(rows) > _MOST_CLASSES_SHOWN:
        call.output.line(say("… and {count} more", count=f"{len(rows) - _MOST_CLASSES_SHOWN:,}"))
    facts = {
        "kept": f"{kept:,}", "samples": f"{samples:,}", "classes": f"{len(classes):,}",
        "size": size_words(size), "target": str(target),
    }  # fmt: skip
    if is_preview:
        words = say_count(
            "Would keep {kept} of {samples} samples in {classes} classes: {count} file, {size}.",
            "Would keep {kept} of {samples} samples in {classes} classes: {count} files, {size}.",
            files, **facts,
        )  # fmt: skip
    else:
        words = say_count(
            "Created {target}: {kept} of {samples} samples, {count} file, {size}.",
            "Created {target}: {kept} of {samples} samples, {count} files, {size}.",
            files, **facts,
        )  # fmt: skip
    call.output.line(words)
