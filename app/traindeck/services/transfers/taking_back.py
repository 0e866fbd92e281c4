"""What is half there of a file that nobody wants any more."""

from __future__ import annotations

from pathlib import Path

from traindeck.domain.transfers import Item, Kind, is_remote
from traindeck.runtime.platform_files import local_errors
from traindeck.services.transfers.downloads import part_of
from traindeck.services.transfers.lane import Lane
from traindeck.services.transfers.orphans import remove_orphans, target_of
from traindeck.services.transfers.packing import part_of_shard


async def take_back(lane: Lane, item: Item) -> None:
    """Remove the parts at the service, or the beginning of the file here."""
    if lane.kind is Kind.DOWNLOAD:
        part = part_of(lane, item)
        with local_errors(part):
            await lane.ground.disk.run(lambda _: part.unlink(missing_ok=True))
    elif lane.kind is Kind.PACK and not is_remote(lane.record.order.target):
        shard = part_of_shard(Path(lane.record.order.target) / item.name)
        with local_errors(shard):
            await lane.ground.disk.run(lambda _: shard.unlink(missing_ok=True))
    elif item.upload_id:
        await (await lane.plane()).abort_upload(target_of(lane, item), item.upload_id)
    else:
        await remove_orphans(lane, [target_of(lane, item)])
