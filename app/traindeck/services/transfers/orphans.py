"""Uploads of ours that nobody can finish, because the answer with their id was lost on the way."""

from __future__ import annotations

import logging
from collections.abc import Collection
from datetime import UTC, datetime, timedelta

from traindeck.domain.errors import AppError
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.transfers.records import Item, Kind
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
    async for page in plane.fragments(bucket, _shared([target.key for target in wanted])):
        for fragment in page:
            is_ours = fragment.path in wanted and (fragment.begun is None or fragment.begun >= since)
            if not is_ours or fragment.upload_id in keep:
                continue
            if await plane.parts(fragment.path, fragment.upload_id) == []:
                await plane.abort_upload(fragment.path, fragment.upload_id)


def _shared(keys: Collection[str]) -> str:
    """How all of them begin."""
    first, last = min(keys), max(keys)
    size = next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), None)
    return first[: min(len(first), len(last)) if size is None else size]


async def remove_all_orphans(active: ActiveTransfer) -> None:
    """At the end of a transfer: a request that was sent again may have begun two uploads, and told of one."""
    if not active.begun:
        return
    try:
        keep = {item.upload_id for item in await active.context.journal.begun(active.id)}
        await remove_orphans(active, active.begun, keep)
    except AppError as error:
        # They show among the fragments of the bucket.
        log.warning("transfer %d: unfinished uploads were not looked for: %s", active.id, error)
        return
    active.begun.clear()
