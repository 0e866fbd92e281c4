"""What is said about objects, through the OBS SDK: read, changed without sending the bytes again, linked to."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlencode
from xml.etree.ElementTree import Element

from traindeck.domain.errors import AppError, Conflict, InvalidInput, NoRight, NotOffered
from traindeck.domain.storage.access import Acl
from traindeck.domain.storage.object_facts import (
    CUSTOMER_KEYS,
    LONGEST_LINK,
    METADATA_BYTES,
    RESTORE_DAYS,
    S3_METADATA_BYTES,
    SHORTEST_LINK,
    HeadChange,
    ObjectFacts,
    RestoreSpeed,
    Restoring,
    SignedLink,
    check_tags,
    frozen,
    metadata_bytes,
)
from traindeck.domain.storage.objects import MD5_NAME, PART_BYTES_NAME, ObjectPath, ObjectVersion
from traindeck.domain.texts import count_text, text
from traindeck.runtime.tasks import gather_or_raise
from traindeck.services.storage.data_ports import Part
from traindeck.services.storage.documents import document
from traindeck.services.storage.errors import changed, need_key, not_offered
from traindeck.services.storage.heads import changed_head, metadata_after, takes_away, whole_head
from traindeck.services.storage.sdk.access import ObsAccess, unreadable_grants
from traindeck.services.storage.sdk.account import ObsAccount
from traindeck.services.storage.wire.data_plane import DataPlane

if TYPE_CHECKING:
    from traindeck.services.storage.sdk.client import StorageClient


_PARTIAL = 206
_NO_TAGS = ("NoSuchTagSet", "NoSuchTagConfiguration")


ONE_COPY_BYTES = 5 * 1024**3
PART_BYTES = 1024**3
_AT_ONCE = 4
_MOST_PAGES = 200
_GOES_ON = "RestoreAlreadyInProgress"


class ObsObjects:
    """One account's objects, apart from their bytes. Every method raises AppError."""

    def __init__(self, account: ObsAccount) -> None:
        self._account = account
        self.most_metadata_bytes = S3_METADATA_BYTES if account.is_foreign else METADATA_BYTES
        """So much the names and values of one object's metadata may have together."""
        self._is_obs: bool | None = None
        self._asking = asyncio.Lock()

    async def facts(self, path: ObjectPath, version: str = "") -> ObjectFacts:
        """NotFound: there is no such object."""
        need_key(path)
        return await self._account.over_wire(lambda plane: plane.facts(path, version))

    async def is_public(self, path: ObjectPath) -> bool | None:
        """Whether anybody may read it; None: that could not be found out."""
        return await self._account.over_wire(lambda plane: plane.is_public(path))

    async def change(self, path: ObjectPath, change: HeadChange, seen: ObjectFacts | None = None) -> ObjectFacts:
        """Say it differently, without the bytes being sent again; the answer is what the service says now.

        Conflict: it is no longer what `seen` is.
        """
        found, is_asked = await self._asked(path, change, seen)
        if not is_asked:
            return found
        now = await self.facts(path)
        if now.size_bytes != found.size_bytes or not change.is_done(now):
            raise Conflict(
                text("“{place}” was not changed as requested.", place=str(path)),
                text("Someone else may be changing it too. Check it again before you continue."),
            )
        return now

    async def ensure(self, path: ObjectPath, change: HeadChange) -> bool:
        """The same for one of many, not looked at again; False: it was as wanted already."""
        return (await self._asked(path, change, None))[1]

    async def tags(self, path: ObjectPath) -> dict[str, str]:
        """NotOffered: the service has none."""
        need_key(path)
        root = await self._document(path, "tagging", "Tagging", _NO_TAGS)
        found = root.iterfind("TagSet/Tag") if root is not None else ()
        return {tag.findtext("Key") or "": tag.findtext("Value") or "" for tag in found}

    async def set_tags(self, path: ObjectPath, tags: Mapping[str, str]) -> None:
        check_tags(tags)
        await self.tags(path)
        if tags:
            wanted = [{"key": name, "value": value} for name, value in tags.items()]
            await self._account.ask(lambda client: client.setObjectTagging(path.bucket, path.key, wanted), path)
        else:
            await self._account.ask(
                lambda client: client.deleteObjectTagging(path.bucket, path.key), path, fine=_NO_TAGS
            )

    async def restore(self, path: ObjectPath, days: int, speed: RestoreSpeed = RestoreSpeed.STANDARD) -> Restoring:
        need_key(path)
        if days not in RESTORE_DAYS:
            raise InvalidInput(
                text("An object cannot be restored for {days} days.", days=days), text("Select 1 to 30 days.")
            )
        answer = await self._account.ask(
            lambda client: client.restoreObject(path.bucket, path.key, days, str(speed)),
            path,
            fine=(_GOES_ON,),
        )
        if answer.errorCode == _GOES_ON:
            return Restoring.GOES_ON
        return Restoring.BEGUN if answer.status == 202 else Restoring.EXTENDED

    async def versions(self, path: ObjectPath) -> list[ObjectVersion]:
        """Newest first; one without id where the bucket keeps none."""
        need_key(path)
        return await self._account.over_wire(partial(_versions, path))

    async def make_current(self, path: ObjectPath, version: str) -> None:
        """Copy an old version onto the object; the old one stays."""
        await self._copy(await self.facts(path, version), None, version)

    async def remove_version(self, path: ObjectPath, version: str) -> None:
        """For good; to remove the marker of a deletion brings the object back."""
        need_key(path)
        if not version:
            raise ValueError("without a version the object itself would be deleted")
        await self._account.over_wire(lambda plane: plane.remove_version(path, version))

    async def link(self, path: ObjectPath, lasts: timedelta, *, method: str = "GET", version: str = "") -> SignedLink:
        """Made here, without asking anybody."""
        need_key(path)
        if not SHORTEST_LINK <= lasts <= LONGEST_LINK:
            raise InvalidInput(text("Validity must be 1 minute to 7 days."), text("Select 1 minute to 7 days."))
        if method not in ("GET", "PUT"):
            raise InvalidInput(text("A link is for reading or for writing."), text("Select GET or PUT."))
        now = datetime.now(UTC)
        # The older signature names the moment of its end, and the service has a clock of its own.
        ahead_s = 0 if self._account.is_foreign else round(self._account.clock_ahead_s or 0.0)
        query = {"versionId": version} if version else None

        def make(client: StorageClient) -> str:
            seconds = int(lasts.total_seconds()) + ahead_s
            made = client.createSignedUrl(method, path.bucket, path.key, expires=seconds, queryParams=query)
            return str(made.signedUrl)

        address = await self._account.with_client(make)
        return SignedLink(address, method, now + lasts, self._account.credentials.token is not None)

    async def _asked(self, path: ObjectPath, change: HeadChange, seen: ObjectFacts | None) -> tuple[ObjectFacts, bool]:
        """The object as it was found, and whether there was anything to ask for."""
        change.check()
        found = await self.facts(path)
        if seen is not None and not found.says_the_same(seen):
            raise changed.made("", place=str(path))
        if change.is_done(found):
            return found, False
        if change.storage_class and found.is_frozen:
            raise frozen(path)
        self._check_size(found, change)
        if await self._keeps_heads_apart(path.bucket):
            await self._set_head(found, change)
        else:
            await self._copy_onto_itself(found, change)
        return found, True

    def _check_size(self, found: ObjectFacts, change: HeadChange) -> None:
        size = metadata_bytes(metadata_after(found, change))
        if size > self.most_metadata_bytes:
            raise InvalidInput(
                count_text(
                    "The metadata of “{place}” would have {count} byte.",
                    "The metadata of “{place}” would have {count} bytes.",
                    size, place=str(found.path),
                ),
                text("All names and values together can have up to {most} bytes. Remove some.",
                     most=self.most_metadata_bytes),
            )  # fmt: skip

    async def _keeps_heads_apart(self, bucket: str) -> bool:
        """Whether a head can be changed alone; whoever does not know the request takes it for an empty object."""
        async with self._asking:
            if self._is_obs is None:
                self._is_obs = await self._account.over_wire(lambda plane: plane.names_itself_obs(bucket))
            return self._is_obs

    async def _set_head(self, found: ObjectFacts, change: HeadChange) -> None:
        path, is_whole = found.path, takes_away(found, change)
        headers = whole_head(found, change) if is_whole else changed_head(found, change)
        headers["x-obs-metadata-directive"] = "REPLACE" if is_whole else "REPLACE_NEW"
        headers["If-Match"] = f'"{found.etag}"'
        if change.storage_class:
            headers["x-obs-storage-class"] = change.storage_class
        await self._account.over_wire(lambda plane: plane.set_head(path, headers))

    async def _copy_onto_itself(self, found: ObjectFacts, change: HeadChange) -> None:
        """Nothing of the old head is lost: the copy is told all of it, and gets the old list of grants back."""
        grants = await self._grants(found.path)
        await self._copy(found, change, "")
        if grants is not None:
            await ObsAccess(self._account).set_acl(found.path, grants)

    async def _copy(self, found: ObjectFacts, change: HeadChange | None, version: str) -> None:
        """Of the version that was found, which becomes the object."""
        path = found.path
        if found.is_frozen:
            raise frozen(path)
        if found.encryption == CUSTOMER_KEYS:
            raise NotOffered(
                text("“{place}” is encrypted with a key that only its uploader has.", place=str(path)),
                text("Upload it again with your changes."),
            )
        head = _keeping(found, change)
        if found.size_bytes > ONE_COPY_BYTES:
            head |= whole_head(found, change or HeadChange())
            if found.tag_count:
                head["x-obs-tagging"] = urlencode(await self.tags(path))
            if found.md5:  # the ETag of what is made of parts does not tell it
                head[f"x-obs-meta-{MD5_NAME}"] = found.md5
            head[f"x-obs-meta-{PART_BYTES_NAME}"] = str(PART_BYTES)  # that of the old parts is true no more
            await self._account.over_wire(partial(_in_parts, found, version, head))
            return
        if change is not None:
            head |= whole_head(found, change) | {"x-obs-metadata-directive": "REPLACE"}
        await self._account.over_wire(lambda plane: plane.copy_onto(path, head, if_match=found.etag, version=version))

    async def _grants(self, path: ObjectPath) -> Acl | None:
        """The list to give back; None: it is the usual one, or there is none to be seen."""
        try:
            root = await self._document(path, "acl", "AccessControlPolicy")
            if root is None or len(root.findall("AccessControlList/Grant")) < 2:
                return None  # nobody but the owner was given anything
            acl = await ObsAccess(self._account).acl(path)
        except (NoRight, NotOffered, InvalidInput):
            return None  # whoever may not see it could not set it, and some buckets have none
        if not acl.is_readable:
            raise unreadable_grants(path)
        return acl

    async def _document(self, path: ObjectPath, name: str, root: str, missing: tuple[str, ...] = ()) -> Element | None:
        """None: there is none; NotOffered: the service does not know such documents."""
        answer = await self._account.ask(lambda client: client.beside(path.bucket, path.key, name), path, fine=missing)
        if answer.errorCode in missing:
            return None
        # A part of something with a name of its own is the object, whatever its content looks like.
        is_object = answer.status == _PARTIAL and "etag" in dict(answer.header)
        try:
            if not is_object and isinstance(answer.body, str):
                return document(answer.body, root)
        except ValueError:
            pass
        raise not_offered(self._account.refusal(answer), str(path))


