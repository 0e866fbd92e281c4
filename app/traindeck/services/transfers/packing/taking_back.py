"""What is half there of a file that nobody wants any more."""

from __future__ import annotations

from pathlib import Path

from traindeck.domain.transfers.records import Item, Kind, is_remote
from traindeck.runtime.files import local_errors
from traindeck.services.transfers.active import ActiveTransfer
from traindeck.services.transfers.downloads import part_of
from traindeck.services.transfers.orphans import remove_orphans, target_of
from traindeck.services.transfers.packing.packing import part_of_shard


async def take_back(active: ActiveTransfer, item: Item) -> None:
    """Remove the parts at the service, or the beginning of the file here."""
    if active.kind is Kind.DOWNLOAD:
        part = part_of(active, item)
        with local_errors(part):
            await active.context.disk.run(lambda _: part.unlink(missing_ok=True))
    elif active.kind is Kind.PACK and not is_remote(active.record.order.target):
        shard = part_of_shard(Path(active.record.order.target) / item.name)
        with local_errors(shard):
            await active.context.disk.run(lambda _: shard.unlink(missing_ok=True))
    elif item.upload_id:
        await (await active.plane()).abort_upload(target_of(active, item), item.upload_id)
    else:
        await remove_orphans(active, [target_of(active, item)])
