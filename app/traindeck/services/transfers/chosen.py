"""The plan of what takes only some of a folder: a move, a removal, taking one back, a copy of chosen names."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from itertools import groupby

from traindeck.domain.errors import AppError, InvalidInput
from traindeck.domain.storage.objects import MAX_KEY_BYTES, ObjectPath, ObjectRow
from traindeck.domain.texts import text
from traindeck.domain.transfers.object_limits import refusal
from traindeck.domain.transfers.orders import Kind, Order
from traindeck.domain.transfers.records import Action, Item, ItemState
from traindeck.domain.transfers.sync_rules import IgnoreRules
from traindeck.services.storage.listing import nothing_there, pages_ahead
from traindeck.services.storage.wire.data_plane import DataPlane
from traindeck.services.transfers.active import ActiveTransfer
from traindeck.services.transfers.among import markers_among, markers_of, objects_among
from traindeck.services.transfers.comparing import alike_there, item_of
from traindeck.services.transfers.planning import Outline, copy_beside

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
    goals, ignored = _Goals(order, pieces), IgnoreRules(order.rules.ignore, order.rules.filters)
    async for batch in _found_of(plane, source, pieces, ignored, is_restored=order.kind is Kind.RESTORE):
        is_empty = False
        if order.kind is Kind.COPY:
            items = [goals.checked(item_of(row, target[len(root.key) :]), target) for row, target in batch]
            if order.rules.keeps_existing or order.rules.tells_replaced or order.rules.compare is not None:
                there = await objects_among(plane, root.bucket, [target for _, target in batch])
                alike = await alike_there(
                    plane, order, [(row, there[target]) for row, target in batch if target in there]
                )
                items = [
                    copy_beside(item, row, there[target], order.rules, alike) if target in there else item
                    for item, (row, target) in zip(items, batch, strict=True)
                ]
        else:
            start = len(source.key)
            items = [item_of(row, row.key[start:], Action.REMOVE) for row, _ in batch]
        await active.engine.journal.plan(active.id, items)
    if is_empty and order.kind is not Kind.RESTORE:
        raise nothing_there(order.remote_source)
    return Outline(str(root if order.kind is Kind.COPY else order.remote_source))


async def _pieces(plane: DataPlane, order: Order) -> tuple[ObjectPath, ObjectPath, list[ChosenObjects]]:
    """What it is about, below which source, and what the names are counted from at the target."""
    source = order.remote_source
    target = order.remote_target if order.kind is Kind.COPY else ObjectPath(source.bucket)
    if order.rules.chosen:
        return source, target.as_folder(), _pieces_of(order)
    if not source.is_folder and (order.kind is Kind.RESTORE or await plane.head(source) is not None):
        into = target.join(source.name) if target.is_folder else target
        return source, into, [ChosenObjects(source.key, into.key)]
    source, target = source.as_folder(), target.as_folder()
    return source, target, [ChosenObjects(source.key, target.key)]


def _pieces_of(order: Order) -> list[ChosenObjects]:
    """What was chosen, in the order of the keys; of a copy with the keys that take their place."""
    start = order.remote_source.key
    to = order.remote_target.as_folder().key if order.target else ""
    return sorted(
        (ChosenObjects(start + old, to + new) for old, new in order.rules.chosen), key=lambda piece: piece.key
    )


async def _found_of(
    plane: DataPlane,
    source: ObjectPath,
    pieces: Sequence[ChosenObjects],
    ignored: IgnoreRules,
    *,
    is_restored: bool = False,
) -> AsyncIterator[list[tuple[ObjectRow, str]]]:
    """Pages of what is there and not left out, each with the key that takes its place."""
    for is_folder, same in groupby(pieces, key=lambda piece: piece.is_folder):
        some = list(same)
        if is_folder:
            for piece in some:
                folder = ObjectPath(source.bucket, piece.key)
                pages = _markers_below(plane, folder) if is_restored else pages_ahead(plane, folder, is_strict=True)
                async with aclosing(pages):
                    async for rows in pages:
                        if rows:
                            named = [(row, row.key[len(piece.key) :]) for row in rows]
                            yield [
                                (row, piece.target + name) for row, name in named if not ignored.leaves_out_below(name)
                            ]
            continue
        for start in range(0, len(some), _BATCH):
            targets = {piece.key: piece.target for piece in some[start : start + _BATCH]}
            there = await (markers_among if is_restored else objects_among)(plane, source.bucket, list(targets))
            if there:
                yield [
                    (row, targets[key])
                    for key, row in there.items()
                    if not ignored.leaves_out_below(key.rpartition("/")[2])
                ]


async def _markers_below(plane: DataPlane, folder: ObjectPath) -> AsyncGenerator[Sequence[ObjectRow], None]:
    async with aclosing(plane.pages_of_versions(folder)) as pages:
        async for rows in pages:
            yield markers_of(rows)


async def _plan_undoing(active: ActiveTransfer, plane: DataPlane) -> Outline:
    """What another transfer removed and nobody has put back since."""
    source, after = active.record.order.remote_source, ""
    journal, number = active.engine.journal, active.record.order.rules.undoes
    while gone := await journal.items(number, [ItemState.DONE], after=after, most=_BATCH):
        after = gone[-1].key
        names = {item.key: item for item in gone}
        markers = await markers_among(plane, source.bucket, list(names))
        items = [item_of(row, names[key].name, Action.REMOVE) for key, row in markers.items()]
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
                    text("Select a path outside of it."),
                )

    def checked(self, item: Item, target: str) -> Item:
        error: AppError | None = None
        if len(target.encode()) > MAX_KEY_BYTES:
            error = refusal(target, item.size_bytes)
        elif target in self._objects or any(folder in self._folders for folder in _above(target)):
            error = InvalidInput(
                text("“{name}” would replace something that is itself to be moved or copied.", name=target),
                text("Select another path for it."),
            )
        return replace(item, state=ItemState.FAILED, error=error) if error else item


def _above(key: str) -> list[str]:
    """Every folder that a key lies in, or is."""
    ends = [at + 1 for at, letter in enumerate(key) if letter == "/"]
    return ["", *(key[:end] for end in ends)]
