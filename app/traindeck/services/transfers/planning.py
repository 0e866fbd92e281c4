"""From what was asked to the list of what has to be done, without holding either side in memory."""

from __future__ import annotations

import os
import sys
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import Path

from traindeck.domain.errors import (
    AccessRefused,
    AppError,
    InvalidInput,
    NoRight,
    NotFound,
    Unexpected,
)
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.domain.transfers.local_names import LocalNames, System, folded
from traindeck.domain.transfers.records import (
    Action,
    CompareBy,
    Item,
    ItemState,
    Kind,
    Known,
    Links,
    Order,
    refusal,
)
from traindeck.domain.transfers.sync_rules import (
    DATA_IGNORE_FILE,
    IgnoreRules,
    Pair,
    Side,
    Verdict,
    local_and_remote,
    paired,
    remote_and_remote,
    too_many_removals,
)
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.files import local_errors
from traindeck.services.storage.data_ports import DataPlane, ObjectHead, ObjectRow
from traindeck.services.storage.listing import pages_ahead
from traindeck.services.transfers.comparing import (
    Comparing,
    Doubt,
    Memory,
    Sameness,
    side_of,
    time_ns,
)
from traindeck.services.transfers.local_tree import LocalEntry, LocalTree

Keep = Callable[[list[Item]], Awaitable[None]]
"""Takes the next piece of the plan; when it waits, so does the planning."""

_BATCH = 1000


@dataclass(frozen=True, slots=True)
class Outline:
    """What the engine has to know of a plan besides its items."""

    root: str
    has_gaps: bool = False


@dataclass(slots=True)
class NamedRow:
    """An object by its name below the folder that is listed."""

    name: str
    row: ObjectRow


