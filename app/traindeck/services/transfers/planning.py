"""From what was asked to the list of what has to be done, without holding either side in memory."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Container, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.domain.errors import InvalidInput, NoRight, NotFound
from traindeck.domain.storage.objects import ObjectPath, ObjectRow, size_words
from traindeck.domain.texts import text
from traindeck.domain.transfers.object_limits import refusal, too_many_parts
from traindeck.domain.transfers.orders import LINK_ENDING, CompareBy, Kind, Links, Order, Rules, is_remote
from traindeck.domain.transfers.records import Action, Item, ItemState, Known
from traindeck.domain.transfers.sync_rules import (
    DATA_IGNORE_FILE,
    Verdict,
    local_and_remote,
    remote_and_remote,
    too_many_removals,
)
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.services.storage.wire.data_plane import DataPlane
from traindeck.services.transfers.comparing import Comparing, Doubt, Sameness, alike_there, item_of, side_of
from traindeck.services.transfers.digests import md5
from traindeck.services.transfers.local_tree import LocalEntry, kept_link
from traindeck.services.transfers.sides import KeyOf, LocalPair, NamedRow, Placed, RemotePair, Sides, known_entry

if TYPE_CHECKING:
    from traindeck.store.transfer_journal import TransferJournal

Keep = Callable[[list[Item]], Awaitable[None]]
"""Takes the next piece of the plan; when it waits, so does the planning."""


_Found = tuple[Item, LocalEntry | None, ObjectRow | None]
"""What would be moved, and both sides of it as far as they are there and looked at."""


@dataclass(frozen=True, slots=True)
class Outline:
    """What the engine has to know of a plan besides its items."""

    root: str
    has_gaps: bool = False


class Planner:
    """Makes the plan of one transfer; the same plan again when nothing has changed."""

    def __init__(
        self, order: Order, plane: DataPlane, disk: BlockingCalls, keep: Keep, journal: TransferJournal | None = None
    ) -> None:
        by, is_check = order.rules.compare, order.kind is Kind.CHECK
        self._order = order
        self._rules = order.rules
        self._disk = disk
        self._keep_batch = keep
        self._removals = 0
        self._sides = Sides(order, plane, disk)
        self._plane = plane
        self._alike: set[str] = set()
        self._comparing = Comparing(order, plane, disk, by, journal) if by else None
        self._looks_there = order.rules.keeps_existing or order.rules.tells_replaced
        self._is_compared = is_check or by is not None or self._looks_there
        self._looks_both_ways = order.rules.both_sides if is_check else order.rules.delete

    async def plan(self) -> Outline:
        """Raises AppError when there is nothing to begin with, or when it would remove more than is allowed."""
        if self._order.is_within_service:
            await self._plan_within()
        elif is_remote(self._order.source):
            await self._plan_down()
        elif self._order.kind is Kind.UPLOAD and self._rules.compares_if_allowed:
            try:
                await self._plan_up()
            except NoRight:
                self._comparing, self._is_compared = None, False
                await self._plan_up()
        else:
            await self._plan_up()
        return Outline(self._sides.root, self._sides.has_gaps)

    async def _keep(self, items: list[Item]) -> None:
        if not items:
            return
        self._removals += sum(item.action is Action.REMOVE for item in items)
        if self._removals > self._rules.max_delete:
            raise too_many_removals(self._removals, self._rules.max_delete)
        await self._keep_batch(items)

    # From here to there

    async def _plan_up(self) -> None:
        is_empty = True
        async with aclosing(self._sides.up(is_compared=self._is_compared)) as found:
            async for pairs, key_of in found:
                is_empty &= all(pair.left is None for pair in pairs)
                await self._keep(await self._uploads(pairs, key_of))
        if is_empty and self._removals:  # more likely a disk that is not there than what was meant
            raise NotFound(
                text("“{place}” is empty, or everything in it is ignored.", place=self._order.source),
                text("Nothing was deleted. Check whether the disk is mounted and the path is correct."),
            )

    async def _uploads(self, pairs: Sequence[LocalPair], key_of: KeyOf) -> list[Item]:
        found: list[_Found] = []
        for pair in pairs:
            entry, right = pair.left, pair.right
            if entry is not None:
                key, is_there = key_of(entry.name), right is not None
                item = upload_item(key, entry, self._rules.part_bytes, is_there=is_there)
                found.append((item, entry, right.row if right and self._is_compared else None))
            elif right is not None and (removal := self._removal(right)) is not None:
                found.append((removal, None, None))
        return await self._wanted(found)

    async def _wanted(self, found: Sequence[_Found]) -> list[Item]:
        """Those that are equal say so; markers of folders only where they were asked for."""
        items: list[Item] = []
        doubts: list[Doubt] = []
        comparing, root = self._comparing, Path(self._sides.root)
        both = [row.key for _, entry, row in found if entry is not None and row is not None]
        known = await comparing.known(root, both) if comparing is not None else {}
        for item, entry, row in found:
            verdict = Verdict.DIFFERENT
            if comparing is not None and row is not None and entry is not None and entry.problem is None:
                if item.action is Action.LINK:
                    verdict = Verdict.EQUAL if is_kept_as(entry, row) else Verdict.DIFFERENT
                elif item.name.endswith("/"):
                    verdict = Verdict.EQUAL
                else:
                    here = Known(entry.size_bytes, entry.modified_ns, entry.inode, row.etag)
                    verdict = local_and_remote(here, row.size_bytes, comparing.by, known.get(row.key))
                    if verdict is Verdict.LOOK_CLOSER:
                        doubts.append(Doubt(len(items), root / item.name if item.name else root, here, row))
            if verdict is Verdict.EQUAL and item.error is None:
                items.append(_equal(item, self._rules.compare))
            else:
                stands = entry is not None if is_remote(self._order.source) else row is not None
                if entry is not None and self._is_edited(entry, known.get(item.key)):
                    items.append(kept(item))
                else:
                    items.append(beside_another(item, self._rules) if stands else item)
        if comparing is not None and doubts:
            await self._settle(comparing, items, doubts)
        with_folders = self._rules.empty_folders
        return [item for item in items if with_folders or item.action is not Action.MAKE_FOLDER]

    def _is_edited(self, entry: LocalEntry, known: Known | None) -> bool:
        """A file that no download left like this: somebody wrote it, and nobody else has it."""
        if not self._rules.keeps_edited:
            return False
        here = (entry.size_bytes, entry.modified_ns, entry.inode)
        return known is None or (known.size_bytes, known.modified_ns, known.inode) != here

    async def _settle(self, comparing: Comparing, items: list[Item], doubts: Sequence[Doubt]) -> None:
        sure: list[Doubt] = []
        for doubt, sameness in zip(doubts, await comparing.looked_at(doubts), strict=True):
            if sameness is not Sameness.NO:
                is_verified = sameness is Sameness.BY_CONTENT
                same = replace(items[doubt.index], state=ItemState.EQUAL, is_verified=is_verified, replaces=False)
                items[doubt.index] = same
                sure += [doubt] if is_verified else []
        await comparing.remember(Path(self._sides.root), sure)

    def _removal(self, listed: NamedRow) -> Item | None:
        """What stands only at the target; ignored names are left alone there too, and the markers of folders."""
        if not self._rules.delete or listed.name.endswith("/"):
            return None
        if self._sides.leaves_out(listed.name):
            return None
        return item_of(listed.row, listed.name, Action.REMOVE)

    # From there to here

    async def _plan_down(self) -> None:
        async with aclosing(self._sides.down()) as found:
            async for placed in found:
                await self._keep([placed] if isinstance(placed, Item) else await self._downloads(placed))
        await self._plan_only_here()

    async def _downloads(self, placed: Sequence[Placed]) -> list[Item]:
        target = Path(self._sides.root)
        places = [target / name if name else target for _, name in placed] if self._is_compared else []
        looks = self._stands_here if self._looks_there else known_entry
        entries = await self._disk.run(lambda _: [looks(place) for place in places]) if places else []
        found: list[_Found] = []
        for (row, name), entry in zip_longest(placed, entries):
            item = item_of(row, name, Action.MAKE_FOLDER if name.endswith("/") else Action.MOVE)
            if self._rules.most_bytes and row.size_bytes > self._rules.most_bytes:
                item = replace(item, state=ItemState.SKIPPED, error=too_large(self._rules.most_bytes))
                found.append((item, None, row))
                continue
            if self._order.is_of_link(row.key):
                item.action = Action.LINK
                place = target / name if name else target
                entry = await self._disk.run(partial(_link_at, place)) if places else None
            found.append((item, entry, row))
        return await self._wanted(found)

    @staticmethod
    def _stands_here(place: Path) -> LocalEntry | None:
        """Also a link that leads nowhere."""
        return known_entry(place) or (LocalEntry("") if os.path.lexists(place) else None)

    async def _plan_only_here(self) -> None:
        """Files of this computer that came from nowhere."""
        target, seen = Path(self._sides.root), self._sides.seen
        if seen is None or not self._looks_both_ways or not await self._disk.run(lambda _: target.is_dir()):
            return
        # What a link leads to is outside the target.
        async for entries in self._sides.local(target, Links.SKIP):
            # No object is called so: one with the name of the file may have to come down under another.
            found = (
                (entry, Item(f"file://{entry.name}", entry.name, entry.size_bytes, entry.modified_ns, entry.inode))
                for entry in entries
                if not (entry.problem or entry.name.endswith("/") or self._sides.system.sign(entry.name) in seen)
            )
            await self._keep([kept for entry, item in found if (kept := self._only_here(entry, item)) is not None])

    def _only_here(self, entry: LocalEntry, item: Item) -> Item | None:
        is_text = entry.name.isascii() or entry.name.encode(errors="replace").decode() == entry.name
        # Without its rules the next sync would remove what they protect.
        is_protected = self._rules.has_ignore_files and entry.name == DATA_IGNORE_FILE
        return replace(item, action=Action.REMOVE) if is_text and not is_protected else None

    # From there to there

    async def _plan_within(self) -> None:
        async with aclosing(self._sides.there(is_compared=self._is_compared)) as found:
            async for pairs in found:
                both = [(pair.left.row, pair.right.row) for pair in pairs if pair.left and pair.right]
                self._alike = await alike_there(self._plane, self._order, both)
                await self._keep(self._copies(pairs))

    def _copies(self, pairs: Sequence[RemotePair]) -> list[Item]:
        return [item for pair in pairs if (item := self._copied(pair)) is not None]

    def _copied(self, pair: RemotePair) -> Item | None:
        left, right = pair.left, pair.right
        if left is None:
            removal = self._removal(right) if right else None
            # The key of an item is that of its source, and another object of the source may be called so.
            target = self._order.remote_target
            return replace(removal, key=str(ObjectPath(target.bucket, removal.key))) if removal else None
        if self._sides.leaves_out(left.name):
            return None
        row = left.row
        item = item_of(row, left.name)
        if problem := too_many_parts(left.name, row.size_bytes, self._rules.part_bytes):
            return replace(item, state=ItemState.FAILED, error=problem)
        return item if right is None else copy_beside(item, row, right.row, self._rules, self._alike)


def _equal(item: Item, by: CompareBy | None) -> Item:
    """What is remembered was MD5's word once; a size is nobody's, but of an empty file it is all."""
    # In place, as it was made for this plan: a million files may be equal, and `replace` costs as much as the rest.
    item.state, item.is_verified = ItemState.EQUAL, by is not CompareBy.SIZE or not item.size_bytes
    return item


def too_large(most_bytes: int) -> InvalidInput:
    return InvalidInput(
        text("The file is larger than {most}.", most=size_words(most_bytes)),
        text("Allow larger files, or download it by itself."),
    )


def kept(item: Item) -> Item:
    """What stands at the target stays."""
    is_open = item.action is not Action.MAKE_FOLDER and item.state is ItemState.QUEUED
    return replace(item, state=ItemState.KEPT) if is_open else item


def copy_beside(item: Item, row: ObjectRow, there: ObjectRow, rules: Rules, alike: Container[str]) -> Item:
    """What becomes of a copy within the service where an object stands at its target; `alike` names equal sources."""
    by, is_open = rules.compare, item.state is ItemState.QUEUED
    if is_open and row.key in alike:
        return replace(item, state=ItemState.EQUAL, is_verified=True)
    if not is_open or by is None or remote_and_remote(side_of(row), side_of(there), by) is not Verdict.EQUAL:
        return beside_another(item, rules)
    return replace(item, state=ItemState.EQUAL, is_verified=bool(row.etag) and row.etag == there.etag)


def beside_another(item: Item, rules: Rules) -> Item:
    """What becomes of an item where another stands at its target."""
    if item.action is Action.MAKE_FOLDER or item.state is not ItemState.QUEUED:
        return item
    return kept(item) if rules.keeps_existing else replace(item, replaces=True)


def is_kept_as(entry: LocalEntry, row: ObjectRow) -> bool:
    """Whether an object says of a link where it leads."""
    content = entry.link.encode(errors="replace")
    return bool(entry.link) and (row.size_bytes, row.etag) == (len(content), md5(content).hexdigest())


def _link_at(place: Path, _: CancelToken) -> LocalEntry | None:
    if place.is_symlink():
        return kept_link(place, "")
    return LocalEntry("") if os.path.lexists(place) else None


def upload_item(key: str, entry: LocalEntry, part_bytes: int = 0, *, is_there: bool = False) -> Item:
    """`is_there`: the service has an object of this name, so it takes the name."""
    problem = entry.problem or (None if is_there else refusal(key, entry.size_bytes))
    problem = problem or too_many_parts(key, entry.size_bytes, part_bytes)
    if problem:
        state = ItemState.SKIPPED if entry.is_left_out else ItemState.FAILED
        return shown_item(Item(key, entry.name, entry.size_bytes, state=state, error=problem))
    action = Action.MAKE_FOLDER if entry.name.endswith("/") else Action.LINK if entry.link else Action.MOVE
    name = entry.name.removesuffix(LINK_ENDING) if entry.link else entry.name
    return Item(key, name, entry.size_bytes, entry.modified_ns, entry.inode, entry.mode, action=action)


def shown_item(item: Item) -> Item:
    """As the journal can hold it: a name that is no UTF-8 is written out."""
    key, name = (value.encode(errors="backslashreplace").decode() for value in (item.key, item.name))
    return replace(item, key=key, name=name)
