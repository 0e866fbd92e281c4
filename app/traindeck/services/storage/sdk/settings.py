"""Settings of buckets, read and kept as whole documents so that nothing in them gets lost.

A service that ignores the name of a setting would take a question for a listing, a change for a new bucket, and a
removal for that of the bucket itself: nothing is changed that could not be read before.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from traindeck.domain.errors import (
    AppError,
    Conflict,
    InvalidInput,
    KeysRefused,
    NotOffered,
    ServiceTrouble,
)
from traindeck.domain.storage.bucket_settings import (
    MOST_QUOTA_BYTES,
    OBS_TAGS,
    S3_TAGS,
    BucketFacts,
    CorsRule,
    CorsSetting,
    LifecycleRule,
    LifecycleSetting,
    Tags,
    TagSetting,
    Versioning,
    cors_mistake,
    mistakes,
    tag_mistakes,
)
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import Text, text
from traindeck.runtime.tasks import gather_or_raise
from traindeck.services.http import bounds
from traindeck.services.http.errors import ErrorResponse, not_understood
from traindeck.services.storage.documents import document, our_class, s3_class
from traindeck.services.storage.sdk.account import ObsAccount
from traindeck.services.storage.sdk.documents import (
    cors_document,
    lifecycle_document,
    read_cors,
    read_lifecycle,
    read_tags,
    tags_document,
    xml_of,
)

MOST_LIFECYCLE_BYTES = 20 * 1024


@dataclass(frozen=True, slots=True)
class _Kind:
    """A setting: its name in the address, its document, and how a bucket without it answers."""

    name: str
    root: str
    missing: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    """What other services call the document."""


_TAGS = _Kind("tagging", "Tagging", ("NoSuchTagSet", "NoSuchTagSetError"))
_CORS = _Kind("cors", "CORSConfiguration", ("NoSuchCORSConfiguration",))
_LIFECYCLE = _Kind("lifecycle", "LifecycleConfiguration", ("NoSuchLifecycleConfiguration",))
_VERSIONING = _Kind("versioning", "VersioningConfiguration", also=("GetBucketVersioningResponse",))
_QUOTA = _Kind("quota", "Quota")
_USED = _Kind("storageinfo", "GetBucketStorageInfoResult")
_OBS_CLASS = _Kind("storageClass", "StorageClass")
_S3_CLASS = _Kind("storagePolicy", "StoragePolicy")
_ENCRYPTION = _Kind(
    "encryption",
    "ServerSideEncryptionConfiguration",
    ("NoSuchEncryptionConfiguration", "ServerSideEncryptionConfigurationNotFoundError"),
)


class ObsSettings:
    """One account's bucket settings. Every method raises AppError; NotOffered where a service has no such thing.

    What is set answers with what the service has afterwards; Conflict: somebody changed it since it was `seen`.
    """

    def __init__(self, account: ObsAccount) -> None:
        self._account = account
        self._is_s3 = not account.speaks_obs
        self.tag_limits = S3_TAGS if account.is_foreign else OBS_TAGS
        self._class = _S3_CLASS if self._is_s3 else _OBS_CLASS

    async def facts(self, bucket: str) -> BucketFacts:
        """What could be found out; a part that could not stays unknown, with the reason."""
        place = ObjectPath(bucket)
        answer = await self._account.ask(lambda client: client.getBucketMetadata(bucket), place)
        told = answer.body or {}
        values: dict[str, Any] = {}
        unknown: dict[str, AppError] = {}
        parts: dict[str, Callable[[str], Awaitable[Any]]] = {
            "created": self._created,
            "used": self._used,
            "versioning": self.versioning,
            "quota_bytes": self._quota,
            "encryption": self.encryption,
            "storage_class": self._storage_class,
        }

        async def find(name: str) -> None:
            # One answer that is missing must not hide the others.
            try:
                values[name] = await parts[name](bucket)
            except KeysRefused:
                raise
            except AppError as error:
                unknown[name] = error

        await gather_or_raise(find(name) for name in parts)
        if not values and all(error.kind == "service" for error in unknown.values()):
            raise next(iter(unknown.values()))  # there is nobody who could be asked
        objects, size_bytes = values.pop("used", (None, None))
        if not values.get("storage_class"):
            values["storage_class"] = our_class(told.get("storageClass") or "")
        return BucketFacts(
            name=bucket,
            endpoint=self._account.profile.obs_url,
            region=told.get("location") or "",
            objects=objects,
            size_bytes=size_bytes,
            obs_version=told.get("obsVersion") or "",
            zones=told.get("availableZone") or "",
            unknown={name: error.title for name, error in unknown.items()},
            **values,
        )

    async def _created(self, bucket: str) -> datetime | None:
        buckets = await self._account.over_wire(lambda plane: plane.buckets())
        return next((found.created for found in buckets if found.name == bucket), None)

    async def _used(self, bucket: str) -> tuple[int | None, int | None]:
        root = await self._needed(bucket, _USED)
        return self._number(root, "ObjectNumber"), self._number(root, "Size")

    async def versioning(self, bucket: str) -> Versioning:
        root = await self._needed(bucket, _VERSIONING)
        status = (root.findtext("Status") or "").strip()
        try:
            return Versioning(status)
        except ValueError:
            raise self._unreadable(f"{_VERSIONING.root}: {status}") from None

    async def _quota(self, bucket: str) -> int:
        found = self._number(await self._needed(bucket, _QUOTA), "StorageQuota")
        if found is None:  # not to be taken for 0, which is no limit
            raise self._unreadable(f"{_QUOTA.root} without a number")
        return found

    async def region(self, bucket: str) -> str:
        """Where it is; empty: the service does not say. NotFound: there is no such bucket."""
        answer = await self._account.ask(lambda client: client.getBucketMetadata(bucket), ObjectPath(bucket))
        return str((answer.body or {}).get("location") or "")

    async def used_bytes(self, bucket: str) -> int | None:
        """What all of it takes, counted by the service every now and then."""
        return (await self._used(bucket))[1]

    async def encryption(self, bucket: str) -> str:
        """The method by which it encrypts what comes; empty: by none."""
        root = await self._document(bucket, _ENCRYPTION)
        if root is None:
            return ""
        return root.findtext("Rule/ApplyServerSideEncryptionByDefault/SSEAlgorithm") or "?"

    async def _storage_class(self, bucket: str) -> str:
        root = await self._needed(bucket, self._class)
        return our_class((root.findtext("DefaultStorageClass") or root.text or "").strip())

    async def set_storage_class(self, bucket: str, storage_class: str) -> None:
        """For objects that come without a class of their own."""
        if self._is_s3:
            await self._set(bucket, self._class, "DefaultStorageClass", s3_class(storage_class))
        else:
            await self._set(bucket, self._class, "", storage_class)
        self._check(await self._storage_class(bucket) == storage_class, bucket)

    async def set_versioning(self, bucket: str, *, enabled: bool) -> None:
        """Not enabled: suspended; it cannot be switched off again."""
        wanted = Versioning.ENABLED if enabled else Versioning.SUSPENDED
        await self._set(bucket, _VERSIONING, "Status", wanted.value)
        self._check(await self.versioning(bucket) is wanted, bucket)

    async def set_quota(self, bucket: str, quota_bytes: int) -> None:
        """0: no limit."""
        if not 0 <= quota_bytes <= MOST_QUOTA_BYTES:
            raise InvalidInput(text("A quota is 0 to {most} bytes.", most=MOST_QUOTA_BYTES), text("0 means no limit."))
        await self._set(bucket, _QUOTA, "StorageQuota", str(quota_bytes))
        self._check(await self._quota(bucket) == quota_bytes, bucket)

    async def tags(self, bucket: str) -> TagSetting:
        root = await self._document(bucket, _TAGS)
        return TagSetting(read_tags(root) if root is not None else (), xml_of(root))

    async def set_tags(self, bucket: str, tags: Tags, seen: str) -> TagSetting:
        for wrong in tag_mistakes(tags, self.tag_limits).values():
            raise _unusable(wrong)
        await self._keep(bucket, _TAGS, tags_document(tags) if tags else None, seen)
        return await self.tags(bucket)

    async def cors(self, bucket: str) -> CorsSetting:
        root = await self._document(bucket, _CORS)
        return CorsSetting(read_cors(root) if root is not None else (), xml_of(root))

    async def set_cors(self, bucket: str, rules: tuple[CorsRule, ...], seen: str) -> CorsSetting:
        for wrong in filter(None, map(cors_mistake, rules)):
            raise _unusable(wrong)
        await self._keep(bucket, _CORS, _written(cors_document, rules) if rules else None, seen)
        return await self.cors(bucket)

    async def lifecycle(self, bucket: str) -> LifecycleSetting:
        root = await self._document(bucket, _LIFECYCLE)
        return LifecycleSetting(read_lifecycle(root) if root is not None else (), xml_of(root))

    async def set_lifecycle(self, bucket: str, rules: tuple[LifecycleRule, ...], seen: str) -> LifecycleSetting:
        known = read_lifecycle(ET.fromstring(seen)) if seen else ()
        for wrong in mistakes(rules, known).values():
            raise _unusable(wrong)
        root = _written(partial(lifecycle_document, is_s3=self._is_s3), rules) if rules else None
        if len(xml_of(root).encode()) > MOST_LIFECYCLE_BYTES:
            raise _unusable(text("All rules together have more than 20 KB."))
        await self._keep(bucket, _LIFECYCLE, root, seen)
        return await self.lifecycle(bucket)

    async def _keep(self, bucket: str, kind: _Kind, root: ET.Element | None, seen: str) -> None:
        """None removes it. What somebody set since it was seen is not overwritten."""
        now = xml_of(await self._document(bucket, kind))
        if now != seen:
            raise Conflict(
                text("These settings of “{bucket}” were changed by someone else.", bucket=bucket),
                text("Reload and check them, then make your change again."),
            )
        if root is not None:
            await self._put(bucket, kind, root)
        elif now:
            await self._account.ask(lambda client: client.delete_setting(bucket, kind.name), ObjectPath(bucket))

    async def _set(self, bucket: str, kind: _Kind, name: str, words: str) -> None:
        """The one element of this name in it, without a name its text."""
        await self._needed(bucket, kind)
        root = ET.Element(kind.root)
        (ET.SubElement(root, name) if name else root).text = words
        await self._put(bucket, kind, root)

    async def _put(self, bucket: str, kind: _Kind, root: ET.Element) -> None:
        xml = xml_of(root)
        await self._account.ask(lambda client: client.put_setting(bucket, kind.name, xml), ObjectPath(bucket))

    async def _needed(self, bucket: str, kind: _Kind) -> ET.Element:
        root = await self._document(bucket, kind)
        assert root is not None, "only those that can be missing are"
        return root

    async def _document(self, bucket: str, kind: _Kind) -> ET.Element | None:
        """None: the bucket has none of it."""
        answer = await self._account.ask(
            lambda client: client.setting(bucket, kind.name), ObjectPath(bucket), fine=kind.missing
        )
        if answer.status >= 300:
            return None
        xml = self._account.body(answer)
        try:
            return document(xml, kind.root, *kind.also)
        except ValueError as error:
            if _is_list(xml):  # the question was taken for one for the bucket
                raise NotOffered(
                    text("{host} has no such setting for buckets.", host=self._account.service.host),
                    text("Nothing was changed."),
                    kind.name,
                ) from None
            raise not_understood(replace(self._account.refusal(answer), message=str(error))) from None

    def _unreadable(self, detail: str) -> AppError:
        return not_understood(ErrorResponse(self._account.service, 200, message=detail))

    def _number(self, root: ET.Element, name: str) -> int | None:
        return bounds.whole_number((root.findtext(name) or "").strip())

    def _check(self, is_so: bool, bucket: str) -> None:
        if not is_so:
            raise ServiceTrouble(
                text("{host} accepted the change of “{bucket}” but did not apply it.", host=self._account.service.host,
                     bucket=bucket),
                text("Reload to see the current settings, then try again."),
            )  # fmt: skip


def _written(make: Callable[[Any], ET.Element], rules: object) -> ET.Element:
    try:
        return make(rules)
    except ValueError:
        raise _unusable(text("A value contains a character that cannot be written.")) from None


def _unusable(wrong: Text) -> InvalidInput:
    return InvalidInput(wrong, text("Nothing was changed."))


def _is_list(xml: str) -> bool:
    try:
        document(xml, "ListBucketResult")
    except ValueError:
        return False
    return True
