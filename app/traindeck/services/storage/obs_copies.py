"""Copies of an object onto itself: the way to say something else about it where heads cannot be changed alone."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from traindeck.domain.errors import AppError, InvalidInput, NoRight, NotOffered
from traindeck.domain.grants import Acl
from traindeck.domain.object_facts import CUSTOMER_KEYS, HeadChange, ObjectFacts, frozen
from traindeck.domain.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.domain.transfers import MD5_NAME
from traindeck.runtime.blocking import CancelToken
from traindeck.runtime.together import together
from traindeck.services.sdk_errors import not_understood
from traindeck.services.storage.object_heads import whole_head
from traindeck.services.storage.obs_access import ObsAccess
from traindeck.services.storage.obs_account import ObsAccount
from traindeck.services.storage.obs_beside import has_grants, tags_of
from traindeck.services.storage.wire.requests import encoded_key

if TYPE_CHECKING:
    from traindeck.services.storage.obs_client import Client

ONE_COPY_BYTES = 5 * 1024**3
PART_BYTES = 1024**3
_AT_ONCE = 4
_NOTHING = HeadChange()


async def onto_itself(account: ObsAccount, found: ObjectFacts, change: HeadChange) -> None:
    """Nothing of the old head is lost: the copy is told all of it, and gets the old list of grants back."""
    path = found.path
    grants = await _grants(account, path)
    await _copied(account, found, change, "")
    if grants is not None:
        await ObsAccess(account).set_acl(path, grants)


async def made_current(account: ObsAccount, found: ObjectFacts, version: str) -> None:
    """The old version that was found becomes the object again."""
    await _copied(account, found, None, version)


async def _copied(account: ObsAccount, found: ObjectFacts, change: HeadChange | None, version: str) -> None:
    path = found.path
    if found.is_frozen:
        raise frozen(path)
    if found.encryption == CUSTOMER_KEYS:
        raise NotOffered(
            text("“{place}” is encrypted with a key that only its uploader has.", place=str(path)),
            text("Upload it again with what you want changed."),
        )
    source = f"/{path.bucket}/{encoded_key(path.key)}"
    origin = {
        "x-obs-copy-source": f"{source}?versionId={version}" if version else source,
        "x-obs-copy-source-if-match": f'"{found.etag}"',
    }
    kept = _keeping(found, change)
    if found.size_bytes > ONE_COPY_BYTES:
        await _in_parts(account, found, origin, kept | whole_head(found, change or _NOTHING))
        return
    if change is not None:
        kept |= whole_head(found, change) | {"x-obs-metadata-directive": "REPLACE"}
    headers = origin | kept
    answer = await account.ask(lambda client, _: client.put_head(path.bucket, path.key, {}, headers), path)
    # A failure while the service copies arrives as 200 without an ETag.
    if not account.body(answer).etag:
        raise not_understood(account.refusal(answer))


def _keeping(found: ObjectFacts, change: HeadChange | None) -> dict[str, str]:
    """What a copy would else get as its bucket has it."""
    wanted = change.storage_class if change else ""
    kept = {"x-obs-storage-class": wanted or found.storage_class}
    if found.encryption:
        kept["x-obs-server-side-encryption"] = found.encryption
        if found.encryption_key:
            kept["x-obs-server-side-encryption-kms-key-id"] = found.encryption_key
    return kept


async def _in_parts(account: ObsAccount, found: ObjectFacts, origin: dict[str, str], head: dict[str, str]) -> None:
    path = found.path
    if found.tag_count:
        tags = await tags_of(account, path)
        head = head | {"x-obs-tagging": urlencode(tags)}
    if found.md5:  # the ETag of what is made of parts does not tell it
        head = head | {f"x-obs-meta-{MD5_NAME}": found.md5}
    answer = await account.ask(lambda client, _: client.begin_parts(path.bucket, path.key, head), path)
    upload_id = str(account.body(answer).uploadId or "")
    if not upload_id:
        raise not_understood(account.refusal(answer))
    try:
        await _put_together(account, found, origin, upload_id)
    except (AppError, asyncio.CancelledError):
        await asyncio.shield(
            account.ask(
                lambda client, _: client.abortMultipartUpload(path.bucket, path.key, upload_id),
                path,
                fine=("NoSuchUpload",),
            )
        )
        raise


async def _put_together(account: ObsAccount, found: ObjectFacts, origin: dict[str, str], upload_id: str) -> None:
    path, etags = found.path, dict[int, str]()
    waiting = list(enumerate(range(0, found.size_bytes, PART_BYTES), start=1))

    async def copy_each() -> None:
        while waiting:
            number, first = waiting.pop(0)
            last = min(first + PART_BYTES, found.size_bytes) - 1
            headers = origin | {"x-obs-copy-source-range": f"bytes={first}-{last}"}
            query = {"partNumber": str(number), "uploadId": upload_id}

            def copy(client: Client, _: CancelToken) -> Any:
                return client.put_head(path.bucket, path.key, query, headers, answers="copyPart")  # noqa: B023

            answer = await account.ask(copy, path)
            etags[number] = str(account.body(answer).etag or "")
            if not etags[number]:
                raise not_understood(account.refusal(answer))

    await together(copy_each() for _ in range(_AT_ONCE))

    def complete(client: Client, _: CancelToken) -> Any:
        from obs.model import CompleteMultipartUploadRequest, CompletePart

        parts = [CompletePart(partNum=number, etag=etag) for number, etag in sorted(etags.items())]
        return client.completeMultipartUpload(path.bucket, path.key, upload_id, CompleteMultipartUploadRequest(parts))

    answer = await account.ask(complete, path, tries=1)
    if not account.body(answer).etag:
        raise not_understood(account.refusal(answer))


async def _grants(account: ObsAccount, path: ObjectPath) -> Acl | None:
    """The list to give back; None: it is the usual one, or there is none to be seen."""
    try:
        if not await has_grants(account, path):
            return None
        acl = await ObsAccess(account).acl(path)
    except (NoRight, NotOffered, InvalidInput):
        return None  # whoever may not see it could not set it, and some buckets have none
    if not acl.is_readable:
        raise NotOffered(
            text("Some grants of “{place}” are written in a way that is not known here.", place=str(path)),
            text("Change them in the console: they would be lost if the list was written from here."),
        )
    return acl