def _keeping(found: ObjectFacts, change: HeadChange | None) -> dict[str, str]:
    """What a copy would else get as its bucket has it."""
    wanted = change.storage_class if change else ""
    kept = {"x-obs-storage-class": wanted or found.storage_class}
    if found.encryption:
        kept["x-obs-server-side-encryption"] = found.encryption
        if found.encryption_key:
            kept["x-obs-server-side-encryption-kms-key-id"] = found.encryption_key
    return kept


async def _in_parts(found: ObjectFacts, version: str, head: dict[str, str], plane: DataPlane) -> None:
    path, size_bytes = found.path, found.size_bytes
    upload_id = await plane.begin_upload(path, head=head)
    gate = asyncio.Semaphore(_AT_ONCE)

    async def copy(number: int, first: int) -> Part:
        length = min(PART_BYTES, size_bytes - first)
        async with gate:
            return await plane.copy_part(path, path, upload_id, number, first, length, found.etag, version)

    try:
        parts = await gather_or_raise(copy(*part) for part in enumerate(range(0, size_bytes, PART_BYTES), start=1))
        await plane.finish_upload(path, upload_id, parts)
    except (AppError, asyncio.CancelledError):
        await asyncio.shield(plane.abort_upload(path, upload_id))
        raise


async def _versions(path: ObjectPath, plane: DataPlane) -> list[ObjectVersion]:
    found: list[ObjectVersion] = []
    async with aclosing(plane.pages_of_versions(path, _MOST_PAGES)) as pages:
        async for rows in pages:
            found += [row for row in rows if row.key == path.key]
            # The name itself comes before all that only begin with it.
            if any(row.key.encode() > path.key.encode() for row in rows):
                break
    return found
