"""The tree of buckets: read one level at a time, as it is opened."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal

from traindeck.domain.accounts.keys import is_credentials_name
from traindeck.domain.errors import AppError, Occupied
from traindeck.domain.storage.objects import ObjectEntry, ObjectPath, size_words
from traindeck.domain.texts import Text, count_text, text
from traindeck.domain.transfers.orders import Order, downloads_of, uploads_of
from traindeck.domain.transfers.packing import SHARD_BYTES, advises_packing, likely_shards
from traindeck.domain.transfers.records import TransferState
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.files import local_errors
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.viewmodels.ports import Choose, Confirm, Stateful, Way
from traindeck.viewmodels.shell.journal import Subject, Topic
from traindeck.viewmodels.storage.deleting import Deleting, News, finished, keeps_versions, settled, topic_of

if TYPE_CHECKING:
    from traindeck.services.accounts.connections import Connections
    from traindeck.services.transfers import Transfer, Transfers

Folder = ObjectPath | None
"""None is the root, whose entries are the buckets."""

_PACK, _UPLOAD, _LOOK = "pack", "upload", "look"
MOST_ROWS = 10_000


@dataclass(slots=True)
class Level:
    """What is known about one folder."""

    entries: list[ObjectEntry] = field(default_factory=list)
    is_loading: bool = False
    is_known: bool = False
    is_cut: bool = False
    """There is more than a tree has room for; the table shows it all."""
    trouble: AppError | None = None


@dataclass(frozen=True, slots=True)
class BucketTreeState:
    profile: str = ""
    busy: Text | None = None


class BucketTree(Stateful):
    """Levels by folder; the news name the folder they are about."""

    emptied = Signal()
    """Everything is to be read again: another account."""
    appended = Signal(object, int)
    """A page came for this folder; the number is where it begins."""
    listed = Signal(object)
    """A folder was read again as a whole."""
    level_changed = Signal(object)
    """Loading or trouble of this folder changed, not its entries."""
    opened = Signal(object)
    touched = Signal(object)
    """Something was sent to this folder, or deleted from it."""
    arrived = Signal(object)
    """This folder came with all that is below it."""
    look_wanted = Signal(object)
    """A folder of this computer that was dropped is to be looked at before it is uploaded."""
    news = Signal(object)
    """News."""

    def __init__(self, connections: Connections, mover: Transfers, disk: BlockingCalls, scope: TaskScope) -> None:
        super().__init__()
        self._connections = connections
        self._mover = mover
        self._disk = disk
        self._scope = scope
        self._levels: dict[Folder, Level] = {}
        self._number = 0
        self._choose: Choose | None = None
        self.offers_packing = True
        """Whether many small files may go as archives, when the user wants it so."""
        self.state: BucketTreeState = BucketTreeState()
        self.deleting = Deleting(mover, scope)
        self.deleting.busy.connect(self._say)
        self.deleting.touched.connect(self.was_touched)
        self.deleting.arrived.connect(self.arrived)
        self.deleting.news.connect(self.news)

    def ask_with(self, choose: Choose) -> None:
        """How to ask which of several ways to go."""
        self._choose = choose

    def level(self, folder: Folder) -> Level:
        return self._levels.setdefault(folder, Level())

    def bucket_names(self) -> list[str]:
        """Those that are known."""
        return [entry.path.bucket for entry in self.level(None).entries]

    def use_profile(self, name: str) -> None:
        """Show this account's buckets."""
        for folder in self._levels:
            self._scope.cancel(self._listing(folder))
        self._levels = {}
        self._become(profile=name, busy=None)
        self.emptied.emit()
        self.expand(None)

    def expand(self, folder: Folder) -> None:
        """Read a folder the first time it is looked into."""
        level = self.level(folder)
        if not level.is_known and not level.is_loading:
            self.refresh(folder)

    def refresh(self, folder: Folder = None) -> None:
        self._level_becomes(folder, is_loading=True)
        words = text("Reading {place}…", place=str(folder)) if folder else text("Reading the buckets…")
        # What was never read says so where its rows will be.
        is_known = self.level(folder).is_known
        self._scope.start(
            self._listing(folder), lambda: self._list(folder), Repeat.REPLACE, words if is_known else None
        )

    def read_what_failed(self) -> None:
        """What could not be read may be read now."""
        for folder in [folder for folder, level in self._levels.items() if level.trouble is not None]:
            self.refresh(folder)

    # Whose buckets these are is settled when the user acts: a dialog may be open for long, and what follows waits.

    def upload(self, sources: Sequence[Path], target: ObjectPath, confirm: Confirm, profile: str = "") -> None:
        """Send it; asked is only where something would be lost. `profile` where it is not the one shown now."""
        drop = _Drop(profile or self.state.profile, tuple(sources), target.as_folder(), confirm)
        self._scope.start(self._named("upload"), partial(self._upload, drop))

    def pack(self, source: ObjectPath, target: ObjectPath, confirm: Confirm, profile: str = "") -> None:
        """Make tar archives of a folder in the service in another one."""
        whose = profile or self.state.profile
        work = partial(self._pack, whose, source, target.as_folder(), confirm)
        self._scope.start(f"pack {source} into {target} of {whose}", work)

    def download(self, paths: Sequence[ObjectPath], target: Path, profile: str = "") -> None:
        """Fetch objects and whole folders into a folder of this computer."""
        whose, chosen = profile or self.state.profile, tuple(paths)
        orders = downloads_of(whose, chosen, target.absolute())
        if orders:
            # The same once more, while it is under way, is the same request.
            name = f"download {len(chosen)} from {chosen[0].parent} to {target} ({hash(tuple(orders)):x})"
            self._scope.start(name, partial(self._download, orders))

    def remove(self, paths: Sequence[ObjectPath], confirm: Confirm, profile: str = "") -> None:
        """Count what would be deleted below buckets, ask, and delete."""
        self.deleting.remove(profile or self.state.profile, [path for path in paths if not path.is_bucket], confirm)

    def empty(self, bucket: ObjectPath, confirm: Confirm, profile: str) -> None:
        """Delete the objects of a bucket after asking; the bucket stays."""
        self.deleting.remove(profile, [bucket], confirm)

    async def _list(self, folder: Folder) -> None:
        again = self.level(folder).is_known
        fresh: list[ObjectEntry] = []
        is_cut = False
        try:
            async with aclosing(self._pages(folder)) as pages:
                async for page in pages:
                    if is_cut := len(fresh) >= MOST_ROWS:
                        break
                    fresh += page
                    if not again and page:
                        level = self.level(folder)
                        level.entries += page
                        self.appended.emit(folder, len(level.entries) - len(page))
        except AppError as error:
            # Said in the tree, where the missing rows would be.
            self._level_becomes(folder, is_loading=False, trouble=error)
            return
        except asyncio.CancelledError:
            if not again:
                self.level(folder).entries = []
                self.listed.emit(folder)
            raise
        if again:
            self.level(folder).entries = fresh
            self.listed.emit(folder)
        self.level(folder).is_cut = is_cut
        self._level_becomes(folder, is_loading=False, is_known=True)

    async def _pages(self, folder: Folder) -> AsyncGenerator[list[ObjectEntry], None]:
        storage = (await self._connections.open(self.state.profile)).storage
        if folder is None:
            buckets = sorted(await storage.buckets(), key=lambda bucket: bucket.name)
            yield [ObjectEntry(ObjectPath(bucket.name), modified=bucket.created) for bucket in buckets]
            return
        async for page in storage.entries(folder):
            # Some programs mark a folder with an empty object of its own name; it is not one of its entries.
            yield [entry for entry in page if entry.path != folder]

    async def _upload(self, drop: _Drop) -> None:
        planned: list[Transfer] = []
        is_meant = False
        try:
            self._say(text("Reading the dropped files…"))
            places = await self._disk.run(lambda _: _seen(drop.sources))
            for order in uploads_of(drop.profile, places, drop.target):
                planned.append(await self._mover.planned(order, is_preview=True))
            small = await self._small_ones(drop, [place for place, is_folder in places if is_folder], planned)
            self._say(None)
            if any(row.state is not TransferState.READY for row in planned):
                return  # begun or cancelled in the list of transfers
            way = await self._way(drop, planned, small)
            is_meant, numbers = way == _UPLOAD, [row.id for row in planned]
            if way == _PACK:
                # All of it is in the journal before the plan, which was to send them as they are, is forgotten.
                numbers = await self._pack_some(drop, places, [amount.source for amount in small])
        finally:
            self._say(None)
            await settled(self._mover, planned, is_meant=is_meant)
        if way == _LOOK:
            self.look_wanted.emit(small[0].source)
        elif way:
            await self._finish(numbers)
            self._tell_sent(drop, numbers)

    def _tell_sent(self, drop: _Drop, numbers: Sequence[int]) -> None:
        files = sum(row.done_files for row in self._mover.rows() if row.id in numbers)
        first = drop.sources[0]
        there = drop.target.join(first.name + ("/" if first.is_dir() else ""))
        target = str(drop.target)
        message = count_text(
            "Uploaded {count} file to {target}.", "Uploaded {count} files to {target}.", files, target=target
        )
        if not files:
            message = text("Everything is in {target} already.", target=target)
        elif len(drop.sources) == 1:
            message = text("Uploaded “{name}” to {target}.", name=first.name, target=target)
        is_dataset = len(drop.sources) == 1 and first.is_dir()
        look = partial(self.look_wanted.emit, first) if is_dataset else None
        self.news.emit(News(message, None, topic_of(drop.profile, there), look))

    async def _pack_some(self, drop: _Drop, places: Sequence[tuple[Path, bool]], packed: Sequence[Path]) -> list[int]:
        """The transfers of what is left as it is."""
        for place in packed:
            work = partial(self._pack, drop.profile, place, drop.target.join(place.name + "/"), drop.confirm)
            self._scope.start(self._named(f"pack {place.name}"), work)
        rest = [(place, is_folder) for place, is_folder in places if place not in packed]
        return [await self._mover.begin(order) for order in uploads_of(drop.profile, rest, drop.target)]

    async def _small_ones(self, drop: _Drop, folders: Sequence[Path], planned: Sequence[Transfer]) -> list[_Amount]:
        """Folders of many small files that are still to be sent."""
        may_offer = self._choose is not None and self.offers_packing
        if not may_offer or not advises_packing(sum(row.files for row in planned), 0):
            return []
        small: list[_Amount] = []
        for place in folders:
            below = drop.target.join(place.name + "/").key
            found = [await self._mover.amount_below(row.id, below) for row in planned]
            amount = _Amount(place, sum(files for files, _ in found), sum(size_bytes for _, size_bytes in found))
            small += [amount] if advises_packing(amount.files, amount.size_bytes) else []
        return small

    async def _way(self, drop: _Drop, planned: Sequence[Transfer], small: Sequence[_Amount]) -> str:
        """What the user wants; asked is where keys would leave this computer, or something be lost there."""
        files = sum(row.files - row.failed_files for row in planned)
        if not files:
            return _UPLOAD  # the list of transfers tells what is there already, and what could not be read
        size, target = size_words(sum(row.total_bytes or 0 for row in planned)), str(drop.target)
        keys = next((source.name for source in drop.sources if is_credentials_name(source.name)), "")
        if keys:
            question = text(
                "“{name}” seems to contain access keys. Upload it to {target} anyway?", name=keys, target=target
            )
            return _UPLOAD if await drop.confirm(question, text("Upload")) else ""
        replaced = sum(row.replaced_files for row in planned)
        if replaced and not await keeps_versions(self._mover, drop.profile, drop.target.bucket):
            question = count_text(
                "Replace {count} object in {target}? This cannot be undone.",
                "Replace {count} objects in {target}? This cannot be undone.",
                replaced,
                target=target,
            )
            if not await drop.confirm(question, text("Replace")):
                return ""
        if self._choose is not None and small:
            question = count_text(
                "Upload {count} file ({size}) to {target}?",
                "Upload {count} files ({size}) to {target}?",
                files,
                size=size,
                target=target,
            )
            return await self._choose(question, _about_packing(small), _packing_ways(small))
        return _UPLOAD

    async def _pack(self, profile: str, source: Path | ObjectPath, target: ObjectPath, confirm: Confirm) -> None:
        try:
            await self._mover.pack(profile, source, target)
        except Occupied as error:
            if not await confirm(text("{words} Continue?", words=error.title), text("Replace")):
                return
            await self._mover.pack(profile, source, target, may_replace=True)

    async def _download(self, orders: Sequence[Order]) -> None:
        numbers = [await self._mover.begin(order) for order in orders]
        await self._finish(numbers)
        files = sum(row.done_files + row.equal_files for row in self._mover.rows() if row.id in numbers)
        target = orders[0].target
        message = count_text(
            "Downloaded {count} file to {target}.", "Downloaded {count} files to {target}.", files, target=target
        )
        self.news.emit(News(message, None, Topic(Subject.FILE, target)))

    async def _finish(self, numbers: Sequence[int]) -> None:
        if trouble := await finished(self._mover, numbers):
            raise trouble

    def was_touched(self, folder: Folder) -> None:
        """Something there changed: read it again, here and wherever it is shown."""
        if folder in self._levels:
            self.refresh(folder)
        self.touched.emit(folder)

    def _listing(self, folder: Folder) -> str:
        return f"list {folder or 'buckets'}"

    def _named(self, work: str) -> str:
        """A name of its own: two drops are two uploads."""
        self._number += 1
        return f"{work} #{self._number}"

    def _say(self, words: Text | None) -> None:
        self._become(busy=words)

    def _level_becomes(
        self, folder: Folder, *, is_loading: bool, is_known: bool = False, trouble: AppError | None = None
    ) -> None:
        level = self.level(folder)
        level.is_loading, level.trouble = is_loading, trouble
        level.is_known = level.is_known or is_known
        self.level_changed.emit(folder)


