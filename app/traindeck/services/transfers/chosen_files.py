"""The plan of an order for several files and folders: what was dropped together, or chosen to be fetched together."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path

from traindeck.domain.errors import AppError
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.transfers.local_names import LocalNames
from traindeck.domain.transfers.records import Item, ItemState, Order, refusal
from traindeck.domain.transfers.sync_rules import Pair
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.services.storage.data_ports import DataPlane, ObjectRow
from traindeck.services.transfers.among import objects_among
from traindeck.services.transfers.checking import CheckPlanner
from traindeck.services.transfers.chosen import found_of, pieces_of
from traindeck.services.transfers.local_tree import LocalEntry
from traindeck.services.transfers.planning import (
    NamedRow,
    Outline,
    Planner,
    entry_of,
    nothing_at,
    placed,
    system_of,
)

_BATCH = 1000

Walk = Callable[[Path], AsyncIterator[list[LocalEntry]]]
Walked = list[tuple[LocalEntry, str]]
"""Entries named from the source on, each with the key of its object."""
ListAll = Callable[[ObjectPath], AsyncGenerator[list[NamedRow], None]]
_Piece = tuple[str, str]


class _FromThere(Planner):
    """What was chosen there, and where each of it is or goes here."""

    async def _plan_download(self) -> Outline:
        target = Path(self._order.target)
        names = LocalNames(await self._disk.run(lambda _: system_of(target)))
        async for found in remote_pieces(self._order, self._plane, self._listing):
            if isinstance(found, Item):
                await self._keep([found])
                continue
            places = [(listed.row, placed(names, listed)) for listed in found]
            await self._keep(await self._downloads(places, target))
        return Outline(str(target))


class ChosenPlanner(_FromThere):
    """Of a source only what was chosen; each piece may have another name at the target."""

    async def _plan_upload(self) -> Outline:
        source, order = Path(self._order.source), self._order
        if self._rules.compare is None:
            await self._see_bucket(order.remote_target.as_folder())
        async for walked in local_pieces(order, self._disk, self._local):
            rows = await _beside(self._plane, order, walked) if self._rules.compare else {}
            keys = {entry.name: key for entry, key in walked}
            await self._keep(await self._uploads(_paired(walked, rows), keys.__getitem__, source))
        return Outline(str(source), self._has_gaps)


class ChosenCheckPlanner(_FromThere, CheckPlanner):
    """What was chosen is looked at on both sides, and nothing beside it."""

    async def _plan_up(self) -> Outline:
        source, order = Path(self._order.source), self._order
        async for walked in local_pieces(order, self._disk, self._local):
            rows = await _beside(self._plane, order, walked)
            keys = {entry.name: key for entry, key in walked}
            await self._keep(self._found(_paired(walked, rows), keys.__getitem__))
        return Outline(str(source), self._has_gaps)

    async def _plan_remote(self) -> Outline:
        order = self._order
        source, target = order.remote_source, order.remote_target.as_folder()
        is_empty = True
        async for found in found_of(self._plane, source, pieces_of(order)):
            there = await objects_among(self._plane, target.bucket, [key for _, key in found])
            is_empty, start = False, len(target.key)
            pairs = [
                Pair(NamedRow(key[start:], row), NamedRow(key[start:], there[key]) if key in there else None)
                for row, key in found
            ]
            await self._keep(self._both(pairs, target))
        if is_empty:
            raise nothing_at(str(source))
        return Outline(str(target))


async def local_pieces(order: Order, disk: BlockingCalls, walk: Walk) -> AsyncIterator[Walked]:
    """What there is of each piece, in the order of the keys; what cannot be looked at says so."""
    source, folder = Path(order.source), order.remote_target.as_folder()
    chosen = sorted(order.rules.chosen, key=lambda piece: piece[1])
    for files in _files(chosen):
        entries = await disk.run(partial(_entries_of, source, files))
        yield [(entry, folder.key + new) for entry, (_, new) in zip(entries, files, strict=True)]
    for old, new in (piece for piece in chosen if _is_folder(piece)):
        try:
            async for entries in walk(source / old):
                for entry in entries:
                    entry.name = old + entry.name.lstrip("/")  # a folder that cannot be read is called “/”
                yield [(entry, folder.key + new + entry.name[len(old) :]) for entry in entries]
        except AppError as error:
            yield [(LocalEntry(old, problem=error, is_gap=True), folder.key + new)]


async def remote_pieces(order: Order, plane: DataPlane, listing: ListAll) -> AsyncIterator[list[NamedRow] | Item]:
    """Objects with the names they get at the target; an item tells of a piece of which there is nothing."""
    source = order.remote_source
    chosen = sorted(order.rules.chosen, key=lambda piece: piece[1])
    for objects in _files(chosen):
        rows = await objects_among(plane, source.bucket, [source.key + old for old, _ in objects])
        for old, new in objects:
            if source.key + old not in rows:
                yield _gone(ObjectPath(source.bucket, source.key + old), new)
        yield [NamedRow(new, rows[source.key + old]) for old, new in objects if source.key + old in rows]
    for old, new in (piece for piece in chosen if _is_folder(piece)):
        folder, is_empty = ObjectPath(source.bucket, source.key + old), True
        async with aclosing(listing(folder)) as pages:
            async for page in pages:
                is_empty = False
                yield [NamedRow(new + listed.name, listed.row) for listed in page]
        if is_empty:
            yield _gone(folder, new)


def _files(chosen: Sequence[_Piece]) -> Iterator[list[_Piece]]:
    """All but the folders, some thousand at a time."""
    files = [piece for piece in chosen if not _is_folder(piece)]
    return (files[start : start + _BATCH] for start in range(0, len(files), _BATCH))


def _is_folder(piece: _Piece) -> bool:
    """Of a whole drive, or bucket, there is nothing to be named."""
    return not piece[0] or piece[0].endswith("/")


def _entries_of(source: Path, files: Sequence[_Piece], _: CancelToken) -> list[LocalEntry]:
    return [_entry_of(source, old) for old, _ in files]


def _entry_of(source: Path, name: str) -> LocalEntry:
    try:
        entry = entry_of(source / name)
    except AppError as error:
        return LocalEntry(name, problem=error)
    entry.name = name
    return entry


async def _beside(plane: DataPlane, order: Order, walked: Walked) -> dict[str, ObjectRow]:
    """Which of the keys are there; of a large folder only as much is listed as lies between them."""
    keys = [
        key
        for entry, key in walked
        if entry.problem is None and not key.endswith("/") and refusal(key, entry.size_bytes) is None
    ]
    return await objects_among(plane, order.remote_target.bucket, keys)


def _paired(walked: Walked, rows: dict[str, ObjectRow]) -> list[Pair[LocalEntry, NamedRow]]:
    return [Pair(entry, NamedRow(entry.name, rows[key]) if key in rows else None) for entry, key in walked]


def _gone(path: ObjectPath, name: str) -> Item:
    return Item(path.key or path.bucket, name, state=ItemState.FAILED, error=nothing_at(str(path)))
