"""Many small files as a few tar archives, made while they are sent: to a service, or a folder of this computer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from traindeck.domain.transfers.object_limits import SINGLE_PUT_BYTES
from traindeck.domain.transfers.orders import Links, is_remote
from traindeck.domain.transfers.packing import INDEX_NAME
from traindeck.domain.transfers.records import Action, Item, ItemState
from traindeck.runtime.files import local_errors
from traindeck.services.transfers.active import ActiveTransfer
from traindeck.services.transfers.bodies import Moved, SourceChanged
from traindeck.services.transfers.digests import has_md5
from traindeck.services.transfers.packing.pack_planning import target_key
from traindeck.services.transfers.packing.shard_index import ShardIndex
from traindeck.services.transfers.packing.shard_reading import BucketReader, FolderReader, Reader
from traindeck.services.transfers.packing.shard_source import ShardSource
from traindeck.services.transfers.part_files import PartFile
from traindeck.services.transfers.parts import until_still
from traindeck.services.transfers.ready import Unit
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
        return FolderReader(order.source, self.active.engine.disk, keeps_links=order.rules.links is Links.KEEP)

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
                await active.engine.journal.begin_parts(active.id, replace(now, part_bytes=now.size_bytes))
                await self._write_whole(place, now, source)
            active.ended(now, ItemState.DONE, is_verified=True)

        await until_still(source, item, attempt)

    async def _is_on_disk(self, place: Path, item: Item, source: ShardSource) -> bool:
        known = source.digests.whole_md5 if source.digests else ""
        return await self.active.engine.disk.run(partial(has_md5, place, item.size_bytes, known))

    async def _write_whole(self, place: Path, item: Item, source: ShardSource) -> None:
        disk, moved = self.active.engine.disk, Moved(self.active)
        part = await disk.run(lambda _: _begun(place))

        async def written() -> None:
            await source.hash(item, part.write, moved.count)
            if await source.has_changed(item):
                raise SourceChanged
            await disk.run(lambda _: part.finish(is_safe=True))

        try:
            await moved.by(written())
        finally:
            await disk.run(lambda _: part.drop())
        moved.settle(item.size_bytes)


def _begun(place: Path) -> PartFile:
    with local_errors(place.parent):
        place.parent.mkdir(parents=True, exist_ok=True)
    return PartFile(place)
