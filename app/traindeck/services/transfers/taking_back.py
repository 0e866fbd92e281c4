"""What is half there of a file that nobody wants any more."""

from __future__ import annotations

from traindeck.domain.transfers import Item, Kind
from traindeck.runtime.platform_files import local_errors
from traindeck.services.transfers.copies import target_of
from traindeck.services.transfers.downloads import part_of
from traindeck.services.transfers.lane import Lane
from traindeck.services.transfers.uploads import remove_orphans


async def take_back(lane: Lane, item: Item) -> None:
    """Remove the parts at the service, or the beginning of the file here."""
    if lane.kind is Kind.DOWNLOAD:
        part = part_of(lane, item)
        with local_errors(part):
            await lane.ground.disk.run(lambda _: part.unlink(missing_ok=True))
        return
    target = target_of(lane, item) if lane.kind is Kind.COPY else lane.remote(item)
    if item.upload_id:
        await (await lane.plane()).abort_upload(target, item.upload_id)
    elif lane.kind is Kind.UPLOAD:
        await remove_orphans(lane, item)
