"""`traindeck obs fragments`: uploads that were begun and never finished."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from traindeck.cli import terminal
from traindeck.cli.exit_codes import DONE, FAILED
from traindeck.cli.main import Call
from traindeck.domain.storage.objects import ObjectPath, count_words, size_words
from traindeck.domain.texts import count_text, moment_words, printable, say, say_count

if TYPE_CHECKING:
    from traindeck.assembly.core import Core
    from traindeck.domain.storage.buckets import Held, UnfinishedUpload


async def fragments(call: Call) -> int:
    place = ObjectPath.parse(call.options.path)
    async with call.core() as core:
        found: list[UnfinishedUpload] = []
        age, now = call.options.older_than, datetime.now(UTC)

        def take(page: list[UnfinishedUpload]) -> None:
            found.extend(upload for upload in page if age is None or upload.is_older(age, now))

        await core.unfinished.each(call.profile(core), place, take)
        if call.options.abort:
            return await _abort(call, core, found)
        sizes: list[int | None] = []

        def show(portion: list[Held]) -> None:
            sizes.extend(held.size_bytes for held in portion)
            call.output.rows(portion, _document, _row, right=frozenset({1}), least=(16, 8))

        await core.unfinished.measure(call.profile(core), found, show)
    if not call.output.json_wanted:
        size = size_words(_together(sizes))
        call.output.note(say_count("{count} fragment, {size}.", "{count} fragments, {size}.", len(found), size=size))
    return DONE


async def _abort(call: Call, core: Core, found: list[UnfinishedUpload]) -> int:
    chosen = [upload for upload in found if not upload.is_ours]
    kept = len(found) - len(chosen)
    sizes: dict[str, int | None] = {}
    await core.unfinished.measure(
        call.profile(core),
        chosen,
        lambda portion: sizes.update((held.upload.upload_id, held.size_bytes) for held in portion),
    )
    if chosen and not _is_meant(call, len(chosen), _together(sizes.values())):
        call.output.note(say("No fragments were deleted."))
        return DONE
    ended = await core.unfinished.end(call.profile(core), chosen, lambda _: None)
    kept += len(ended.kept)
    freed = _together(sizes[upload.upload_id] for upload in ended.ended)
    for upload, error in ended.failed:
        call.output.note(f"{printable(str(upload.path))}: {error.sentence()}")
    call.output.result(
        {"aborted": len(ended.ended), "bytes": freed, "kept": kept, "failed": len(ended.failed)},
        say_count(
            "Deleted {count} fragment ({size}). Kept because a transfer needs them: {kept}.",
            "Deleted {count} fragments ({size}). Kept because a transfer needs them: {kept}.",
            len(ended.ended),
            size=size_words(freed),
            kept=count_words(kept),
        ),
    )
    return FAILED if ended.failed else DONE


def _together(sizes: Iterable[int | None]) -> int | None:
    """None: of one of them it is not known."""
    known = list(sizes)
    found = [size for size in known if size is not None]
    return sum(found) if len(found) == len(known) else None


def _is_meant(call: Call, count: int, size: int | None) -> bool:
    total = size_words(size)
    question = say_count(
        "Delete {count} fragment ({size})? A program that is uploading it has to start over.",
        "Delete {count} fragments ({size})? A program that is uploading one of them has to start over.",
        count,
        size=total,
    )
    refusal = count_text(
        "This would delete {count} fragment ({size}).",
        "This would delete {count} fragments ({size}).",
        count,
        size=total,
    )
    return terminal.is_meant(call.options, refusal, question)


def _document(held: Held) -> dict[str, object]:
    upload = held.upload
    return {
        "path": str(upload.path),
        "upload_id": upload.upload_id,
        "begun": upload.begun,
        "parts": held.parts,
        "bytes": held.size_bytes,
        "in_use": upload.is_ours,
    }


def _row(held: Held) -> Sequence[str]:
    note = say("needed by a transfer") if held.upload.is_ours else ""
    return moment_words(held.upload.begun), size_words(held.size_bytes), str(held.upload.path), note