class Planner:
    """Makes the plan of one transfer; the same plan again when nothing has changed."""

    def __init__(
        self, order: Order, plane: DataPlane, disk: BlockingCalls, keep: Keep, memory: Memory | None = None
    ) -> None:
        self._order = order
        self._rules = order.rules
        self._plane = plane
        self._disk = disk
        self._keep_batch = keep
        self._has_gaps = False
        self._removals = 0
        self._ignored = IgnoreRules(order.rules.ignore)
        is_upload, by = order.kind is Kind.UPLOAD, order.rules.compare
        self._comparing = Comparing(plane, disk, by, order.remote.bucket, is_upload, memory) if by else None

    async def plan(self) -> Outline:
        """Raises AppError when there is nothing to begin with, or when it would remove more than is allowed."""
        match self._order.kind:
            case Kind.UPLOAD if self._rules.compares_if_allowed:
                try:
                    return await self._plan_upload()
                except NoRight:
                    self._comparing, self._rules = None, replace(self._rules, compare=None)
                    return await self._plan_upload()
            case Kind.UPLOAD:
                return await self._plan_upload()
            case Kind.DOWNLOAD:
                return await self._plan_download()
            case Kind.PACK | Kind.CHECK:
                raise Unexpected("archives and checks are planned in another way")
            case _:
                return await self._plan_copy()

    async def _keep(self, items: list[Item]) -> None:
        if not items:
            return
        self._removals += sum(item.action is Action.REMOVE for item in items)
        if self._removals > self._rules.max_delete:
            raise too_many_removals(self._removals, self._rules.max_delete)
        await self._keep_batch(items)

    # From here to there

    async def _plan_upload(self) -> Outline:
        source, target = Path(self._order.source), self._order.remote_target
        if await self._disk.run(lambda _: is_file(source)):
            into = target.join(source.name) if target.is_folder else target
            entry = await self._disk.run(lambda _: entry_of(source))
            there = await self._plane.head(into) if self._rules.compare else None
            pair = Pair(entry, NamedRow("", one_row(there)) if there else None)
            await self._keep(await self._uploads([pair], into.key.__add__, source))
            return Outline(str(source))
        folder = target.as_folder()
        if self._rules.has_ignore_files:
            self._ignored = await self._disk.run(lambda _: rules_of(source, self._rules.ignore))
        if self._rules.compare:
            is_empty = True
            async with aclosing(self._listing(folder)) as listing:
                async for pairs in paired(self._local(source), listing):
                    is_empty &= all(pair.left is None for pair in pairs)
                    await self._keep(await self._uploads(pairs, folder.key.__add__, source))
            if is_empty and self._removals:  # more likely a disk that is not there than what was meant
                raise NotFound(
                    text("There is nothing at {place}.", place=str(source)),
                    text("Check the spelling, and whether the file was moved."),
                )
        else:
            await self._see_bucket(folder)
            async for entries in self._local(source):
                await self._keep(self._wanted([upload_item(folder.key + entry.name, entry) for entry in entries]))
        return Outline(str(source), self._has_gaps)

    async def _see_bucket(self, folder: ObjectPath) -> None:
        """One that is missing is told once, not of every file; keys that may only write cannot look."""
        with suppress(AccessRefused):
            await self._plane.page(folder.bucket, folder.key, most=1)

    async def _local(self, folder: Path, links: Links | None = None) -> AsyncIterator[list[LocalEntry]]:
        walk = LocalTree(folder, self._ignored, links or self._rules.links).entries()
        while entries := await self._disk.run(lambda token: some_entries(walk, token)):
            self._has_gaps |= any(entry.is_gap for entry in entries)
            yield entries

    def _wanted(self, items: Sequence[Item]) -> list[Item]:
        """Markers of folders only where they were asked for."""
        if self._rules.empty_folders:
            return list(items)
        return [item for item in items if item.action is not Action.MAKE_FOLDER]

    async def _uploads(
        self, pairs: Sequence[Pair[LocalEntry, NamedRow]], key_of: Callable[[str], str], source: Path
    ) -> list[Item]:
        items: list[Item] = []
        doubts: list[Doubt] = []
        both = [key_of(pair.left.name) for pair in pairs if pair.left is not None and pair.right is not None]
        known = await self._comparing.known(source, both) if self._comparing is not None else {}
        for entry, right in ((pair.left, pair.right) for pair in pairs):
            if entry is None:
                removal = self._removal(right) if right else None
                items += [removal] if removal else []
                continue
            verdict, key = Verdict.DIFFERENT, key_of(entry.name)
            if right is not None and self._comparing is not None and entry.problem is None:
                verdict = self._verdict(entry.name, entry, right.row, known)
                if verdict is Verdict.LOOK_CLOSER:
                    place = source / entry.name if entry.name else source
                    doubts.append(Doubt(len(items), place, _side(entry), right.row))
            item = upload_item(key, entry)
            is_equal = verdict is Verdict.EQUAL and item.error is None
            items.append(_equal(item, self._rules.compare) if is_equal else item)
        return self._wanted(await self._without_doubts(items, doubts, source))

    def _verdict(self, name: str, entry: LocalEntry, row: ObjectRow, known: Mapping[str, Known]) -> Verdict:
        if name.endswith("/"):
            return Verdict.EQUAL
        by = self._rules.compare
        assert by is not None
        return local_and_remote(_side(entry), side_of(row), by, known.get(row.key))

    async def _without_doubts(self, items: list[Item], doubts: Sequence[Doubt], root: Path) -> list[Item]:
        if not doubts or self._comparing is None:
            return items
        sure: list[Doubt] = []
        for doubt, sameness in zip(doubts, await self._comparing.looked_at(doubts), strict=True):
            if sameness is not Sameness.NO:
                is_verified = sameness is Sameness.BY_CONTENT
                items[doubt.index] = replace(items[doubt.index], state=ItemState.EQUAL, is_verified=is_verified)
                sure += [doubt] if is_verified else []
        await self._comparing.remember(root, sure)
        return items

    def _removal(self, listed: NamedRow) -> Item | None:
        """What stands only at the target; ignored names are left alone there too, and the markers of folders."""
        if not self._rules.delete or listed.name.endswith("/") or not listed.name:
            return None
        if self._ignored.leaves_out_below(listed.name):
            return None
        row = listed.row
        return Item(row.key, listed.name, row.size_bytes, time_ns(row), etag=row.etag, action=Action.REMOVE)

    # From there to here

    async def _plan_download(self) -> Outline:
        source, target = self._order.remote_source, Path(self._order.target)
        if not source.is_folder:
            found = await self._plane.head(source)
            if found is not None:
                into = await self._disk.run(lambda _: target / file_name(source) if target.is_dir() else target)
                await self._keep(await self._downloads([(one_row(found), "")], into))
                return Outline(str(into))
            source = source.as_folder()
        system = await self._disk.run(lambda _: system_of(target))
        names, seen = LocalNames(system), SeenNames(system)
        is_empty = True
        if self._rules.has_ignore_files:
            self._ignored = await self._disk.run(lambda _: rules_of(target, self._rules.ignore))
        async with aclosing(self._listing(source)) as listing:
            async for batch in listing:
                is_empty = False
                wanted = [listed for listed in batch if not self._ignored.leaves_out_below(listed.name)]
                places = [(listed.row, placed(names, listed)) for listed in wanted if listed.name]
                for _, place in places:
                    seen.add(place)
                await self._keep(await self._downloads(places, target))
        if is_empty:
            raise nothing_at(str(source))
        await self._plan_only_here(target, seen)
        return Outline(str(target), self._has_gaps)

    async def _downloads(self, placed: Sequence[tuple[ObjectRow, str]], target: Path) -> list[Item]:
        comparing = self._comparing
        if comparing is None:
            return self._wanted([_fetch_item(row, place) for row, place in placed])
        places = [target / name if name else target for _, name in placed]
        entries = await self._disk.run(lambda _: [known_entry(place) for place in places])
        items: list[Item] = []
        doubts: list[Doubt] = []
        known = await comparing.known(target, [row.key for row, _ in placed])
        for (row, name), place, entry in zip(placed, places, entries, strict=True):
            verdict = Verdict.DIFFERENT
            if entry is not None:
                verdict = self._verdict(name, entry, row, known)
                if verdict is Verdict.LOOK_CLOSER:
                    doubts.append(Doubt(len(items), place, _side(entry), row))
            item = _fetch_item(row, name)
            items.append(_equal(item, self._rules.compare) if verdict is Verdict.EQUAL else item)
        return self._wanted(await self._without_doubts(items, doubts, target))

    async def _plan_only_here(self, target: Path, seen: SeenNames) -> None:
        """Files of this computer that came from nowhere."""
        if not (self._looks_both_ways and await self._disk.run(lambda _: target.is_dir())):
            return
        # What a link leads to is outside the target.
        async for entries in self._local(target, Links.SKIP):
            # No object is called so: one with the name of the file may have to come down under another.
            found = (
                (entry, Item(f"file://{entry.name}", entry.name, entry.size_bytes, entry.modified_ns, entry.inode))
                for entry in entries
                if not (entry.problem or entry.name.endswith("/") or entry.name in seen)
            )
            await self._keep([kept for entry, item in found if (kept := self._only_here(entry, item)) is not None])

    @property
    def _looks_both_ways(self) -> bool:
        return self._rules.delete

    def _only_here(self, entry: LocalEntry, item: Item) -> Item | None:
        is_text = entry.name.isascii() or entry.name.encode(errors="replace").decode() == entry.name
        # Without its rules the next sync would remove what they protect.
        is_protected = self._rules.has_ignore_files and entry.name == DATA_IGNORE_FILE
        return replace(item, action=Action.REMOVE) if is_text and not is_protected else None

    # From there to there

    async def _plan_copy(self) -> Outline:
        source, target = self._order.remote_source, self._order.remote_target
        if not source.is_folder:
            found = await self._plane.head(source)
            if found is not None:
                into = target.join(source.name) if target.is_folder else target
                right = await self._plane.head(into) if self._rules.compare else None
                item = self._copied(NamedRow("", one_row(found)), NamedRow("", one_row(right)) if right else None)
                await self._keep([item])
                return Outline(str(into))
            source = source.as_folder()
        target = target.as_folder()
        if source.bucket == target.bucket and target.key.startswith(source.key):
            raise InvalidInput(
                text("“{target}” is inside “{source}”.", target=str(target), source=str(source)),
                text("Copy into a folder beside it."),
            )
        if self._rules.delete and source.bucket == target.bucket and source.key.startswith(target.key):
            # What is to be copied stands only at the target, too.
            raise InvalidInput(
                text("“{target}” is inside “{source}”.", target=str(source), source=str(target)),
                text("Copy into a folder beside it."),
            )
        is_empty = True
        async with (
            aclosing(self._listing(source)) as here,
            aclosing(self._listing(target) if self._rules.compare else _nothing()) as there,
        ):
            async for pairs in paired(here, there):
                is_empty &= all(pair.left is None for pair in pairs)
                found_items = [self._copied_pair(pair) for pair in pairs]
                await self._keep([item for item in found_items if item is not None])
        if is_empty:
            raise nothing_at(str(source))
        return Outline(str(target))

    def _copied_pair(self, pair: Pair[NamedRow, NamedRow]) -> Item | None:
        if pair.left is None:
            removal = self._removal(pair.right) if pair.right else None
            # The key of an item is that of its source, and another object of the source may be called so.
            target = self._order.remote_target
            return replace(removal, key=str(ObjectPath(target.bucket, removal.key))) if removal else None
        if not pair.left.name or self._ignored.leaves_out_below(pair.left.name):
            return None
        return self._copied(pair.left, pair.right)

    def _copied(self, left: NamedRow, right: NamedRow | None) -> Item:
        row = left.row
        item = Item(row.key, left.name, row.size_bytes, time_ns(row), etag=row.etag)
        if right is None or self._rules.compare is None:
            return item
        verdict = remote_and_remote(side_of(row), side_of(right.row), self._rules.compare)
        if verdict is not Verdict.EQUAL:
            return item
        return replace(item, state=ItemState.EQUAL, is_verified=bool(row.etag) and row.etag == right.row.etag)

    async def _listing(self, folder: ObjectPath) -> AsyncGenerator[list[NamedRow], None]:
        start, last = len(folder.key), ""
        async with aclosing(pages_ahead(self._plane, folder, is_strict=self._rules.delete)) as pages:
            async for rows in pages:
                if self._rules.delete:
                    _check_order([last, *(row.key for row in rows)])
                if rows:
                    last = rows[-1].key
                    yield [NamedRow(row.key[start:], row) for row in rows]