@dataclass(frozen=True, slots=True)
class _Drop:
    """What is to be sent, where to, and how to ask."""

    profile: str
    sources: tuple[Path, ...]
    target: ObjectPath
    confirm: Confirm


@dataclass(frozen=True, slots=True)
class _Amount:
    """What is to be sent of one folder that was dropped."""

    source: Path
    files: int
    size_bytes: int


def _seen(sources: Sequence[Path]) -> list[tuple[Path, bool]]:
    """The places, each with whether it is a folder."""
    seen: list[tuple[Path, bool]] = []
    for source in sources:
        with local_errors(source):
            seen.append((source.absolute(), source.is_dir()))
    return seen


def _about_packing(small: Sequence[_Amount]) -> list[Text]:
    files, size_bytes = sum(amount.files for amount in small), sum(amount.size_bytes for amount in small)
    many = text(
        "These are many small files, {size} each on average. Jobs request every file separately; "
        "uploading takes about as long either way.",
        size=size_words(size_bytes // files),
    )
    packed = text(
        "They can be packed into tar files of up to {size} MiB with an index. tar and WebDataset "
        "can read them; training code that opens single files has to read the tar files instead.",
        size=SHARD_BYTES // 1024**2,
    )
    return [many, packed]


def _packing_ways(small: Sequence[_Amount]) -> list[Way]:
    shards = sum(likely_shards(amount.files, amount.size_bytes) for amount in small)
    return [
        Way(_UPLOAD, text("Upload as they are"), is_advised=True),
        Way(_PACK, count_text("Pack into {count} tar shard", "Pack into {count} tar shards", shards)),
        Way(_LOOK, text("Look at it first")),
    ]
