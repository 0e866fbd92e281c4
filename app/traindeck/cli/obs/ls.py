"""`traindeck obs ls`, `du` and `find`: what is there, how much, and where."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import datetime
from typing import TYPE_CHECKING

from traindeck.cli.main import DONE, Call
from traindeck.cli.output import aligned
from traindeck.domain.storage.objects import Bucket, ObjectEntry, ObjectPath, size_words
from traindeck.domain.texts import say

if TYPE_CHECKING:
    from traindeck.services.storage.wire.data_plane import DataPlane

_MINUTE = "%Y-%m-%d %H:%M"

ShowEntries = Callable[[list[ObjectEntry]], None]


async def ls(call: Call) -> int:
    path = ObjectPath.parse(call.options.path) if call.options.path else None
    async with call.accounts() as core:
        if path is None:
            _print_buckets(call, await (await core.connections.open(call.profile(core))).storage.buckets())
            return DONE

        def show(page: list[ObjectEntry]) -> None:
            _print_entries(call, path, page)

        async with core.plane(call.profile(core)) as plane:
            if call.options.recursive:
                await _below(plane, path, show, in_order=True)
                return DONE
            async with aclosing(_level(plane, path)) as pages:
                async for page in pages:
                    show(page)
    return DONE


async def du(call: Call) -> int:
    path, depth = ObjectPath.parse(call.options.path), call.options.depth
    sums: dict[str, list[int]] = {}

    def count(page: list[ObjectEntry]) -> None:
        for entry in page:
            for place in _places(entry.path.key, path.as_folder().key, depth):
                counted = sums.setdefault(place, [0, 0])
                counted[0] += 1
                counted[1] += entry.size_bytes or 0

    async with call.accounts() as core, core.plane(call.profile(core)) as plane:
        await _below(plane, path, count)
    sums.setdefault("", [0, 0])
    rows = []
    for place, (objects, size) in sorted(sums.items(), key=lambda row: (row[0] == "", row[0])):
        where = ObjectPath(path.bucket, path.as_folder().key + place) if place else path
        if call.output.json_wanted:
            call.output.document({"path": str(where), "objects": objects, "bytes": size})
        rows.append((size_words(size), say("{count} objects", count=f"{objects:,}"), str(where)))
    if not call.output.json_wanted:
        for line in aligned(rows, right=frozenset({0, 1})):
            call.output.line(line)
    return DONE


async def find(call: Call) -> int:
    options = call.options
    path = ObjectPath.parse(options.path)
    words = [word.casefold() for word in options.words]
    pattern = re.compile(fnmatch.translate(options.name.casefold())) if options.name else None

    def is_wanted(entry: ObjectEntry) -> bool:
        name, size = entry.path.name.casefold(), entry.size_bytes
        if size is None or (options.larger is not None and size <= options.larger):
            return False
        if options.smaller is not None and size >= options.smaller:
            return False
        return all(word in name for word in words) and (pattern is None or pattern.match(name) is not None)

    def show(page: list[ObjectEntry]) -> None:
        found = [entry for entry in page if is_wanted(entry)]
        if found:
            _print_entries(call, ObjectPath(path.bucket), found)

    async with call.accounts() as core, core.plane(call.profile(core)) as plane:
        await _below(plane, path, show)
    return DONE


async def _level(plane: DataPlane, path: ObjectPath) -> AsyncGenerator[list[ObjectEntry], None]:
    """The object of that very name, else what is in the folder."""
    from traindeck.services.storage.listing import entries, nothing_there

    if (itself := await _itself(plane, path)) is not None:
        yield [itself]
        return
    folder, is_empty = path.as_folder(), True
    async with aclosing(entries(plane, folder)) as pages:
        async for page in pages:
            is_empty = False
            yield page
    if is_empty and not path.is_bucket and not await _is_marked(plane, folder):
        raise nothing_there(path)


async def _below(plane: DataPlane, path: ObjectPath, show: ShowEntries, *, in_order: bool = False) -> None:
    """The object of that very name, else everything below the folder."""
    from traindeck.services.storage.listing import Piece, Sweep, entry_of, nothing_there

    if (itself := await _itself(plane, path)) is not None:
        show([itself])
        return
    folder, is_empty = path.as_folder(), True

    async def take(piece: Piece) -> None:
        nonlocal is_empty
        page = [entry_of(folder.bucket, row) for row in piece.rows if row.key != folder.key]
        if page:
            is_empty = False
            show(page)

    await Sweep(plane, folder, in_order=in_order).run(take)
    if is_empty and not path.is_bucket and not await _is_marked(plane, folder):
        raise nothing_there(path)


async def _itself(plane: DataPlane, path: ObjectPath) -> ObjectEntry | None:
    if path.is_folder or (found := await plane.head(path)) is None:
        return None
    return ObjectEntry(path, found.size_bytes, found.modified, found.etag)


async def _is_marked(plane: DataPlane, folder: ObjectPath) -> bool:
    """Whether there is at least an object that stands for the folder itself."""
    return bool((await plane.page(folder.bucket, folder.key, most=1)).rows)


def _places(key: str, folder: str, depth: int) -> list[str]:
    """The folders, up to `depth` deep, that this object counts for; the empty one is the whole."""
    parts = key[len(folder) :].split("/")[:-1][:depth]
    return ["", *("/".join(parts[: length + 1]) + "/" for length in range(len(parts)))]


def _print_buckets(call: Call, buckets: list[Bucket]) -> None:
    if call.output.json_wanted:
        for bucket in buckets:
            call.output.document(
                {
                    "path": str(ObjectPath(bucket.name)),
                    "bucket": bucket.name,
                    "created": bucket.created.isoformat() if bucket.created else None,
                    "region": bucket.region,
                }
            )
        return
    rows = [(_minute(bucket.created), str(ObjectPath(bucket.name))) for bucket in buckets]
    for line in aligned(rows):
        call.output.line(line)


def _print_entries(call: Call, below: ObjectPath, page: list[ObjectEntry]) -> None:
    if call.output.json_wanted:
        for entry in page:
            call.output.document(_document(entry))
        return
    start = len(below.as_folder().key)
    rows = [
        (_minute(entry.modified), size_words(entry.size_bytes), entry.path.key[start:] or entry.path.name)
        for entry in page
    ]
    # A page at a time: a bucket with a million objects begins to print at once.
    for line in aligned(rows, right=frozenset({1}), least=(16, 8)):
        call.output.line(line)


def _minute(moment: datetime | None) -> str:
    return f"{moment.astimezone():{_MINUTE}}" if moment else "–"


def _document(entry: ObjectEntry) -> dict[str, object]:
    return {
        "path": str(entry.path),
        "bucket": entry.path.bucket,
        "key": entry.path.key,
        "folder": entry.is_folder,
        "size": entry.size_bytes,
        "modified": entry.modified.isoformat() if entry.modified else None,
        "etag": entry.etag,
        "class": entry.storage_class,
    }
