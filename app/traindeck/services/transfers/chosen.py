"""The plan of what takes only some of a folder: a move, a removal, taking one back, a copy of chosen names."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from traindeck.domain.errors import AppError, InvalidInput, NotFound
from traindeck.domain.storage.objects import MAX_KEY_BYTES, ObjectPath
from traindeck.domain.texts import text
from traindeck.domain.transfers.records import Action, Item, ItemState, Kind, Order, refusal
from traindeck.services.storage.data_ports import DataPlane, ObjectRow
from traindeck.services.transfers.active import ActiveTransfer
from traindeck.services.transfers.among import markers_among, objects_among
from traindeck.services.transfers.comparing import time_ns
from traindeck.services.transfers.planning import Outline

_BATCH = 1000


@dataclass(frozen=True, slots=True)
class ChosenObjects:
    """An object or, where it ends with a slash or is empty, all below it; and the key that takes its place."""

    key: str
    target: str

    @property
    def is_folder(self) -> bool:
        return not self.key or self.key.endswith("/")


async def plan_chosen(active: ActiveTransfer) -> Outline:
    """Write the plan down; raises AppError where there is nothing to begin with."""
    plane, order = await active.plane(), active.record.order
    if order.rules.undoes:
        return await _plan_undoing(active, plane)
    source, root, pieces = await _pieces(plane, order)
    is_empty = True
    goals = _Goals(order, pieces)
    async for batch in found_of(plane, source, pieces, is_restored=order.kind is Kind.RESTORE):
        is_empty = False
        if order.kind is Kind.COPY:
            items = [goals.checked(_copied(root, row, target), target) for row, target in batch]
        else:
            start = len(source.key)
            items = [_removed(row, row.key[start:]) for row, _ in batch]
        await active.context.journal.plan(active.id, items)
    if is_empty and order.kind is not Kind.RESTORE:
        raise NotFound(
            text("There is nothing at {place}.", place=str(order.remote_source)),
            text("List the folder above it to see what is there."),
        )
    return Outline(str(root if order.kind is Kind.COPY else order.remote_source))


async def _pieces(plane: DataPlane, order: Order) -> tuple[ObjectPath, ObjectPath, list[ChosenObjects]]:
    """What it is about, below which source, and what the names are counted from at the target."""
    source = order.remote_source
    target = order.remote_target if order.kind is Kind.COPY else ObjectPath(source.bucket)
    if order.rules.chosen:
        return source, target.as_folder(), pieces_of(order)
    if not source.is_folder and (order.kind is Kind.RESTORE or await plane.head(source) is not None):
        into = target.join(source.name) if target.is_folder else target
        return source, into, [ChosenObjects(source.key, into.key)]
    source, target = source.as_folder(), target.as_folder()
    return source, target, [ChosenObjects(source.key, target.key)]


def pieces_of(order: Order) -> list[ChosenObjects]:
    """What was chosen, in the order of the keys; of a copy with the keys that take their place."""
    start = order.remote_source.key
    to = order.remote_target.as_folder().key if order.target else ""
    return sorted(
        (ChosenObjects(start + old, to + new) for old, new in order.rules.chosen), key=lambda piece: piece.key
    )


async def found_of(
    plane: DataPlane, source: ObjectPath, pieces: Sequence[ChosenObjects], *, is_restored: bool = False
) -> AsyncIterator[list[tuple[ObjectRow, str]]]:
    """Pages of what is there, each with the key that takes its place."""
    for is_folder, same in groupby(pieces, key=lambda piece: piece.is_folder):
        some = list(same)
        if is_folder:
            for piece in some:
                async for rows in _below(plane, ObjectPath(source.bucket, piece.key), is_restored=is_restored):
                    yield [(row, piece.target + row.key[len(piece.key) :]) for row in rows]
            continue
        for start in range(0, len(some), _BATCH):
            targets = {piece.key: piece.target for piece in some[start : start + _BATCH]}
            there = await _named(plane, source.bucket, list(targets), is_restored=is_restored)
            if there:
                yield [(row, targets[row.key]) for row in there]


async def _below(plane: DataPlane, folder: ObjectPath, *, is_restored: bool) -> AsyncIterator[list[ObjectRow]]:
    marker = version = ""
    while True:
        if is_restored:
            versions = await plane.versions(folder.bucket, folder.key, after=marker, after_version=version)
            rows = [
                ObjectRow(row.key, 0, row.modified, row.id) for row in versions.rows if row.is_latest and row.is_marker
            ]
            marker, version = versions.next_key, versions.next_version
        else:
            page = await plane.page(folder.bucket, folder.key, marker=marker)
            rows, marker = page.rows, page.next_marker
        if rows:
            yield rows
        if not marker:
            return


async def _named(plane: DataPlane, bucket: str, keys: Sequence[str], *, is_restored: bool) -> list[ObjectRow]:
    if is_restored:
        markers = await markers_among(plane, bucket, keys)
        return [ObjectRow(row.key, 0, row.modified, row.id) for row in markers.values()]
    return list((await objects_among(plane, bucket, keys)).values())


async def _plan_undoing(active: ActiveTransfer, plane: DataPlane) -> Outline:
    """What another transfer removed and nobody has put back since."""
    source, after = active.record.order.remote_source, ""
    journal, number = active.context.journal, active.record.order.rules.undoes
    while gone := await journal.items(number, [ItemState.DONE], after=after, most=_BATCH):
        after = gone[-1].key
        names = {item.key: item for item in gone}
        markers = await markers_among(plane, source.bucket, list(names))
        items = [_removed(ObjectRow(key, 0, row.modified, row.id), names[key].name) for key, row in markers.items()]
        await journal.plan(active.id, items)
    return Outline(str(source))


class _Goals:
    """Refuses what would write over, or into, what it is made from."""

    def __init__(self, order: Order, pieces: Sequence[ChosenObjects]) -> None:
        is_one_bucket = order.kind is Kind.COPY and order.remote_source.bucket == order.remote_target.bucket
        self._folders = {piece.key for piece in pieces if piece.is_folder} if is_one_bucket else set()
        self._objects = {piece.key for piece in pieces if not piece.is_folder} if is_one_bucket else set()
        for piece in pieces if is_one_bucket else ():
            if piece.target == piece.key or (piece.is_folder and piece.target.startswith(piece.key)):
                bucket = order.remote_source.bucket
                raise InvalidInput(
                    text(
                        "“{target}” is inside “{source}”.",
                        target=str(ObjectPath(bucket, piece.target)),
                        source=str(ObjectPath(bucket, piece.key)),
                    ),
                    text("Choose a place outside of it."),
                )

    def checked(self, item: Item, target: str) -> Item:
        error: AppError | None = None
        if len(target.encode()) > MAX_KEY_BYTES:
            error = refusal(target, item.size_bytes)
        elif target in self._objects or any(folder in self._folders for folder in _above(target)):
            error = InvalidInput(
                text("“{name}” would land on something that is to be moved or copied itself.", name=target),
                text("Choose another place for it."),
            )
        return replace(item, state=ItemState.FAILED, error=error) if error else item


def _above(key: str) -> list[str]:
    """Every folder that a key lies in, or is."""
    ends = [at + 1 for at, letter in enumerate(key) if letter == "/"]
    return ["", *(key[:end] for end in ends)]


def _copied(root: ObjectPath, row: ObjectRow, target: str) -> Item:
    return Item(row.key, target[len(root.key) :], row.size_bytes, time_ns(row), etag=row.etag)


def _removed(row: ObjectRow, name: str) -> Item:
    return Item(row.key, name, row.size_bytes, time_ns(row), etag=row.etag, action=Action.REMOVE)
