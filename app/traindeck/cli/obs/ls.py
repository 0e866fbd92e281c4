"""`traindeck obs ls`, `du` and `find`: what is there, how much, and where."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from traindeck.cli.exit_codes import DONE
from traindeck.cli.main import Call
from traindeck.domain.storage.objects import Bucket, ObjectEntry, ObjectPath, size_words
from traindeck.domain.texts import moment_words, say, say_count
from traindeck.domain.transfers.name_filter import NameFilter

if TYPE_CHECKING:
    from traindeck.services.storage.wire.data_plane import DataPlane

_TOTAL = "total"

ShowEntries = Callable[[list[ObjectEntry]], None]


async def ls(call: Call) -> int:
    path = ObjectPath.parse(call.options.path) if call.options.path else None
    async with call.accounts() as core:
        if path is None:
            buckets = await (await core.connections.open(call.profile(core))).storage.buckets()
            call.output.rows(buckets, _bucket, lambda one: (moment_words(one.created), str(ObjectPath(one.name))))
            return DONE

        is_wanted = _filter(call, path)

        def show(page: list[ObjectEntry]) -> None:
            if wanted := [entry for entry in page if is_wanted(entry)]:
                _print_entries(call, path, wanted)

        async with core.plane(call.profile(core)) as plane:
            await _all(plane, path, show, below=call.options.recursive, in_order=True)
    return DONE


async def du(call: Call) -> int:
    paths = [ObjectPath.parse(path) for path in call.options.paths]
    found: list[tuple[str, int, int]] = []
    objects = size_bytes = 0
    async with call.accounts() as core, core.plane(call.profile(core)) as plane:
        for path in paths:
            found += await _sums(call, plane, path)
            objects, size_bytes = objects + found[-1][1], size_bytes + found[-1][2]
    if call.options.total:
        found.append((_TOTAL if call.output.json_wanted else say("total"), objects, size_bytes))
    call.output.rows(
        found,
        lambda one: dict(zip(("path", "objects", "bytes"), one, strict=True)),
        lambda one: (_size(call, one[2]), say_count("{count} object", "{count} objects", one[1]), one[0]),
        right=frozenset({0, 1}),
    )
    return DONE


async def _sums(call: Call, plane: DataPlane, path: ObjectPath) -> list[tuple[str, int, int]]:
    """Of the folders that were asked for, the whole at last."""
    depth, is_wanted = call.options.depth, _filter(call, path)
    sums: dict[str, list[int]] = {}

    def count(page: list[ObjectEntry]) -> None:
        for entry in filter(is_wanted, page):
            for place in _places(entry.path.key, path.as_folder().key, depth):
                counted = sums.setdefault(place, [0, 0])
                counted[0] += 1
                counted[1] += entry.size_bytes or 0

    await _all(plane, path, count, below=True)
    sums.setdefault("", [0, 0])
    found = []
    for place, (objects, size) in sorted(sums.items(), key=lambda row: (row[0] == "", row[0])):
        where = ObjectPath(path.bucket, path.as_folder().key + place) if place else path
        found.append((str(where), objects, size))
    return found


def _filter(call: Call, path: ObjectPath) -> Callable[[ObjectEntry], bool]:
    """What --include and --exclude take of the names below a place; an object that is named itself by its own name."""
    names, start = NameFilter(call.options.filters), len(path.as_folder().key)

    def is_wanted(entry: ObjectEntry) -> bool:
        name = entry.path.key[start:] or entry.path.name
        return names.may_hold(name) if entry.is_folder else names.takes(name)

    return is_wanted


async def find(call: Call) -> int:
    options = call.options
    if options.report:
        from traindeck.cli.obs.report import report

        return await report(call)
    path = ObjectPath.parse(options.path)
    words = [word.casefold() for word in options.words]
    is_taken = _filter(call, path)
    pattern = re.compile(fnmatch.translate(options.name.casefold())) if options.name else None

    def is_wanted(entry: ObjectEntry) -> bool:
        name, size = entry.path.name.casefold(), entry.size_bytes
        if not is_taken(entry) or size is None or (options.larger is not None and size <= options.larger):
            return False
        if options.smaller is not None and size >= options.smaller:
            return False
        return all(word in name for word in words) and (pattern is None or pattern.match(name) is not None)

    def show(page: list[ObjectEntry]) -> None:
        found = [entry for entry in page if is_wanted(entry)]
        if found:
            _print_entries(call, ObjectPath(path.bucket), found)

    async with call.accounts() as core, core.plane(call.profile(core)) as plane:
        await _all(plane, path, show, below=True)
    return DONE


async def _all(plane: DataPlane, path: ObjectPath, show: ShowEntries, *, below: bool, in_order: bool = False) -> None:
    """The object of that very name, else what is in the folder, or everything below it."""
    from traindeck.services.storage.listing import Piece, Sweep, entries, entry_of, nothing_there

    if not path.is_folder and (itself := await plane.head(path)) is not None:
        show([ObjectEntry(path, itself.size_bytes, itself.modified, itself.etag)])
        return
    folder, is_empty = path.as_folder(), True

    def found(page: list[ObjectEntry]) -> None:
        nonlocal is_empty
        if page:
            is_empty = False
            show(page)

    async def take(piece: Piece) -> None:
        found([entry_of(folder.bucket, row) for row in piece.rows if row.key != folder.key])

    if below:
        await Sweep(plane, folder, in_order=in_order).run(take)
    else:
        async with aclosing(entries(plane, folder)) as pages:
            async for page in pages:
                found(page)
    # At least an object may be there that stands for the folder itself.
    if is_empty and not path.is_bucket and not (await plane.page(folder.bucket, folder.key, most=1)).rows:
        raise nothing_there(path)


def _places(key: str, folder: str, depth: int) -> list[str]:
    """The folders, up to `depth` deep, that this object counts for; the empty one is the whole."""
    parts = key[len(folder) :].split("/")[:-1][:depth]
    return ["", *("/".join(parts[: length + 1]) + "/" for length in range(len(parts)))]


def _bucket(bucket: Bucket) -> dict[str, object]:
    place = str(ObjectPath(bucket.name))
    return {"path": place, "bucket": bucket.name, "created": bucket.created, "region": bucket.region}


def _print_entries(call: Call, below: ObjectPath, page: list[ObjectEntry]) -> None:
    def row(entry: ObjectEntry) -> Sequence[str]:
        return moment_words(entry.modified), _size(call, entry.size_bytes), entry.path.key[start:] or entry.path.name

    start = len(below.as_folder().key)
    # A page at a time: a bucket with a million objects begins to print at once.
    call.output.rows(page, _document, row, right=frozenset({1}), least=(16, 8))


def _size(call: Call, size_bytes: int | None) -> str:
    is_exact = getattr(call.options, "bytes", False) and size_bytes is not None
    return str(size_bytes) if is_exact else size_words(size_bytes)


def _document(entry: ObjectEntry) -> dict[str, object]:
    return {
        "path": str(entry.path),
        "bucket": entry.path.bucket,
        "key": entry.path.key,
        "folder": entry.is_folder,
        "size": entry.size_bytes,
        "modified": entry.modified,
        "etag": entry.etag,
        "class": entry.storage_class,
    }
