"""What a check has to look at: both sides side by side, and what stands on one of them only."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

from traindeck.domain.errors import Conflict
from traindeck.domain.local_names import LocalNames
from traindeck.domain.objects import ObjectPath
from traindeck.domain.sync_rules import Pair, paired
from traindeck.domain.texts import text
from traindeck.domain.transfers import Item, ItemState, Links, is_remote
from traindeck.services.data_ports import Row
from traindeck.services.transfers.comparing import time_ns
from traindeck.services.transfers.local_tree import LocalEntry
from traindeck.services.transfers.planning import (
    Listed,
    Outline,
    Planner,
    SeenNames,
    entry_of,
    file_name,
    is_file,
    known_entry,
    nothing_at,
    one_row,
    placed,
    rules_of,
    shown_item,
    system_of,
    upload_item,
)


class CheckPlanner(Planner):
    """What the names and sizes tell is decided here; the rest is queued."""

    async def plan(self) -> Outline:
        """Raises AppError when there is nothing to begin with."""
        order = self._order
        if order.is_within_service:
            return await self._plan_remote()
        if is_remote(order.source):
            return await self._plan_down()
        return await self._plan_up()

    async def _plan_up(self) -> Outline:
        source, target = Path(self._order.source), self._order.remote_target
        if await self._disk.run(lambda _: is_file(source)):
            into = target.join(source.name) if target.is_folder else target
            entry, found = await self._disk.run(lambda _: entry_of(source)), await self._plane.head(into)
            pair = Pair(entry, Listed("", one_row(found)) if found else None)
            await self._keep(self._found([pair], into.key))
            return Outline(str(source))
        folder = target.as_folder()
        if self._rules.has_ignore_files:
            self._ignored = await self._disk.run(lambda _: rules_of(source, self._rules.ignore))
        async with aclosing(self._listing(folder)) as listing:
            async for pairs in paired(self._local(source), listing):
                await self._keep(self._found(pairs, folder.key))
        return Outline(str(source), self._has_gaps)

    def _found(self, pairs: Sequence[Pair[LocalEntry, Listed]], prefix: str) -> list[Item]:
        items: list[Item] = []
        for entry, listed in ((pair.left, pair.right) for pair in pairs):
            if entry is None:
                items += self._only_there(listed) if listed else []
            elif not entry.name.endswith("/"):
                item = upload_item(prefix + entry.name, entry)
                row = listed.row if listed else None
                items.append(_compared(item, row) if item.error is None else item)
        return items

    def _only_there(self, listed: Listed) -> list[Item]:
        """The markers of folders are left alone, and names that are ignored."""
        name, row = listed.name, listed.row
        if not self._rules.both_sides or not name or (name.endswith("/") and not row.size_bytes):
            return []
        if self._ignored.leaves_out_below(name):
            return []
        return [Item(row.key, name, row.size_bytes, time_ns(row), etag=row.etag, state=ItemState.MISSING_HERE)]

    async def _plan_down(self) -> Outline:
        source, target = self._order.remote_source, Path(self._order.target)
        if not source.is_folder:
            found = await self._plane.head(source)
            if found is not None:
                into = await self._disk.run(lambda _: target / file_name(source) if target.is_dir() else target)
                await self._keep(await self._beside([(one_row(found), "")], into))
                return Outline(str(into))
            source = source.as_folder()
        system = await self._disk.run(lambda _: system_of(target))
        names, seen, is_empty = LocalNames(system), SeenNames(system), True
        if self._rules.has_ignore_files:
            self._ignored = await self._disk.run(lambda _: rules_of(target, self._rules.ignore))
        async with aclosing(self._listing(source)) as listing:
            async for batch in listing:
                is_empty = False
                wanted = [one for one in batch if one.name and not self._ignored.leaves_out_below(one.name)]
                places = [(one.row, placed(names, one)) for one in wanted]
                for _, place in places:
                    seen.add(place)
                await self._keep(await self._beside([one for one in places if not one[1].endswith("/")], target))
        if is_empty:
            raise nothing_at(str(source))
        if self._rules.both_sides and await self._disk.run(lambda _: target.is_dir()):
            await self._plan_only_here(target, seen)
        return Outline(str(target), self._has_gaps)

    async def _beside(self, places: Sequence[tuple[Row, str]], target: Path) -> list[Item]:
        files = [target / name if name else target for _, name in places]
        entries = await self._disk.run(lambda _: [known_entry(file) for file in files])
        items: list[Item] = []
        for (row, name), entry in zip(places, entries, strict=True):
            item = Item(row.key, name, row.size_bytes, time_ns(row), etag=row.etag)
            if entry is None:
                items.append(replace(item, state=ItemState.MISSING_HERE))
            else:
                items.append(_compared(replace(item, size_bytes=entry.size_bytes), row))
        return items

    async def _plan_only_here(self, target: Path, seen: SeenNames) -> None:
        """Files of this computer, which is the target: no object is called as they are here."""
        async for entries in self._local(target, Links.SKIP):
            items = [
                shown_item(Item(f"file://{one.name}", one.name, one.size_bytes, one.modified_ns, one.inode,
                                state=ItemState.MISSING_THERE))
                for one in entries
                if not (one.problem or one.name.endswith("/") or one.name in seen)
            ]  # fmt: skip
            await self._keep(items)

    async def _plan_remote(self) -> Outline:
        source, target = self._order.remote_source, self._order.remote_target
        if not source.is_folder:
            found = await self._plane.head(source)
            if found is not None:
                into = target.join(source.name) if target.is_folder else target
                other = await self._plane.head(into)
                pair = Pair(Listed("", one_row(found)), Listed("", one_row(other)) if other else None)
                await self._keep(self._both([pair], into))
                return Outline(str(into))
            source = source.as_folder()
        target, is_empty = target.as_folder(), True
        async with aclosing(self._listing(source)) as here, aclosing(self._listing(target)) as there:
            async for pairs in paired(here, there):
                is_empty &= all(pair.left is None for pair in pairs)
                await self._keep(self._both(pairs, target))
        if is_empty:
            raise nothing_at(str(source))
        return Outline(str(target))

    def _both(self, pairs: Sequence[Pair[Listed, Listed]], target: ObjectPath) -> list[Item]:
        items: list[Item] = []
        for left, right in ((pair.left, pair.right) for pair in pairs):
            if left is None:
                # The key of an item is that of its source, and another object of the source may be called so.
                for item in self._only_there(right) if right else []:
                    items.append(replace(item, key=str(ObjectPath(target.bucket, item.key))))
            elif not (self._is_marker(left) or self._ignored.leaves_out_below(left.name)):
                row = left.row
                item = Item(row.key, left.name, row.size_bytes, time_ns(row), etag=row.etag)
                item = _compared(item, right.row if right else None)
                is_same = right is not None and bool(row.etag) and row.etag == right.row.etag
                is_done = is_same and item.state is ItemState.QUEUED
                items.append(replace(item, state=ItemState.DONE, is_verified=True) if is_done else item)
        return items

    @staticmethod
    def _is_marker(listed: Listed) -> bool:
        return listed.name.endswith("/") and not listed.row.size_bytes


def _compared(item: Item, row: Row | None) -> Item:
    """`item` is of the source, or of the file where that is the target."""
    if row is None:
        return replace(item, state=ItemState.MISSING_THERE)
    item = replace(item, etag=row.etag)
    if item.size_bytes != row.size_bytes:
        error = Conflict(
            text("The sizes differ: {one} and {other} bytes.", one=f"{item.size_bytes:,}", other=f"{row.size_bytes:,}"),
            text("Look which of them is the right one, and move it once more."),
        )
        return replace(item, state=ItemState.DIFFERENT, error=error)
    if not item.size_bytes:
        return replace(item, state=ItemState.DONE, is_verified=True)
    return item