def _check_order(keys: Sequence[str]) -> None:
    """What stands on both sides is found by the order of names; without it, it would be removed."""
    for before, key in pairwise(keys):
        if key <= before:
            raise Unexpected(f"{key!a} is listed after {before!a}")


async def _nothing() -> AsyncGenerator[list[NamedRow], None]:
    return
    yield []


class SeenNames:
    """Which files the target should have; hashes are enough: two that agree spare a file, they never cost one."""

    def __init__(self, system: System) -> None:
        self._folds = system.folds_case
        self._hashes: set[int] = set()

    def add(self, name: str) -> None:
        self._hashes.add(self._hash(name))

    def __contains__(self, name: str) -> bool:
        return self._hash(name) in self._hashes

    def _hash(self, name: str) -> int:
        return hash(folded(name) if self._folds else name)


def placed(names: LocalNames, listed: NamedRow) -> str:
    """Where an object stands below a folder of this computer; a marker of a folder ends with a slash."""
    if not listed.name.endswith("/"):
        return names.place(listed.name)
    return names.inside(listed.name) if listed.row.size_bytes else names.place(listed.name) + "/"


def nothing_at(place: str) -> AppError:
    return NotFound(
        text("There is nothing at {place}.", place=place),
        text("List the folder above it to see what is there."),
    )


