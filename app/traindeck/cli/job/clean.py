"""`traindeck job clean`: contents of code in OBS that no run refers to any more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from traindeck.cli import terminal
from traindeck.cli.exit_codes import DONE
from traindeck.cli.job.waiting import settle
from traindeck.cli.main import Call
from traindeck.domain.errors import NotFound
from traindeck.domain.storage.objects import ObjectPath, ObjectRow, size_words
from traindeck.domain.texts import say, say_count, text

if TYPE_CHECKING:
    from traindeck.services.jobs.code.code_cleaning import UnusedCode


async def clean(call: Call) -> int:
    from traindeck.services.jobs.code.code_cleaning import CodeCleaning
    from traindeck.services.jobs.code.code_upload import CodePlaces

    options = call.options
    async with call.runs() as core:
        profile = call.profile(core)
        await settle(call, core, only={profile})  # a run whose job arrived late needs its code
        cleaning = CodeCleaning(core.records, core.connections, core.planes, core.bundles, core.submission.alone)
        if options.place is not None:
            root = ObjectPath.parse(options.place)
            places = [CodePlaces.of_run(root if root.is_bucket else root.as_folder(), "run", "code")]
        else:
            places = await cleaning.places(profile)
        found: list[UnusedCode] = []
        for one in places:
            try:
                found.append(await cleaning.look(profile, one, options.older_than))
            except NotFound as error:
                if options.place is not None:
                    raise
                call.output.note(error.sentence())  # a bucket that runs of old had
        for unused in found:
            _tell(call, unused)
        count = sum(len(one.removable) for one in found)
        size = sum(_size(one.removable) for one in found)
        is_wanted = bool(count) and not options.dry_run and _is_meant(call, count, size)
        if is_wanted:
            removed = [row for unused in found for row in await cleaning.remove(profile, unused)]
            count, size = len(removed), _size(removed)
    document = {"profile": profile, "removed": is_wanted, "places": [_document(one) for one in found]}
    call.output.result(document, _words(call, places=len(found), count=count, size=size, is_removed=is_wanted))
    return DONE


def _is_meant(call: Call, count: int, size: int) -> bool:
    without = text("Nothing was deleted: code is deleted only when confirmed.")
    question = say_count(
        "Delete {count} code file ({size}) permanently?", "Delete {count} code files ({size}) permanently?", count,
        size=size_words(size),
    )  # fmt: skip
    return terminal.is_meant(call.options, without, question)


def _words(call: Call, *, places: int, count: int, size: int, is_removed: bool) -> str:
    if not places:
        return say("No run of this account has uploaded code. Specify a bucket to look there.")
    if is_removed:
        return say_count("Deleted {count} code file ({size}).", "Deleted {count} code files ({size}).", count,
                         size=size_words(size))  # fmt: skip
    return say("Nothing was deleted.")


def _tell(call: Call, found: UnusedCode) -> None:
    """With counts and bytes, what would go and why the rest stays."""
    place = str(found.place)
    call.output.note(
        say_count(
            "{place}: {count} code file is used by no run ({size})",
            "{place}: {count} code files are used by no run ({size})",
            len(found.unused), place=place, size=size_words(_size(found.unused)),
        )
    )  # fmt: skip
    if found.folders:
        size = size_words(sum(_size(folder.rows) for folder in found.folders))
        call.output.note(
            say_count(
                "{place}: {count} code directory of a run that never became a job ({size})",
                "{place}: {count} code directories of runs that never became jobs ({size})",
                len(found.folders), place=str(found.places.of_all_runs), size=size,
            )
        )  # fmt: skip
    call.output.note(
        say_count("Kept: {count} code file in use ({size})", "Kept: {count} code files in use ({size})",
                  len(found.kept), size=size_words(_size(found.kept)))
    )  # fmt: skip
    if found.young:
        call.output.note(
            say_count(
                "Kept: {count} code file that is too new ({size}); see --older-than",
                "Kept: {count} code files that are too new ({size}); see --older-than",
                len(found.young), size=size_words(_size(found.young)),
            )
        )  # fmt: skip
    if found.young_folders:
        call.output.note(
            say_count(
                "Kept as too new: {count} code directory of a run that never became a job; see --older-than",
                "Kept as too new: {count} code directories of runs that never became jobs; see --older-than",
                len(found.young_folders),
            )
        )
    if found.unread:
        call.output.note(
            say_count(
                "Kept: all code of {count} run without a readable manifest",
                "Kept: all code of {count} runs without a readable manifest",
                len(found.unread),
            )
        )
        for name in found.unread:
            call.output.note(f"  {name}")


def _size(rows: Iterable[ObjectRow]) -> int:
    return sum(row.size_bytes for row in rows)


def _document(found: UnusedCode) -> dict[str, object]:
    return {
        "place": str(found.place),
        "unused": len(found.unused),
        "unused_bytes": _size(found.unused),
        "kept": len(found.kept),
        "kept_bytes": _size(found.kept),
        "too_new": len(found.young),
        "too_new_bytes": _size(found.young),
        "folders": len(found.folders),
        "folders_bytes": sum(_size(folder.rows) for folder in found.folders),
        "folders_too_new": len(found.young_folders),
        "unread": list(found.unread),
    }
