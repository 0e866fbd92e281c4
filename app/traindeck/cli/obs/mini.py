"""`traindeck obs mini`: a small dataset out of a large one."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.cli.exit_codes import DONE
from traindeck.cli.main import Call
from traindeck.cli.obs.cp import Place, place
from traindeck.cli.progress import StatusLine, to_its_end
from traindeck.domain.datasets.choice import SampleShare
from traindeck.domain.datasets.index_files import IndexColumns
from traindeck.domain.errors import InvalidInput
from traindeck.domain.storage.objects import ObjectPath, count_words, size_words
from traindeck.domain.texts import say, say_count, say_list, text

if TYPE_CHECKING:
    from traindeck.assembly.data_core import DataCore
    from traindeck.services.datasets.mini_plan import MiniOptions, MiniPlan

_MOST_CLASSES_SHOWN = 40


async def mini(call: Call) -> int:
    from traindeck.services.datasets.datasets import beside, refuse_inside
    from traindeck.services.datasets.mini_plan import MiniOptions

    options = call.options
    if options.per_class == 0:
        raise InvalidInput(
            text("--per-class must be 1 or more."), text("Specify how many samples of each class to keep.")
        )
    source = dataset_folder(options.source)
    target = dataset_folder(options.target) if options.target else beside(source)
    refuse_inside(source, target)
    wanted = SampleShare(options.per_class, options.share or 0.0, options.seed)
    columns = IndexColumns(options.file_column or "", options.class_column or "")
    how = MiniOptions(wanted, options.index or "", options.folders, columns)
    async with call.data() as core:
        profile = partial(call.profile, core)
        plan = await _planned(call, core, source, how)
        for entry in plan.left:
            assert entry.problem is not None
            call.output.note(f"× {entry.name}  {entry.problem.sentence()}")
        if not options.dry_run:
            await core.datasets.check_target(plan, target, profile)
            await _made(call, core, plan, source, target)
    _tell(call, plan, target, is_preview=options.dry_run)
    return DONE


def dataset_folder(spelling: str) -> Place:
    found = place(spelling)
    if found is None:
        raise InvalidInput(text("A dataset must be a folder."), text("Specify a folder or obs://bucket/folder/."))
    return found.as_folder() if isinstance(found, ObjectPath) else found.absolute()


async def _planned(call: Call, core: DataCore, source: Place, how: MiniOptions) -> MiniPlan:
    with StatusLine(call.output) as line:

        def seen(count: int) -> None:
            line.draw(lambda: say("Counting: {count} so far…", count=count_words(count)))

        return await core.datasets.plan(source, partial(call.profile, core), how, seen)


async def _made(call: Call, core: DataCore, plan: MiniPlan, source: Place, target: Place) -> None:
    async def moved(number: int) -> None:
        _, trouble = await to_its_end(call.output, core.transfers, number, source.name)
        if trouble is not None:
            raise trouble

    total = len(plan.names)
    with StatusLine(call.output) as line:

        def at(files: int, size_bytes: int) -> None:
            words = {"count": count_words(files), "total": count_words(total), "size": size_words(size_bytes)}
            line.draw(lambda: say("Files copied: {count} of {total}, {size}", **words))

        # A transfer has a line of its own.
        watching = at if isinstance(source, Path) and isinstance(target, Path) else _quiet
        await core.datasets.make(plan, source, target, partial(call.profile, core), watching, moved)


def _quiet(_files: int, _size_bytes: int) -> None:
    pass


def _tell(call: Call, plan: MiniPlan, target: Place, *, is_preview: bool) -> None:
    classes, totals = plan.classes, plan.totals
    if call.output.json_wanted:
        listed = {name: {"samples": one.samples, "kept": one.kept} for name, one in sorted(classes.items())}
        content = {
            "target": str(target), "samples": totals.samples, "kept": totals.kept, "files": totals.files,
            "bytes": totals.size_bytes, "layouts": [one.value for one in plan.layouts], "indexes": plan.indexes,
            "written": [one.name for one in plan.made], "notes": [say(note) for note in plan.notes],
        }  # fmt: skip
        call.output.document({**content, "classes": listed, "preview": is_preview})
        return
    if plan.layouts:
        call.output.line(say("Layout: {layouts}", layouts=say_list(one.title for one in plan.layouts)))
    if plan.indexes:
        call.output.line(say("Classes from: {files}", files=say_list(plan.indexes)))
    rows = [[name or ".", f"{one.kept:,}", f"{one.samples:,}"] for name, one in sorted(classes.items())]
    call.output.table([say("Class"), say("Kept"), say("Of")], rows[:_MOST_CLASSES_SHOWN], frozenset({1, 2}))
    if len(rows) > _MOST_CLASSES_SHOWN:
        call.output.line(say("… and {count} more", count=f"{len(rows) - _MOST_CLASSES_SHOWN:,}"))
    for note in plan.notes:
        call.output.note(say(note))
    facts = {
        "kept": f"{totals.kept:,}", "samples": f"{totals.samples:,}", "classes": f"{len(classes):,}",
        "size": size_words(totals.size_bytes), "target": str(target),
    }  # fmt: skip
    if is_preview:
        words = say_count(
            "Would keep {kept} of {samples} samples in {classes} classes: {count} file, {size}.",
            "Would keep {kept} of {samples} samples in {classes} classes: {count} files, {size}.",
            totals.files, **facts,
        )  # fmt: skip
    else:
        words = say_count(
            "Created {target}: {kept} of {samples} samples, {count} file, {size}.",
            "Created {target}: {kept} of {samples} samples, {count} files, {size}.",
            totals.files, **facts,
        )  # fmt: skip
    call.output.line(words)