def system_of(target: Path) -> System:
    """What names the place of the target can hold: looked at, for any disk can be mounted anywhere."""
    import tempfile  # only a download needs it

    folds = sys.platform in ("win32", "darwin")
    above = next((place for place in (target, *target.absolute().parents) if place.is_dir()), None)
    # A place that cannot be written to is told later, with the file that fails.
    with suppress(OSError), tempfile.NamedTemporaryFile(prefix=".TrainDeck-", dir=above) as probe:
        there = Path(probe.name)
        folds = there.with_name(there.name.swapcase()).exists()
    return System(is_windows=os.name == "nt", folds_case=folds)


def some_entries(walk: Iterator[LocalEntry], token: CancelToken) -> list[LocalEntry]:
    token.check()
    with local_errors():
        return list(islice(walk, _BATCH))


def is_file(source: Path) -> bool:
    with local_errors(source):
        if source.is_file():
            return True
        if not source.is_dir():
            raise NotFound(
                text("“{place}” does not exist.", place=str(source)),
                text("Check the spelling, and whether the file was moved."),
            )
        return False


def rules_of(folder: Path, more: Sequence[str]) -> IgnoreRules:
    lines: list[str] = []
    with local_errors(folder), suppress(FileNotFoundError):
        lines = (folder / DATA_IGNORE_FILE).read_text(encoding="utf-8", errors="replace").splitlines()
    return IgnoreRules([*lines, *more])


