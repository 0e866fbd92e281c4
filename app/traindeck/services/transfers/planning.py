"""From what was asked to the list of what has to be done, without holding either side in memory."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from traindeck.domain.errors import InvalidInput, NotFound
from traindeck.domain.local_names import LocalNames, System, folded
from traindeck.domain.objects import ObjectPath
from traindeck.domain.sync_rules import (
    DATA_IGNORE_FILE,
    IgnoreRules,
    Pair,
    Side,
    Verdict,
    is_same_time,
    local_and_remote,
    paired,
    remote_and_remote,
    too_many_removals,
)
from traindeck.domain.texts import text
from traindeck.domain.transfers import (
    MD5_NAME,
    PART_BYTES_NAME,
    TIME_NAME,
    Action,
    CompareBy,
    Item,
    ItemState,
    Kind,
    Order,
    is_plain_md5,
    refusal,
)
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.platform_files import local_errors
from traindeck.runtime.together import together
from traindeck.services.data_ports import DataPlane, Found, Row
from traindeck.services.transfers.digests import etag_of_parts, file_digests
from traindeck.services.transfers.local_tree import LocalEntry, LocalTree

Keep = Callable[[list[Item]], Awaitable[None]]
"""Takes the next piece of the plan; when it waits, so does the planning."""

_BATCH = 1000
_LOOKS_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Outline:
    """What the engine has to know of a plan besides its items."""

    root: str
    has_gaps: bool = False


@dataclass(slots=True)
class _Listed:
    """An object by its name below the folder that is listed."""

    name: str
    row: Row


class Planner:
    """Makes the plan of one transfer; the same plan again when nothing has changed."""

    def __init__(self, order: Order, plane: DataPlane, disk: BlockingCalls, keep: Keep) -> None:
        self._order = order
        self._rules = order.rules
        self._plane = plane
        self._disk = disk
        self._keep_batch = keep
        self._has_gaps = False
        self._removals = 0
        self._ignored = IgnoreRules(order.rules.ignore)

    async def plan(self) -> Outline:
        """Raises AppError when there is nothing to begin with, or when it would remove more than is allowed."""
        match self._order.kind:
            case Kind.UPLOAD:
                return await self._plan_upload()
            case Kind.DOWNLOAD:
                return await self._plan_download()
            case Kind.COPY:
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
        if await self._disk.run(lambda _: _is_file(source)):
            into = target.join(source.name) if target.is_folder else target
            entry = await self._disk.run(lambda _: _entry_of(source))
            there = await self._plane.head(into) if self._rules.compare else None
            right = _one_row(there) if there else None
            await self._keep([await self._upload_item(into.key, entry, right, source)])
            return Outline(str(source))
        folder = target.as_folder()
        if self._rules.has_ignore_files:
            self._ignored = await self._disk.run(lambda _: _rules_of(source, self._rules.ignore))
        left = self._local(source)
        if not self._rules.compare:
            async for entries in left:
                batch = [await self._upload_item(folder.key + entry.name, entry, None, source) for entry in entries]
                await self._keep(self._wanted(batch))
            return Outline(str(source), self._has_gaps)
        async for pairs in paired(left, self._listing(folder)):
            await self._keep(self._wanted(await self._upload_pairs(pairs, folder, source)))
        return Outline(str(source), self._has_gaps)

    async def _local(self, folder: Path) -> AsyncIterator[list[LocalEntry]]:
        walk = LocalTree(folder, self._ignored, self._rules.links).entries()
        while entries := await self._disk.run(lambda token: _some(walk, token)):
            self._has_gaps |= any(entry.is_gap for entry in entries)
            yield entries

    def _wanted(self, items: Sequence[Item]) -> list[Item]:
        """Markers of folders only where they were asked for."""
        if self._rules.empty_folders:
            return list(items)
        return [item for item in items if item.action is not Action.MAKE_FOLDER]

    async def _upload_pairs(
        self, pairs: Sequence[Pair[LocalEntry, _Listed]], folder: ObjectPath, source: Path
    ) -> list[Item]:
        limit = asyncio.Semaphore(_LOOKS_AT_ONCE)

        async def item(pair: Pair[LocalEntry, _Listed]) -> Item | None:
            if pair.left is None:
                assert pair.right is not None
                return self._removal(pair.right)
            key, right = folder.key + pair.left.name, pair.right.row if pair.right else None
            if right is None or self._is_plain(pair.left, right):
                return await self._upload_item(key, pair.left, right, source)
            async with limit:
                return await self._upload_item(key, pair.left, right, source)

        if all(pair.left is None or pair.right is None or self._is_plain(pair.left, pair.right.row) for pair in pairs):
            found = [await item(pair) for pair in pairs]  # nothing to ask: no tasks are made
        else:
            found = await together(item(pair) for pair in pairs)
        return [one for one in found if one is not None]

    def _is_plain(self, entry: LocalEntry, row: Row) -> bool:
        assert self._rules.compare
        if entry.problem or entry.name.endswith("/"):
            return True
        verdict = local_and_remote(_side(entry), _side_of(row), self._rules.compare, is_upload=True)
        return verdict is not Verdict.LOOK_CLOSER

    async def _upload_item(self, key: str, entry: LocalEntry, right: Row | None, source: Path) -> Item:
        item = Item(
            key, entry.name, entry.size_bytes, entry.modified_ns, entry.inode, entry.mode,
            action=Action.MAKE_FOLDER if entry.name.endswith("/") and not entry.problem else Action.MOVE,
        )  # fmt: skip
        problem = entry.problem or refusal(key, entry.size_bytes)
        if problem:
            state = ItemState.SKIPPED if entry.is_left_out else ItemState.FAILED
            return _shown(replace(item, state=state, error=problem, action=Action.MOVE))
        if right is None or self._rules.compare is None:
            return item
        if item.action is Action.MAKE_FOLDER:
            return replace(item, state=ItemState.EQUAL)
        place = source / entry.name if entry.name else source
        is_equal = await self._is_same(
            place, _side(entry), right, ObjectPath(self._order.remote_target.bucket, key), is_upload=True
        )
        return replace(item, state=ItemState.EQUAL) if is_equal else item

    async def _is_same(self, place: Path, local: Side, row: Row, remote: ObjectPath, *, is_upload: bool) -> bool:
        """Ask the object, or read the file, only where the listing does not tell."""
        by = self._rules.compare
        assert by
        verdict = local_and_remote(local, _side_of(row), by, is_upload=is_upload)
        if verdict is not Verdict.LOOK_CLOSER:
            return verdict is Verdict.EQUAL
        if by is CompareBy.MD5 and is_plain_md5(row.etag):
            found = Found(remote, row.size_bytes, row.etag)
        else:
            head = await self._plane.head(remote)
            if head is None:
                return False
            found = head
        if by is CompareBy.SIZE_AND_TIME:
            kept = time_of(found.metadata)
            return kept is not None and is_same_time(kept, local.modified_ns)
        return await self._disk.run(lambda token: has_content(place, found, token))

    def _removal(self, listed: _Listed) -> Item | None:
        """What stands only at the target; ignored names are left alone there too, and the markers of folders."""
        if not self._rules.delete or listed.name.endswith("/") or not listed.name:
            return None
        if self._ignored.leaves_out_below(listed.name):
            return None
        row = listed.row
        return Item(row.key, listed.name, row.size_bytes, _time_ns(row), etag=row.etag, action=Action.REMOVE)

    # From there to here

    async def _plan_download(self) -> Outline:
        source, target = self._order.remote_source, Path(self._order.target)
        if not source.is_folder:
            found = await self._plane.head(source)
            if found is not None:
                into = await self._disk.run(lambda _: target / _file_name(source) if target.is_dir() else target)
                await self._keep([await self._fetched(_one_row(found), "", into)])
                return Outline(str(into))
            source = source.as_folder()
        system = await self._disk.run(lambda _: system_of(target))
        names, seen = LocalNames(system), _SeenNames(system)
        is_empty = True
        if self._rules.has_ignore_files:
            self._ignored = await self._disk.run(lambda _: _rules_of(target, self._rules.ignore))
        async for batch in self._listing(source):
            is_empty = False
            wanted = [listed for listed in batch if not self._ignored.leaves_out_below(listed.name)]
            placed = [(listed.row, self._placed(names, listed)) for listed in wanted if listed.name]
            for _, place in placed:
                seen.add(place)
            await self._keep(self._wanted(await self._fetched_batch(placed, target)))
        if is_empty and not self._rules.delete:
            raise NotFound(
                text("There is nothing at {place}.", place=str(source)),
                text("List the folder above it to see what is there."),
            )
        if self._rules.delete:
            await self._plan_local_removals(source, target, seen)
        return Outline(str(target), self._has_gaps)

    @staticmethod
    def _placed(names: LocalNames, listed: _Listed) -> str:
        if not listed.name.endswith("/"):
            return names.place(listed.name)
        return names.inside(listed.name) if listed.row.size_bytes else names.place(listed.name) + "/"

    async def _fetched_batch(self, placed: Sequence[tuple[Row, str]], target: Path) -> list[Item]:
        if not self._rules.compare:
            return [_fetch_item(row, place) for row, place in placed]
        entries = await self._disk.run(lambda _: [_known(target / place) for _, place in placed])
        limit = asyncio.Semaphore(_LOOKS_AT_ONCE)

        async def item(row: Row, place: str, entry: LocalEntry | None) -> Item:
            async with limit:
                return await self._fetched(row, place, target / place, entry)

        return await together(item(row, place, entry) for (row, place), entry in zip(placed, entries, strict=True))

    async def _fetched(self, row: Row, name: str, place: Path, entry: LocalEntry | None = None) -> Item:
        item = _fetch_item(row, name)
        if self._rules.compare is None:
            return item
        if entry is None:
            entry = await self._disk.run(lambda _: _known(place))
        if entry is None:
            return item
        if item.action is Action.MAKE_FOLDER:
            return replace(item, state=ItemState.EQUAL)
        remote = ObjectPath(self._order.remote_source.bucket, row.key)
        is_equal = await self._is_same(place, _side(entry), row, remote, is_upload=False)
        return replace(item, state=ItemState.EQUAL) if is_equal else item

    async def _plan_local_removals(self, source: ObjectPath, target: Path, seen: _SeenNames) -> None:
        if not await self._disk.run(lambda _: target.is_dir()):
            return
        async for entries in self._local(target):
            items = [
                Item(source.key + entry.name, entry.name, entry.size_bytes, entry.modified_ns, entry.inode,
                     action=Action.REMOVE)
                for entry in entries
                if not entry.problem and not entry.name.endswith("/") and entry.name not in seen
            ]  # fmt: skip
            await self._keep(items)

    # From there to there

    async def _plan_copy(self) -> Outline:
        source, target = self._order.remote_source, self._order.remote_target
        if not source.is_folder:
            found = await self._plane.head(source)
            if found is not None:
                into = target.join(source.name) if target.is_folder else target
                right = await self._plane.head(into) if self._rules.compare else None
                item = self._copied(_Listed("", _one_row(found)), _Listed("", _one_row(right)) if right else None)
                await self._keep([item])
                return Outline(str(into))
            source = source.as_folder()
        target = target.as_folder()
        if source.bucket == target.bucket and target.key.startswith(source.key):
            raise InvalidInput(
                text("“{target}” is inside “{source}”.", target=str(target), source=str(source)),
                text("Copy into a folder beside it."),
            )
        right_side = self._listing(target) if self._rules.compare else _nothing()
        is_empty = True
        async for pairs in paired(self._listing(source), right_side):
            is_empty &= all(pair.left is None for pair in pairs)
            found_items = [self._copied_pair(pair) for pair in pairs]
            await self._keep([item for item in found_items if item is not None])
        if is_empty and not self._rules.delete:
            raise NotFound(
                text("There is nothing at {place}.", place=str(source)),
                text("List the folder above it to see what is there."),
            )
        return Outline(str(target))

    def _copied_pair(self, pair: Pair[_Listed, _Listed]) -> Item | None:
        if pair.left is None:
            return self._removal(pair.right) if pair.right else None
        if not pair.left.name or self._ignored.leaves_out_below(pair.left.name):
            return None
        return self._copied(pair.left, pair.right)

    def _copied(self, left: _Listed, right: _Listed | None) -> Item:
        row = left.row
        item = Item(row.key, left.name, row.size_bytes, _time_ns(row), etag=row.etag)
        if right is None or self._rules.compare is None:
            return item
        verdict = remote_and_remote(_side_of(row), _side_of(right.row), self._rules.compare)
        return replace(item, state=ItemState.EQUAL) if verdict is Verdict.EQUAL else item

    async def _listing(self, folder: ObjectPath) -> AsyncIterator[list[_Listed]]:
        start, marker = len(folder.key), ""
        while True:
            page = await self._plane.page(folder.bucket, folder.key, marker=marker)
            if page.rows:
                yield [_Listed(row.key[start:], row) for row in page.rows]
            marker = page.next_marker
            if not marker:
                return


async def _nothing() -> AsyncIterator[list[_Listed]]:
    return
    yield []


class _SeenNames:
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


def system_of(target: Path) -> System:
    """What names the place of the target can hold: looked at, for any disk can be mounted anywhere."""
    folds = sys.platform in ("win32", "darwin")
    above = next((place for place in (target, *target.absolute().parents) if place.is_dir()), None)
    # A place that cannot be written to is told later, with the file that fails.
    with suppress(OSError), tempfile.NamedTemporaryFile(prefix=".TrainDeck-", dir=above) as probe:
        there = Path(probe.name)
        folds = there.with_name(there.name.swapcase()).exists()
    return System(is_windows=os.name == "nt", folds_case=folds)


def time_of(metadata: Mapping[str, str]) -> int | None:
    """The time of the file that an object was made from, where whoever sent it wrote it down."""
    kept = metadata.get(TIME_NAME)
    try:
        return None if kept is None else _nanoseconds(kept)
    except ValueError:
        return None


def _nanoseconds(seconds: str) -> int:
    """Without a float between: it would lose the last digits."""
    whole, _, rest = seconds.partition(".")
    return int(whole) * 1_000_000_000 + int((rest + "000000000")[:9])


def has_content(place: Path, found: Found, token: CancelToken) -> bool:
    """Whether a file has the content an object says it has; False also where the object does not say."""
    known = found.metadata.get(MD5_NAME, "") or ("" if found.is_encrypted else found.etag)
    sizes = found.metadata.get(PART_BYTES_NAME, "")
    with local_errors(place):
        if is_plain_md5(known):
            return file_digests(place, token)[0] == known
        if sizes.isdecimal() and int(sizes) > 0 and not found.is_encrypted:
            _, parts = file_digests(place, token, int(sizes))
            return etag_of_parts(parts) == found.etag
    return False


def _some(walk: Iterator[LocalEntry], token: CancelToken) -> list[LocalEntry]:
    token.check()
    with local_errors():
        return list(islice(walk, _BATCH))


def _is_file(source: Path) -> bool:
    with local_errors(source):
        if source.is_file():
            return True
        if not source.is_dir():
            raise NotFound(
                text("“{place}” does not exist.", place=str(source)),
                text("Check the spelling, and whether the file was moved."),
            )
        return False


def _rules_of(folder: Path, more: Sequence[str]) -> IgnoreRules:
    lines: list[str] = []
    with suppress(FileNotFoundError), local_errors(folder):
        lines = (folder / DATA_IGNORE_FILE).read_text(encoding="utf-8", errors="replace").splitlines()
    return IgnoreRules([*lines, *more])


def _entry_of(place: Path) -> LocalEntry:
    with local_errors(place):
        found = place.stat()
    return LocalEntry("", found.st_size, found.st_mtime_ns, found.st_ino, found.st_mode & 0o7777)


def _known(place: Path) -> LocalEntry | None:
    try:
        found = place.stat()
    except OSError:
        return None  # what cannot be looked at cannot be equal; writing will say what is wrong
    return LocalEntry("", found.st_size, found.st_mtime_ns, found.st_ino)


def _fetch_item(row: Row, name: str) -> Item:
    action = Action.MAKE_FOLDER if name.endswith("/") else Action.MOVE
    return Item(row.key, name, row.size_bytes, _time_ns(row), etag=row.etag, action=action)


def _file_name(source: ObjectPath) -> str:
    return LocalNames(System(is_windows=os.name == "nt")).place(source.name)


def _shown(item: Item) -> Item:
    """As the journal can hold it: a name that is no UTF-8 is written out."""
    key, name = (value.encode(errors="backslashreplace").decode() for value in (item.key, item.name))
    return replace(item, key=key, name=name)


def _one_row(found: Found) -> Row:
    return Row(found.path.key, found.size_bytes, found.modified, found.etag, found.storage_class)


def _time_ns(row: Row) -> int:
    return round(row.modified.timestamp() * 1000) * 1_000_000 if row.modified else 0


def _side(entry: LocalEntry) -> Side:
    return Side(entry.size_bytes, entry.modified_ns)


def _side_of(row: Row) -> Side:
    return Side(row.size_bytes, _time_ns(row), row.etag)
