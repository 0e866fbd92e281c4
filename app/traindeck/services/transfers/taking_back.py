"""What is half there of a file that nobody wants any more."""

from __future__ import annotations

from pathlib import Path

from traindeck.domain.transfers import Item, Kind, is_remote
from traindeck.runtime.platform_files import local_errors
from traindeck.services.transfers.copies import target_of
from traindeck.services.transfers.downloads import part_of
from traindeck.services.transfers.lane import Lane
from traindeck.services.transfers.packing import part_of_shard
from traindeck.services.transfers.uploads import remove_orphans


async def take_back(lane: Lane, item: Item) -> None:
    """Remove the parts at the service, or the beginning of the file here."""
    if lane.kind is Kind.DOWNLOAD:
        part = part_of(lane, item)
        with local_errors(part):
            await lane.ground.disk.run(lambda _: part.unlink(missing_ok=True))
        return
    if lane.kind is Kind.PACK and not is_remote(lane.record.order.target):
        shard = part_of_shard(Path(lane.record.order.target) / item.name)
        with local_errors(shard):
            await lane.ground.disk.run(lambda _: shard.unlink(missing_ok=True))
        return
    target = target_of(lane, item) if lane.kind is Kind.COPY else lane.remote(item)
    if item.upload_id:
        await (await lane.plane()).abort_upload(target, item.upload_id)
    elif lane.kind is not Kind.COPY:
        await remove_orphans(lane, item)
