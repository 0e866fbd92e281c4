"""From a folder to the list of archives it becomes; only the one that is being filled is in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
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
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
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
from traindeck.domain.transfers.records import (
    MOST_OBJECT_BYTES,
    PROBLEM_SCHEME,
    Action,
    Item,
    ItemState,
    Order,
    is_remote,
    refusal,
)
from traindeck.domain.transfers.sync_rules import IgnoreRules
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.files import local_errors, not_a_folder
from traindeck.services.storage.data_ports import DataPlane, ObjectRow
from traindeck.services.transfers.comparing import time_ns
from traindeck.services.transfers.digests import md5
from traindeck.services.transfers.local_tree import LocalEntry, LocalTree
from traindeck.services.transfers.packing.shard_source import fingerprint
from traindeck.services.transfers.packing.unpacking import PackedBucket, PackedFolder
from traindeck.services.transfers.planning import Outline, rules_of, some_entries

if TYPE_CHECKING:
    from traindeck.store.transfer_journal import TransferJournal

_PAGE = 1000


@dataclass(frozen=True, slots=True)
class _Problem:
    """A file that goes into no archive."""

    name: str
    size_bytes: int
    error: AppError
    is_left_out: bool  # by a rule, not for being broken


@dataclass(frozen=True, slots=True)
class _Shard:
    """One archive to be made."""

    size_bytes: int
    content: bytes  # as the journal keeps it
    names_md5: str

    @classmethod
    def of(cls, members: list[Member]) -> _Shard:
        return cls(ShardLayout(members).size_bytes, written(members), md5(names_of(members)).hexdigest())


class PackPlanner:
    """Makes the plan of one packing; the same plan again when nothing has changed."""

    def __init__(
        self,
        transfer_id: int,
        order: Order,
        plane: Callable[[], Awaitable[DataPlane]],
        disk: BlockingCalls,
        journal: TransferJournal,
        *,
        has_begun: bool = False,
    ) -> None:
        """`has_begun`: what is at the target may be from an earlier try of the same transfer."""
        self._id = transfer_id
        self._order = order
        self._rules = order.rules
        self._plane = plane
        self._disk = disk
        self._journal = journal
        self._has_begun = has_begun
        self._shards: list[ShardFacts] = []
        self._broken = 0
        self._first: _Problem | None = None

    async def plan(self) -> Outline:
        """Raises AppError when there is nothing to pack, or something that cannot be and may not be left out."""
        self._check_sizes()
        self._check_places()
        await self._journal.forget_problems(self._id)
        cutter = Cutter(self._rules.shard_bytes, self._rules.shard_files)
        found = self._objects() if is_remote(self._order.source) else self._files()
        async for members, problems in found:
            await self._keep_problems(problems)
            await self._keep_shards(await self._disk.run(partial(_cut, cutter, members)))
        await self._keep_shards(await self._disk.run(lambda _: [_Shard.of(shard) for shard in cutter.rest()]))
        if self._first is not None:
            raise _not_packed(self._broken, self._first)
        if not self._shards:
            raise NotFound(
                text("There are no files in {place} that could be packed.", place=self._order.source),
                text("Look into the folder, and at the rules that leave files out."),
            )
        await self._check_target()
        await self._forget_rest()
        return Outline(self._order.target if is_remote(self._order.source) else self._order.source)

    def _check_sizes(self) -> None:
        if self._rules.shard_bytes < LEAST_SHARD_BYTES or self._rules.shard_files < 1:
            raise InvalidInput(
                text("A shard cannot be so small."), text("Give at least 64 KiB, and at least one file for each.")
            )

    def _check_places(self) -> None:
        """A target below the source would be packed into itself the next time."""
        order = self._order
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
                text("Pack into a folder beside it."),
            )

    # What there is

    async def _files(self) -> AsyncIterator[tuple[list[Member], list[_Problem]]]:
        folder = Path(self._order.source)
        await self._disk.run(lambda _: _check_folder(folder))
        ignored = IgnoreRules(self._rules.ignore)
        if self._rules.has_ignore_files:
            ignored = await self._disk.run(lambda _: rules_of(folder, self._rules.ignore))
        walk = LocalTree(folder, ignored, self._rules.links).entries()
        while entries := await self._disk.run(lambda token: some_entries(walk, token)):
            yield self._sorted_out(entries)

    def _sorted_out(self, entries: Iterable[LocalEntry]) -> tuple[list[Member], list[_Problem]]:
        members: list[Member] = []
        problems: list[_Problem] = []
        for entry in entries:
            problem = entry.problem or _unfit(entry.name, entry.size_bytes)
            if problem is not None:
                problems.append(_Problem(entry.name, entry.size_bytes, problem, entry.is_left_out))
            elif not entry.name.endswith("/") or self._rules.empty_folders:
                members.append(Member(entry.name, entry.size_bytes, entry.modified_ns, entry.inode))
        return members, problems

    async def _objects(self) -> AsyncIterator[tuple[list[Member], list[_Problem]]]:
        folder, ignored = self._order.remote_source.as_folder(), IgnoreRules(self._rules.ignore)
        async for rows in self._listing(folder.bucket, folder.key):
            named = [(row.key[len(folder.key) :], row) for row in rows]
            yield self._fetched([pair for pair in named if pair[0] and not ignored.leaves_out_below(pair[0])])

    async def _listing(self, bucket: str, prefix: str, marker: str = "") -> AsyncIterator[list[ObjectRow]]:
        plane = await self._plane()
        while True:
            page = await plane.page(bucket, prefix, marker=marker)
            yield page.rows
            marker = page.next_marker
            if not marker:
                return

    def _fetched(self, named: Iterable[tuple[str, ObjectRow]]) -> tuple[list[Member], list[_Problem]]:
        members: list[Member] = []
        problems: list[_Problem] = []
        for name, row in named:
            if name.endswith("/") and not row.size_bytes:
                if self._rules.empty_folders and is_safe_path(name):
                    members.append(Member(name, 0, time_ns(row)))
                continue
            problem = _unfit(name, row.size_bytes) if not name.endswith("/") else _unsafe(name)
            if problem is not None:
                problems.append(_Problem(name, row.size_bytes, problem, is_left_out=False))
            else:
                members.append(Member(name, row.size_bytes, time_ns(row), etag=row.etag))
        return members, problems

    # What is kept

    async def _keep_problems(self, problems: Iterable[_Problem]) -> None:
        items: list[Item] = []
        for problem in problems:
            is_skipped = problem.is_left_out or self._rules.skip_unreadable
            if not is_skipped:
                self._broken += 1
                self._first = self._first or problem
            state = ItemState.SKIPPED if is_skipped else ItemState.FAILED
            name = problem.name.encode(errors="backslashreplace").decode()
            items.append(Item(PROBLEM_SCHEME + name, name, problem.size_bytes, state=state, error=problem.error))
        if items:
            await self._journal.plan(self._id, items)

    async def _keep_shards(self, shards: Iterable[_Shard]) -> None:
        # Written first: an item without its list could not be made.
        items: list[Item] = []
        for shard in shards:
            if len(self._shards) >= MOST_SHARDS:
                raise InvalidInput(
                    text("That would be more than {most} shards.", most=f"{MOST_SHARDS:,}"),
                    text("Let each be larger."),
                )
            name = shard_name(len(self._shards))
            await self._journal.keep_shard(self._id, self._key(name), shard.content)
            items.append(Item(self._key(name), name, shard.size_bytes, inode=fingerprint(shard.content)))
            self._shards.append(ShardFacts(name, shard.size_bytes, shard.names_md5))
        if items:
            await self._journal.plan(self._id, items)

    def _key(self, name: str) -> str:
        return target_key(self._order, name)

    # What is at the target already

    async def _check_target(self) -> None:
        """Shards of another, larger packing would be read together with these."""
        target, count = self._order.target, len(self._shards)
        others: list[str] = []
        async for name, size_bytes in self._there():
            number = shard_number(name)
            if number is not None and number >= count:
                raise Conflict(
                    text("There are shards of another packing at {target}: {name}.", target=target, name=name),
                    text("Remove them, or pack into another folder."),
                )
            if number is not None and size_bytes != self._shards[number].size_bytes:
                others.append(name)
        if self._rules.may_replace or self._has_begun:
            return
        if not others and await self._is_described_otherwise():
            others.append(INDEX_NAME)
        if others:
            raise Occupied(
                text(
                    "There is a packing of other files at {target}; {name} would be replaced.",
                    target=target,
                    name=others[0],
                ),
                text("Pack into another folder, or say that it may be replaced."),
            )

    async def _there(self) -> AsyncIterator[tuple[str, int]]:
        if is_remote(self._order.target):
            folder = self._order.remote_target.as_folder()
            with suppress(NoRight):  # keys that may only write cannot look
                async for rows in self._listing(folder.bucket, f"{folder.key}shard-"):
                    for row in rows:
                        yield row.key[len(folder.key) :], row.size_bytes
            return
        for name, size_bytes in await self._disk.run(lambda _: _shards_in(Path(self._order.target))):
            yield name, size_bytes

    async def _is_described_otherwise(self) -> bool:
        """Whether an index that is there tells of other files than these."""
        if is_remote(self._order.target):
            plane, folder = await self._plane(), self._order.remote_target.as_folder()
            try:
                found = [await plane.head(folder.join(name)) for name in (INDEX_NAME, SUMMARY_NAME)]
                summary = await PackedBucket(folder, plane, self._disk).summary() if any(found) else None
            except NoRight:
                return False  # keys that may only write cannot look
            is_there = any(found)
        else:
            here = Path(self._order.target)
            names = (INDEX_NAME, SUMMARY_NAME)
            is_there = await self._disk.run(lambda _: any((here / name).exists() for name in names))
            summary = await PackedFolder(here, self._disk).summary() if is_there else None
        return is_there and (summary is None or facts_of(summary) != self._shards)

    async def _forget_rest(self) -> None:
        """Shards that an earlier planning found, when there were more files."""
        after = self._key(self._shards[-1].name)
        while items := await self._journal.items(self._id, after=after, most=_PAGE):
            after = items[-1].key
            stale = [item for item in items if item.action is Action.MOVE and shard_number(item.name) is not None]
            for item in stale:
                if item.upload_id:
                    target = ObjectPath(self._order.remote_target.bucket, item.key)
                    await (await self._plane()).abort_upload(target, item.upload_id)
            await self._journal.forget_items(self._id, [item.key for item in stale])


def target_key(order: Order, name: str) -> str:
    """What an object of a packing is called in the journal: its key, or the name of its file."""
    return order.remote_target.as_folder().key + name if is_remote(order.target) else name


def _cut(cutter: Cutter, members: Iterable[Member], _: CancelToken) -> list[_Shard]:
    return [_Shard.of(shard) for member in members for shard in cutter.add(member)]


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
        text("“{name}” is no name a file could have.", name=name),
        text("Rename the object; unpacked, it would stand outside its folder, or be a folder and a file at once."),
    )


def _not_packed(count: int, first: _Problem) -> AppError:
    name = first.name.encode(errors="backslashreplace").decode()
    words = text(
        "{count} files cannot be packed. The first, {file}: {words}", count=count, file=name, words=first.error.title
    )
    fix = text("Nothing was sent. Mend them, or leave them out with --skip-unreadable.")
    return LocalTrouble(words, fix, first.error.detail)
