"""The tree of buckets: read one level at a time, as it is opened."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from traindeck.domain.accounts.keys import is_credentials_name
from traindeck.domain.errors import AppError, Occupied
from traindeck.domain.storage.objects import ObjectEntry, ObjectPath, size_words
from traindeck.domain.texts import Text, text
from traindeck.domain.transfers.packing import SHARD_BYTES, advises_packing, likely_shards
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.files import local_errors
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.services.ports import ObjectStorage
from traindeck.viewmodels.ports import Choose, Confirm, Opener, Relocator, Way
from traindeck.viewmodels.storage.deleting import Deleting

Folder = ObjectPath | None
"""None is the root, whose entries are the buckets."""

_AT_ONCE = 4
_PACK, _UPLOAD = "pack", "upload"
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


class BucketTree(QObject):
    """Levels by folder; the news name the folder they are about."""

    changed = Signal()
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

    def __init__(self, connections: Opener, mover: Relocator, disk: BlockingCalls, scope: TaskScope) -> None:
        super().__init__()
        self._connections = connections
        self._mover = mover
        self._disk = disk
        self._scope = scope
        self._levels: dict[Folder, Level] = {}
        self._moving = asyncio.Semaphore(_AT_ONCE)
        self._number = 0
        self._choose: Choose | None = None
        self.state = BucketTreeState()
        self.deleting = Deleting(mover, scope)
        self.deleting.busy.connect(self._say)
        self.deleting.touched.connect(self.was_touched)
        self.deleting.arrived.connect(self.arrived)

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
        self._become(BucketTreeState(profile=name))
        self.emptied.emit()
        self.expand(None)

    def expand(self, folder: Folder) -> None:
        """Read a folder the first time it is looked into."""
        level = self.level(folder)
        if not level.is_known and not level.is_loading:
            self.refresh(folder)

    def refresh(self, folder: Folder = None) -> None:
        self._level_becomes(folder, is_loading=True)
        self._scope.start(self._listing(folder), lambda: self._list(folder), Repeat.REPLACE)

    def open(self, folder: ObjectPath) -> None:
        self.opened.emit(folder)

    def upload(self, sources: Sequence[Path], target: ObjectPath, confirm: Confirm) -> None:
        """Say what would go where, and send it when the user agrees."""
        chosen = tuple(sources)
        self._scope.start(self._named("upload"), lambda: self._upload(chosen, target.as_folder(), confirm))

    def pack(self, source: ObjectPath, target: ObjectPath, confirm: Confirm) -> None:
        """Make tar archives of a folder in the service in another one."""
        self._scope.start(f"pack {source} into {target}", partial(self._pack, source, target.as_folder(), confirm))

    def download(self, paths: Sequence[ObjectPath], target: Path) -> None:
        """Fetch objects and whole folders into a folder of this computer."""
        for path in paths:
            self._scope.start(f"download {path} to {target}", partial(self._download, path, target))

    def remove(self, paths: Sequence[ObjectPath], confirm: Confirm) -> None:
        """Count what would be deleted below buckets, ask, and delete."""
        self.deleting.remove(self.state.profile, [path for path in paths if not path.is_bucket], confirm)

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
        storage = await self._storage()
        if folder is None:
            buckets = sorted(await storage.buckets(), key=lambda bucket: bucket.name)
            yield [ObjectEntry(ObjectPath(bucket.name), modified=bucket.created) for bucket in buckets]
            return
        async for page in storage.entries(folder):
            # Some programs mark a folder with an empty object of its own name; it is not one of its entries.
            yield [entry for entry in page if entry.path != folder]

    async def _upload(self, sources: tuple[Path, ...], target: ObjectPath, confirm: Confirm) -> None:
        self._say(text("Looking at what was dropped…"))
        try:
            counts = await self._disk.run(lambda token: [_count_local(source, token) for source in sources])
        finally:
            self._say(None)
        files, size_bytes = sum(count.files for count in counts), sum(count.size_bytes for count in counts)
        size = size_words(size_bytes)
        question = text("Upload {count} files ({size}) to {target}?", count=files, size=size, target=str(target))
        if files == 1:
            question = text("Upload one file ({size}) to {target}?", size=size, target=str(target))
        keys = next((source.name for source in sources if is_credentials_name(source.name)), "")
        if keys:
            question = text(
                "“{name}” seems to hold access keys. Upload it to {target} all the same?", name=keys, target=str(target)
            )
        small = [count for count in counts if count.is_folder and advises_packing(count.files, count.size_bytes)]
        if self._choose is not None and small and not keys:
            way = await self._choose(question, _about_packing(small), _packing_ways(small))
        else:
            way = _UPLOAD if files and await confirm(question, text("Upload")) else ""
        if way:
            for count in counts:
                send = partial(self._send, count.source, target, confirm, is_packed=way == _PACK and count in small)
                self._scope.start(self._named(f"upload {count.source.name}"), send)

    async def _send(self, source: Path, target: ObjectPath, confirm: Confirm, *, is_packed: bool) -> None:
        if is_packed:
            await self._pack(source, target.join(source.name + "/"), confirm)
            return
        async with self._moving:
            is_folder = await self._disk.run(lambda _: source.is_dir())
            into = target.join(source.name + "/") if is_folder else target.join(source.name)
            await self._mover.upload(self.state.profile, source, into)

    async def _pack(self, source: Path | ObjectPath, target: ObjectPath, confirm: Confirm) -> None:
        profile = self.state.profile
        try:
            async with self._moving:
                await self._mover.pack(profile, source, target)
        except Occupied as error:
            if not await confirm(text("{words} Go on?", words=error.title), text("Replace")):
                return
            async with self._moving:
                await self._mover.pack(profile, source, target, may_replace=True)

    async def _download(self, path: ObjectPath, target: Path) -> None:
        async with self._moving:
            await self._mover.download(self.state.profile, path, target / path.name)

    def was_touched(self, folder: Folder) -> None:
        """Something there changed: read it again, here and wherever it is shown."""
        if folder in self._levels:
            self.refresh(folder)
        self.touched.emit(folder)

    async def _storage(self) -> ObjectStorage:
        return (await self._connections.open(self.state.profile)).storage

    def _listing(self, folder: Folder) -> str:
        return f"list {folder or 'buckets'}"

    def _named(self, work: str) -> str:
        """A name of its own: two drops are two uploads."""
        self._number += 1
        return f"{work} #{self._number}"

    def _say(self, words: Text | None) -> None:
        self._become(replace(self.state, busy=words))

    def _level_becomes(
        self, folder: Folder, *, is_loading: bool, is_known: bool = False, trouble: AppError | None = None
    ) -> None:
        level = self.level(folder)
        level.is_loading, level.trouble = is_loading, trouble
        level.is_known = level.is_known or is_known
        self.level_changed.emit(folder)

    def _become(self, state: BucketTreeState) -> None:
        self.state = state
        self.changed.emit()


@dataclass(frozen=True, slots=True)
class _Count:
    """What there is of one thing that was dropped."""

    source: Path
    is_folder: bool
    files: int
    size_bytes: int


def _count_local(source: Path, token: CancelToken) -> _Count:
    with local_errors(source):
        if not source.is_dir():
            return _Count(source, False, 1, source.stat().st_size)
        files, size_bytes = 0, 0
        for here, _, names in os.walk(source):
            for name in names:
                token.check()
                files += 1
                # One that cannot be looked at, a broken link for example, is told when its turn comes.
                with suppress(OSError):
                    size_bytes += (Path(here) / name).stat().st_size
        return _Count(source, True, files, size_bytes)


def _about_packing(small: Sequence[_Count]) -> list[Text]:
    files, size_bytes = sum(count.files for count in small), sum(count.size_bytes for count in small)
    return [
        text(
            "These are many small files, {size} each on average. Every one costs a request of its own: now, and again "
            "in each job that reads them.",
            size=size_words(size_bytes // files),
        ),
        text(
            "Packed, they become tar files of up to {size} MiB with an index beside them. tar and WebDataset read "
            "them; training code that opens single files has to read the tar files instead.",
            size=SHARD_BYTES // 1024**2,
        ),
    ]


def _packing_ways(small: Sequence[_Count]) -> list[Way]:
    shards = sum(likely_shards(count.files, count.size_bytes) for count in small)
    return [
        Way(_PACK, text("Pack into tar shards ({count})", count=shards), is_advised=True),
        Way(_UPLOAD, text("Upload as they are")),
    ]
