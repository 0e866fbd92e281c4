"""From a folder to the list of archives it becomes; only the one that is being filled is in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.domain.errors import (
    AppError,
    Conflict,
    InvalidInput,
    LocalTrouble,
    NoRight,
    NotFound,
    Occupied,
)
from traindeck.domain.storage.objects import ObjectPath, ObjectRow
from traindeck.domain.texts import count_text, text
from traindeck.domain.transfers.object_limits import MOST_OBJECT_BYTES, refusal
from traindeck.domain.transfers.orders import Order, is_remote
from traindeck.domain.transfers.packing import (
    INDEX_NAME,
    LEAST_SHARD_BYTES,
    MOST_SHARDS,
    SUMMARY_NAME,
    Cutter,
    Member,
    ShardFacts,
    ShardLayout,
    facts_of,
    is_safe_path,
    names_of,
    shard_name,
    shard_number,
    written,
)
from traindeck.domain.transfers.records import PROBLEM_SCHEME, Action, Item, ItemState
from traindeck.domain.transfers.sync_rules import IgnoreRules
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.files import local_errors, not_a_folder
from traindeck.services.storage.listing import pages_ahead
from traindeck.services.storage.wire.data_plane import DataPlane
from traindeck.services.transfers.comparing import time_ns
from traindeck.services.transfers.digests import md5
from traindeck.services.transfers.ignore_files import lines_there, rules_of
from traindeck.services.transfers.local_tree import LocalEntry, LocalTree
from traindeck.services.transfers.packing.shard_source import fingerprint
from traindeck.services.transfers.packing.unpacking import PackedBucket, PackedFolder, PackedPlace
from traindeck.services.transfers.planning import Outline, shown_item
from traindeck.services.transfers.sides import some_entries

if TYPE_CHECKING:
    from traindeck.services.storage.wire.data_plane import DataPlane
    from traindeck.store.transfer_journal import TransferJournal

_PAGE = 1000


@dataclass(frozen=True, slots=True)
class _Shard:
    """One archive to be made."""

    size_bytes: int
    content: bytes  # as the journal keeps it
    names_md5: str

    @classmethod
    def of(cls, members: list[Member]) -> _Shard:
        return cls(ShardLayout(members).size_bytes, written(members), md5(names_of(members)).hexdigest())


@dataclass(slots=True)
class PackPlanner:
    """Makes the plan of one packing; the same plan again when nothing has changed."""

    transfer_id: int
    order: Order
    plane: Callable[[], Awaitable[DataPlane]]
    disk: BlockingCalls
    journal: TransferJournal
    has_begun: bool  # what is at the target may be from an earlier try of the same transfer
    _shards: list[ShardFacts] = field(default_factory=list)
    _broken: int = 0
    _first: Item | None = None

    async def plan(self) -> Outline:
        """Raises AppError when there is nothing to pack, or something that cannot be and may not be left out."""
        if self.order.rules.shard_bytes < LEAST_SHARD_BYTES or self.order.rules.shard_files < 1:
            raise InvalidInput(
                text("The shard size is too small."), text("Specify at least 64 KiB, and at least one file for each.")
            )
        self._check_places()
        await self.journal.forget_problems(self.transfer_id)
        cutter = Cutter(self.order.rules.shard_bytes, self.order.rules.shard_files)
        with_folders = self.order.rules.empty_folders
        found = self._objects() if is_remote(self.order.source) else self._files()
        async for some in found:
            await self._keep_problems([one for one in some if isinstance(one, LocalEntry)])
            members = [one for one in some if isinstance(one, Member) and (with_folders or not one.is_folder)]
            await self._keep_shards(await self.disk.run(partial(_cut, cutter, members)))
        await self._keep_shards(await self.disk.run(lambda _: [_Shard.of(shard) for shard in cutter.rest()]))
        if self._first is not None and self._first.error is not None:
            first = self._first.error
            raise LocalTrouble(
                count_text(
                    "{count} file cannot be packed: {file}: {words}",
                    "{count} files cannot be packed. The first, {file}: {words}",
                    self._broken,
                    file=self._first.name,
                    words=first.title,
                ),
                text("Nothing was uploaded. Repair the files, or skip them (--skip-unreadable on the command line)."),
                first.detail,
            )
        if not self._shards:
            raise NotFound(
                text("{place} contains no files to pack.", place=self.order.source),
                text("Check the folder, and the rules that exclude files."),
            )
        await self._check_target()
        await self._forget_rest()
        return Outline(self.order.target if is_remote(self.order.source) else self.order.source)

    def _check_places(self) -> None:
        """A target below the source would be packed into itself the next time."""
        order = self.order
        problem = refusal(self._key(shard_name(0)), 0) if is_remote(order.target) else None
        if problem is not None:
            raise problem
        if is_remote(order.source) != is_remote(order.target):
            return
        if is_remote(order.source):
            source, target = order.remote_source.as_folder(), order.remote_target.as_folder()
            is_inside = source.bucket == target.bucket and target.key.startswith(source.key)
        else:
            is_inside = Path(order.target).is_relative_to(order.source)
        if is_inside:
            raise InvalidInput(
                text("“{target}” is inside “{source}”.", target=order.target, source=order.source),
                text("Pack into a folder next to it."),
            )

    # What there is

    async def _files(self) -> AsyncIterator[list[Member | LocalEntry]]:
        folder = Path(self.order.source)
        await self.disk.run(lambda _: _check_folder(folder))
        rules = self.order.rules
        ignored = IgnoreRules(rules.ignore, rules.filters)
        if rules.has_ignore_files:
            ignored = await self.disk.run(lambda _: rules_of(folder, rules.ignore, rules.filters))
        walk = LocalTree(folder, ignored, self.order.rules.links).entries()
        while entries := await self.disk.run(lambda token: some_entries(walk, token)):
            yield [_sorted_out(entry) for entry in entries]

    async def _objects(self) -> AsyncIterator[list[Member | LocalEntry]]:
        rules, folder, plane = self.order.rules, self.order.remote_source.as_folder(), await self.plane()
        lines = await lines_there(plane, folder) if rules.has_ignore_files else []
        ignored = await self.disk.run(lambda _: IgnoreRules([*lines, *rules.ignore], rules.filters))
        async with aclosing(pages_ahead(plane, folder)) as pages:
            async for rows in pages:
                named = [(row.key[len(folder.key) :], row) for row in rows]
                yield [
                    _sorted_out_there(name, row)
                    for name, row in named
                    if name and not ignored.leaves_out_below(name) and (row.size_bytes or _is_fit_as_folder(name))
                ]

    # What is kept

    async def _keep_problems(self, problems: Iterable[LocalEntry]) -> None:
        items: list[Item] = []
        for entry in problems:
            is_skipped = entry.is_left_out or self.order.rules.skip_unreadable
            state = ItemState.SKIPPED if is_skipped else ItemState.FAILED
            problem = Item(PROBLEM_SCHEME + entry.name, entry.name, entry.size_bytes, state=state, error=entry.problem)
            items.append(shown_item(problem))
            if not is_skipped:
                self._broken += 1
                self._first = self._first or items[-1]
        if items:
            await self.journal.plan(self.transfer_id, items)

    async def _keep_shards(self, shards: Iterable[_Shard]) -> None:
        # Written first: an item without its list could not be made.
        items: list[Item] = []
        for shard in shards:
            if len(self._shards) >= MOST_SHARDS:
                raise InvalidInput(
                    text("That would be more than {most} shards.", most=f"{MOST_SHARDS:,}"),
                    text("Specify a larger shard size."),
                )
            name = shard_name(len(self._shards))
            await self.journal.keep_shard(self.transfer_id, self._key(name), shard.content)
            items.append(Item(self._key(name), name, shard.size_bytes, inode=fingerprint(shard.content)))
            self._shards.append(ShardFacts(name, shard.size_bytes, shard.names_md5))
        if items:
            await self.journal.plan(self.transfer_id, items)

    def _key(self, name: str) -> str:
        return target_key(self.order, name)

    # What is at the target already

    async def _check_target(self) -> None:
        """Shards of another, larger packing would be read together with these."""
        target, count = self.order.target, len(self._shards)
        others: list[str] = []
        async for name, size_bytes in self._there():
            number = shard_number(name)
            if number is not None and number >= count:
                raise Conflict(
                    text("{target} contains shards of another pack: {name}.", target=target, name=name),
                    text("Delete them, or pack into another folder."),
                )
            if number is not None and size_bytes != self._shards[number].size_bytes:
                others.append(name)
        if self.order.rules.may_replace or self.has_begun:
            return
        if not others and await self._is_described_otherwise():
            others.append(INDEX_NAME)
        if others:
            raise Occupied(
                text(
                    "{target} contains a pack of other files. {name} would be replaced.",
                    target=target,
                    name=others[0],
                ),
                text("Pack into another folder, or allow replacing it."),
            )

    async def _there(self) -> AsyncIterator[tuple[str, int]]:
        if is_remote(self.order.target):
            folder = self.order.remote_target.as_folder()
            with suppress(NoRight):  # keys that may only write cannot look
                shards = ObjectPath(folder.bucket, f"{folder.key}shard-")
                async with aclosing(pages_ahead(await self.plane(), shards)) as pages:
                    async for rows in pages:
                        for row in rows:
                            yield row.key[len(folder.key) :], row.size_bytes
            return
        for name, size_bytes in await self.disk.run(lambda _: _shards_in(Path(self.order.target))):
            yield name, size_bytes

    async def _is_described_otherwise(self) -> bool:
        """Whether an index that is there tells of other files than these."""
        place: PackedPlace = PackedFolder(Path(self.order.target), self.disk)
        if is_remote(self.order.target):
            place = PackedBucket(self.order.remote_target.as_folder(), self.disk, await self.plane())
        try:
            is_there = any([await place.found(name) for name in (INDEX_NAME, SUMMARY_NAME)])
            summary = await place.summary() if is_there else None
        except NoRight:
            return False  # keys that may only write cannot look
        return is_there and (summary is None or facts_of(summary) != self._shards)

    async def _forget_rest(self) -> None:
        """Shards that an earlier planning found, when there were more files."""
        after = self._key(self._shards[-1].name)
        while items := await self.journal.items(self.transfer_id, after=after, most=_PAGE):
            after = items[-1].key
            stale = [item for item in items if item.action is Action.MOVE and shard_number(item.name) is not None]
            for item in stale:
                if item.upload_id:
                    target = ObjectPath(self.order.remote_target.bucket, item.key)
                    await (await self.plane()).abort_upload(target, item.upload_id)
            await self.journal.forget_items(self.transfer_id, [item.key for item in stale])


def target_key(order: Order, name: str) -> str:
    """What an object of a packing is called in the journal: its key, or the name of its file."""
    return order.remote_target.as_folder().key + name if is_remote(order.target) else name


def _cut(cutter: Cutter, members: Iterable[Member], _: CancelToken) -> list[_Shard]:
    return [_Shard.of(shard) for member in members for shard in cutter.add(member)]


def _sorted_out(entry: LocalEntry, etag: str = "") -> Member | LocalEntry:
    """What goes into an archive; what does not, says why."""
    problem = entry.problem or _unfit(entry.name, entry.size_bytes)
    if problem is not None:
        return replace(entry, problem=problem)
    return Member(entry.name, entry.size_bytes, entry.modified_ns, entry.inode, etag)


def _sorted_out_there(name: str, row: ObjectRow) -> Member | LocalEntry:
    is_folder = name.endswith("/")
    problem = _unsafe(name) if is_folder and row.size_bytes else None
    return _sorted_out(LocalEntry(name, row.size_bytes, time_ns(row), problem=problem), "" if is_folder else row.etag)


def _is_fit_as_folder(name: str) -> bool:
    """A marker that is not is no file either, and nobody misses it."""
    return not name.endswith("/") or is_safe_path(name)


def _check_folder(folder: Path) -> None:
    with local_errors(folder):
        folder.stat()
        if not folder.is_dir():
            raise not_a_folder(folder)


def _shards_in(folder: Path) -> list[tuple[str, int]]:
    if not folder.is_dir():
        return []
    with local_errors(folder):
        places = sorted(place for place in folder.iterdir() if shard_number(place.name) is not None)
        return [(place.name, place.stat().st_size) for place in places]


def _unfit(name: str, size_bytes: int) -> AppError | None:
    if size_bytes > MOST_OBJECT_BYTES:
        return refusal(name, size_bytes)
    try:
        name.encode()
    except UnicodeEncodeError:
        return refusal(name, size_bytes)
    return None if is_safe_path(name) else _unsafe(name)


def _unsafe(name: str) -> AppError:
    return InvalidInput(
        text("“{name}” cannot be used as a file name.", name=name),
        text("Rename the object; unpacked, it would stand outside its folder, or be a folder and a file at once."),
    )
