"""Many small files as a few tar archives, made while they are sent: to a service, or a folder of this computer."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

from traindeck.domain.transfers.local_names import System, part_name
from traindeck.domain.transfers.packing import INDEX_NAME
from traindeck.domain.transfers.records import SINGLE_PUT_BYTES, Action, Item, ItemState, is_remote
from traindeck.runtime.blocking import CancelToken
from traindeck.runtime.files import local_errors
from traindeck.services.transfers.active import ActiveTransfer, Unit
from traindeck.services.transfers.bodies import Moved, SourceChanged
from traindeck.services.transfers.digests import file_digests
from traindeck.services.transfers.packing.pack_planning import target_key
from traindeck.services.transfers.packing.shard_index import ShardIndex
from traindeck.services.transfers.packing.shard_reading import BucketReader, FolderReader, Reader
from traindeck.services.transfers.packing.shard_source import ShardSource
from traindeck.services.transfers.parts import until_still
from traindeck.services.transfers.uploads import send

# One is hashed while the parts of another are sent; with more, what was hashed is no longer in the system's memory
# when it is read again.
SHARDS_AT_ONCE = 3
_STREAM_BYTES = 4 * 1024 * 1024


@dataclass(slots=True)
class Packs:
    """Makes units out of the archives of one packing."""

    active: ActiveTransfer

    async def feed(self, items: Sequence[Item]) -> None:
        for number, item in enumerate(items):
            await self.active.quiet(len(items) - number + SHARDS_AT_ONCE - 1)
            whole_up_to = SINGLE_PUT_BYTES if self._is_from_service else 0
            memory = item.size_bytes if item.size_bytes <= whole_up_to else min(item.size_bytes, _STREAM_BYTES * 4)
            move = self._send if is_remote(self.active.record.order.target) else self._write
            self.active.add(Unit(item, partial(move, item), memory, is_small=False))

    async def make_folders(self, items: Sequence[Item]) -> None:
        raise ValueError("folders are inside the archives")

    async def describe(self, items: Sequence[Item]) -> None:
        for item in items:
            self.active.add(Unit(item, ShardIndex(self.active, item).write, is_small=False))

    @property
    def description(self) -> Item:
        """What is to do when all archives are there."""
        return Item(target_key(self.active.record.order, INDEX_NAME), INDEX_NAME, action=Action.DESCRIBE)

    @property
    def _is_from_service(self) -> bool:
        return is_remote(self.active.record.order.source)

    def _reader(self) -> Reader:
        order = self.active.record.order
        if self._is_from_service:
            return BucketReader(order.remote_source.as_folder(), self.active.plane)
        return FolderReader(order.source, self.active.context.disk)

    async def _send(self, item: Item) -> None:
        await send(self.active, item, await ShardSource.of(self.active, item, self._reader()))

    # Into a folder of this computer

    async def _write(self, item: Item) -> None:
        active, source = self.active, await ShardSource.of(self.active, item, self._reader())
        place = Path(active.record.order.target) / item.name

        async def attempt() -> None:
            now = await source.laid_out(item)
            if await self._is_on_disk(place, now, source):
                active.count(now.size_bytes)
            else:
                # So that a cancel finds what a killed program left half written.
                await active.context.journal.begin_parts(active.id, replace(now, part_bytes=now.size_bytes))
                await self._write_whole(place, now, source)
            active.ended(now, ItemState.DONE, is_verified=True)

        await until_still(source, item, attempt)

    async def _is_on_disk(self, place: Path, item: Item, source: ShardSource) -> bool:
        known = source.digests
        if known is None or not known.whole_md5:
            return False

        def is_same(token: CancelToken) -> bool:
            with local_errors(place):
                is_file = place.is_file() and place.stat().st_size == item.size_bytes
                return is_file and file_digests(place, token)[0] == known.whole_md5

        return await self.active.context.disk.run(is_same)

    async def _write_whole(self, place: Path, item: Item, source: ShardSource) -> None:
        disk, moved = self.active.context.disk, Moved(self.active)
        part = part_of_shard(place)
        file = await disk.run(lambda _: _opened(part))
        try:

            def take(data: bytes) -> None:
                with local_errors(part):
                    file.write(data)

            async def counted() -> None:
                await source.hash(item, take, moved.count)
                if await source.has_changed(item):
                    raise SourceChanged
                await disk.run(lambda _: _closed(file, part, place))

            await moved.by(counted())
        finally:
            await disk.run(lambda _: _dropped(file, part))
        moved.settle(item.size_bytes)


def part_of_shard(place: Path) -> Path:
    """What a file is called until all of it is there."""
    return place.with_name(part_name(place.name, System(is_windows=os.name == "nt")))


def _opened(part: Path) -> BinaryIO:
    with local_errors(part):
        part.parent.mkdir(parents=True, exist_ok=True)
        return part.open("wb", buffering=0)


def _closed(file: BinaryIO, part: Path, place: Path) -> None:
    with local_errors(part):
        file.flush()
        os.fsync(file.fileno())
        file.close()
        part.replace(place)


def _dropped(file: BinaryIO, part: Path) -> None:
    """What was not finished; after `_closed` there is nothing left."""
    with local_errors(part):
        file.close()
        part.unlink(missing_ok=True)