def entry_of(place: Path) -> LocalEntry:
    with local_errors(place):
        found = place.stat()
    return LocalEntry("", found.st_size, found.st_mtime_ns, found.st_ino, found.st_mode & 0o7777)


def known_entry(place: Path) -> LocalEntry | None:
    try:
        found = place.stat()
    except OSError:
        return None  # what cannot be looked at cannot be equal; writing will say what is wrong
    return LocalEntry("", found.st_size, found.st_mtime_ns, found.st_ino)


def _equal(item: Item, by: CompareBy | None) -> Item:
    """What is remembered was MD5's word once; a size is nobody's, but of an empty file it is all."""
    is_verified = by is not CompareBy.SIZE or not item.size_bytes
    return replace(item, state=ItemState.EQUAL, is_verified=is_verified)


def upload_item(key: str, entry: LocalEntry) -> Item:
    problem = entry.problem or refusal(key, entry.size_bytes)
    if problem:
        state = ItemState.SKIPPED if entry.is_left_out else ItemState.FAILED
        return shown_item(Item(key, entry.name, entry.size_bytes, state=state, error=problem))
    return Item(
        key,
        entry.name,
        entry.size_bytes,
        entry.modified_ns,
        entry.inode,
        entry.mode,
        action=Action.MAKE_FOLDER if entry.name.endswith("/") else Action.MOVE,
    )


def _fetch_item(row: ObjectRow, name: str) -> Item:
    action = Action.MAKE_FOLDER if name.endswith("/") else Action.MOVE
    return Item(row.key, name, row.size_bytes, time_ns(row), etag=row.etag, action=action)


def file_name(source: ObjectPath) -> str:
    return LocalNames(System(is_windows=os.name == "nt")).place(source.name)


def shown_item(item: Item) -> Item:
    """As the journal can hold it: a name that is no UTF-8 is written out."""
    key, name = (value.encode(errors="backslashreplace").decode() for value in (item.key, item.name))
    return replace(item, key=key, name=name)


def one_row(found: ObjectHead) -> ObjectRow:
    return ObjectRow(found.path.key, found.size_bytes, found.modified, found.etag, found.storage_class)


def _side(entry: LocalEntry) -> Side:
    return Side(entry.size_bytes, entry.modified_ns, inode=entry.inode)
