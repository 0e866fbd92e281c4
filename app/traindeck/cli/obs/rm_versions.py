"""`traindeck obs rm --version` and `--all-versions`: for good, so it is counted and asked first."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from typing import TYPE_CHECKING

from traindeck.cli import terminal
from traindeck.cli.exit_codes import DONE
from traindeck.cli.main import Call
from traindeck.cli.progress import StatusLine
from traindeck.domain.errors import InvalidInput, NotFound
from traindeck.domain.storage.buckets import BucketContents
from traindeck.domain.storage.objects import ObjectPath, ObjectVersion, outermost, size_words
from traindeck.domain.texts import say, text
from traindeck.domain.transfers.name_filter import NameFilter

if TYPE_CHECKING:
    from traindeck.services.storage.wire.data_plane import DataPlane

IsWanted = Callable[[ObjectVersion], bool]


async def remove_versions(call: Call, paths: list[ObjectPath]) -> int:
    options, version = call.options, call.options.version_id
    if version is not None and (len(paths) > 1 or paths[0].is_folder or options.recursive):
        raise InvalidInput(
            text("A version belongs to one object."), text("Specify only that object, as shown by “stat --versions”.")
        )
    for path in paths:
        if path.is_folder and not options.recursive:
            raise InvalidInput(
                text("“{path}” is a folder.", path=str(path)),
                text("Add --recursive to delete everything in it."),
            )
    async with call.accounts() as core, core.plane(call.profile(core)) as plane:
        wanted = [(path, _wanted(call, path)) for path in outermost(paths)]
        found = BucketContents()
        for path, is_wanted in wanted:
            found += await _counted(call, plane, path, is_wanted)
        if not found.count:
            raise _no_version(paths[0], version)
        if options.dry_run:
            words = say(
                "To delete permanently. Objects: {objects}, previous versions: {old}, delete markers: "
                "{markers}, {size}.",
                **_facts(found),
            )  # fmt: skip
            call.output.result({"removed": 0, "to_remove": found.count, **_content(found)}, words)
            return DONE
        if not _is_meant(call, found):
            call.output.note(say("Nothing was deleted."))
            return DONE
        gone = BucketContents()
        for path, is_wanted in wanted:
            gone += await _removed(call, plane, path, is_wanted)
    call.output.result({"removed": gone.count, **_content(gone)}, _gone_words(gone))
    return DONE


def _gone_words(gone: BucketContents) -> str:
    return say(
        "Permanently deleted. Objects: {objects}, previous versions: {old}, delete markers: {markers}, {size}.",
        **_facts(gone),
    )


def _is_meant(call: Call, found: BucketContents) -> bool:
    facts = _facts(found)
    without_a_yes = text(
        "This would permanently delete versions. Objects: {objects}, previous versions: {old}, "
        "delete markers: {markers}, {size}.",
        **facts,
    )  # fmt: skip
    question = say(
        "Objects: {objects}, previous versions: {old}, delete markers: {markers}, {size}. Delete "
        "permanently? This cannot be undone.",
        **facts,
    )  # fmt: skip
    return terminal.is_meant(call.options, without_a_yes, question)


def _wanted(call: Call, path: ObjectPath) -> IsWanted:
    """Which of the versions whose keys begin as this place does."""
    version, names = call.options.version_id, NameFilter(call.options.filters)
    key = path.key
    folder = path.as_folder().key

    def is_wanted(one: ObjectVersion) -> bool:
        if version is not None:
            return one.key == key and one.version == version
        if one.key == key and not path.is_folder:
            return names.takes(path.name)
        is_below = one.key.startswith(folder) and call.options.recursive
        return is_below and names.takes(one.key[len(folder) :])

    return is_wanted


async def _counted(call: Call, plane: DataPlane, path: ObjectPath, is_wanted: IsWanted) -> BucketContents:
    from traindeck.services.storage.emptying import Emptying, contents_of

    found = BucketContents()
    emptying = Emptying(plane, path.bucket, lambda _: None, prefix=path.key, is_wanted=is_wanted)
    async with aclosing(emptying.pages()) as pages:
        async for rows in pages:
            found += contents_of(rows)
            if call.options.dry_run:
                _show(call, path.bucket, rows)
    return found


def _show(call: Call, bucket: str, rows: list[ObjectVersion]) -> None:
    for row in rows:
        place = str(ObjectPath(bucket, row.key))
        content: dict[str, object] = {
            "path": place, "version": row.version, "size": row.size_bytes, "current": row.is_latest,
            "marker": row.is_marker,
        }  # fmt: skip
        size = say("deleted") if row.is_marker else size_words(row.size_bytes)
        call.output.named_result(content, "× ", place, f"  {size}  {row.version}")


async def _removed(call: Call, plane: DataPlane, path: ObjectPath, is_wanted: IsWanted) -> BucketContents:
    from traindeck.services.storage.emptying import Emptying

    with StatusLine(call.output) as line:

        def show(gone: BucketContents) -> None:
            line.draw(lambda: _gone_words(gone))

        return await Emptying(plane, path.bucket, show, prefix=path.key, is_wanted=is_wanted).empty()


def _facts(found: BucketContents) -> dict[str, object]:
    return {
        "objects": f"{found.objects:,}",
        "old": f"{found.old_versions:,}",
        "markers": f"{found.markers:,}",
        "size": size_words(found.size_bytes),
    }


def _content(found: BucketContents) -> dict[str, object]:
    return {
        "objects": found.objects, "old_versions": found.old_versions, "markers": found.markers,
        "bytes": found.size_bytes,
    }  # fmt: skip


def _no_version(path: ObjectPath, version: str | None) -> NotFound:
    if version is None:
        return NotFound(text("{place} has no versions.", place=str(path)), text("Check the spelling, and the filters."))
    return NotFound(
        text("{place} has no version “{version}”.", place=str(path), version=version),
        text("“traindeck obs stat --versions” lists the versions."),
    )
