"""What is half there and nobody wants any more; also uploads whose ids were lost with the answer."""

from __future__ import annotations

import logging
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from pathlib import Path

from traindeck.domain.errors import AppError
from traindeck.domain.storage.objects import ObjectPath, shared_beginning
from traindeck.domain.transfers.local_names import part_of
from traindeck.domain.transfers.orders import Kind, is_remote
from traindeck.domain.transfers.records import Item
from traindeck.runtime.files import local_errors
from traindeck.services.transfers.active import ActiveTransfer

log = logging.getLogger(__name__)

_CLOCKS_APART = timedelta(minutes=15)


def target_of(active: ActiveTransfer, item: Item) -> ObjectPath:
    """Where an item goes in the service."""
    if active.kind is Kind.PACK or not active.record.order.is_within_service:
        return active.remote(item)
    bucket, _, key = active.record.root.removeprefix("obs://").partition("/")
    return ObjectPath(bucket, key + item.name)


async def remove_orphans(active: ActiveTransfer, targets: Collection[ObjectPath], keep: Collection[str] = ()) -> None:
    """Those of these very objects, begun since the transfer was, without a part; `keep` are ids we know."""
    wanted = set(targets)
    bucket = next(iter(wanted)).bucket
    plane = await active.plane()
    since = (active.record.started or datetime.now(UTC)) - _CLOCKS_APART
    keys = [target.key for target in wanted]
    async for page in plane.fragments(bucket, shared_beginning(min(keys), max(keys))):
        for fragment in page:
            is_ours = fragment.path in wanted and (fragment.begun is None or fragment.begun >= since)
            if not is_ours or fragment.upload_id in keep:
                continue
            if await plane.parts(fragment.path, fragment.upload_id) == []:
                await plane.abort_upload(fragment.path, fragment.upload_id)


async def take_back(active: ActiveTransfer, item: Item) -> None:
    """Remove the parts at the service, or the beginning of the file here."""
    target = active.record.order.target
    if not is_remote(target):
        part = part_of(Path(target) / item.name) if active.kind is Kind.PACK else active.part(item)
        with local_errors(part):
            await active.engine.disk.run(lambda _: part.unlink(missing_ok=True))
    elif item.upload_id:
        await (await active.plane()).abort_upload(target_of(active, item), item.upload_id)
    else:
        await remove_orphans(active, [target_of(active, item)])


async def remove_all_orphans(active: ActiveTransfer) -> None:
    """At the end of a transfer: a request that was sent again may have begun two uploads, and told of one."""
    if not active.begun:
        return
    try:
        keep = {item.upload_id for item in await active.engine.journal.begun(active.id)}
        await remove_orphans(active, active.begun, keep)
    except AppError as error:
        # They show among the fragments of the bucket.
        log.warning("transfer %d: unfinished uploads were not looked for: %s", active.id, error)
        return
    active.begun.clear()
