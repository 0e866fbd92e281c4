"""What a bucket keeps of objects that were replaced or deleted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Sequence
from dataclasses import replace

from traindeck.domain.errors import AppError
from traindeck.domain.storage.objects import ObjectPath, ObjectVersion
from traindeck.runtime.tasks import gather_or_raise
from traindeck.services.storage.data_ports import BytesBody, NotRemoved, VersionPage
from traindeck.services.storage.documents import (
    bare,
    decoding_of,
    document,
    element,
    is_writable,
    moment,
    our_class,
    size_in,
)
from traindeck.services.storage.errors import NOT_OFFERED, again_and_again, need_key, not_asked_for, not_offered
from traindeck.services.storage.page_count import PageCount
from traindeck.services.storage.wire.account import WireAccount
from traindeck.services.storage.wire.exchange import Answered
from traindeck.services.storage.wire.requests import Request

_MARKER = "DeleteMarker"
_PAGES = ("ListVersionsResult", "ListVersionResult", "ListBucketVersionsResult")
NEVER = (*NOT_OFFERED, "FsNotSupport")
_MISSING = ("NoSuchKey", "NoSuchVersion")
_REFUSED = ("Key", "Code", "Message", "VersionId")
PAGE_KEYS = 1000
AT_ONCE = 8

VersionOfKey = tuple[str, str]
"""A key, and which of its versions; none: what it is now."""


class KeptVersions:
    """The part of a data plane that lists versions, and removes objects and versions of them."""

    def __init__(self, account: WireAccount) -> None:
        self.account = account

    async def keeps_versions(self, bucket: str) -> bool:
        """Whether what is removed now can be restored."""
        return await self.versioning(bucket) == "Enabled"

    async def versioning(self, bucket: str) -> str:
        """Enabled, Suspended, or empty: versions were never kept, or the service knows none."""

        def read(answer: Answered) -> str:
            root = document(answer.body, "VersioningConfiguration", "GetBucketVersioningResponse")
            return next((node.text or "" for node in root.iter("Status")), "")

        request = Request("GET", ObjectPath(bucket), {"versioning": None})
        answer = await self.account.ask(request, fine=NEVER, read=read)
        return answer.content or ""

    async def versions(
        self, bucket: str, prefix: str = "", *, after: str = "", after_version: str = "", most: int = 1000
    ) -> VersionPage:
        """In the order of keys, the latest of each first."""
        account = self.account
        query: dict[str, str | None] = {"versions": None, "encoding-type": "url", "max-keys": str(most)}
        wanted = (("prefix", prefix), ("key-marker", after), ("version-id-marker", after_version if after else ""))
        query |= {name: value for name, value in wanted if value}

        def read(answer: Answered) -> VersionPage:
            try:
                return versions_of(answer.body)
            except ValueError as error:
                # A service that knows no versions takes the question for another one.
                if account.is_foreign and not after:
                    raise not_offered(account.refusal(answer, str(error)), bucket) from error
                raise

        answer = await account.ask(Request("GET", ObjectPath(bucket), query), fine=() if after else NEVER, read=read)
        page: VersionPage | None = answer.content
        if page is None:
            raise not_offered(account.refusal(answer), bucket)
        if page.next_key and (page.next_key < after or (page.next_key, page.next_version) == (after, after_version)):
            raise again_and_again(account.refusal(answer, f"behind {page.next_key!a} after {after!a}"))
        if not all(row.key.startswith(prefix) for row in page.rows):
            raise not_asked_for(account.refusal(answer, "names outside of it"), str(ObjectPath(bucket, prefix)))
        return page

    async def pages_of_versions(
        self, folder: ObjectPath, most: int | None = None
    ) -> AsyncGenerator[list[ObjectVersion], None]:
        """All whose key begins as `folder`; whoever knows enough stops."""
        after, version, pages = "", "", PageCount(most)
        while True:
            page = await self.versions(folder.bucket, folder.key, after=after, after_version=version, most=PAGE_KEYS)
            yield page.rows
            after, version = page.next_key, page.next_version
            if not after:
                return
            pages.came(len(page.rows))

    async def remove(self, bucket: str, keys: Sequence[str]) -> list[NotRemoved]:
        """Any number of keys; the answer names those still there."""
        return await self.remove_versions(bucket, [(key, "") for key in keys])

    async def remove_versions(self, bucket: str, wanted: Collection[VersionOfKey]) -> list[NotRemoved]:
        """The same of keys with versions of them, for good; some versions of one key may be among them."""
        gate = asyncio.Semaphore(AT_ONCE)
        # No document can hold some names; those go singly.
        writable = [one for one in wanted if one[0] and is_writable(one[0])]
        singly = [NotRemoved(key, "", "", version) for key, version in wanted if not (key and is_writable(key))]

        async def page(some: Sequence[VersionOfKey]) -> list[NotRemoved]:
            async with gate:
                return await self._remove_page(bucket, some)

        async def one(refused: NotRemoved) -> NotRemoved | None:
            async with gate:
                try:
                    await self.remove_version(ObjectPath(bucket, refused.key), refused.version)
                except AppError as error:
                    return replace(refused, message=error.paragraph())
                return None

        starts = range(0, len(writable), PAGE_KEYS)
        for failed in await gather_or_raise(page(writable[start : start + PAGE_KEYS]) for start in starts):
            singly += failed
        return [left for left in await gather_or_raise(one(refused) for refused in singly) if left is not None]

    async def remove_version(self, path: ObjectPath, version: str = "") -> None:
        """One for good, without a version the object; one that is gone already is no error."""
        need_key(path)  # without one it would be the bucket
        await self.account.ask(Request("DELETE", path, of_version(version)), fine=_MISSING)

    async def _remove_page(self, bucket: str, wanted: Sequence[VersionOfKey]) -> list[NotRemoved]:
        """What has to be tried singly."""
        ids = ((key, element("VersionId", version) if version else "") for key, version in wanted)
        rows = "".join(f"<Object>{element('Key', key)}{id_xml}</Object>" for key, id_xml in ids)
        body = BytesBody(f"<Delete><Quiet>true</Quiet>{rows}</Delete>".encode())
        request = Request("POST", ObjectPath(bucket), {"delete": None}, {"Content-Type": "application/xml"}, body)
        answer = await self.account.ask(request, fine=NOT_OFFERED, read=_refused_of)
        refused: list[NotRemoved] | None = answer.content
        known, keys = set(wanted), {key for key, _ in wanted}
        if refused is None or not all(one.key in keys for one in refused):
            # Not offered, or a name came back otherwise than it went: look at each.
            return [NotRemoved(key, "", "", version) for key, version in wanted]
        # Named with no version of ours it may be any of the key's.
        exact = {(one.key, one.version): one for one in refused if (one.key, one.version) in known}
        by_key = {one.key: one for one in refused if (one.key, one.version) not in known}
        found = ((one, exact.get(one) or by_key.get(one[0])) for one in wanted)
        return [replace(failed, version=version) for (_, version), failed in found if failed is not None]


def versions_of(xml: bytes) -> VersionPage:
    """ValueError: this is no listing of versions."""
    root = document(xml, *_PAGES)
    decode = decoding_of(root)
    rows = [
        ObjectVersion(
            decode(node.findtext("Key") or ""),
            node.findtext("VersionId") or "",
            node.findtext("IsLatest") == "true",
            moment(node.findtext("LastModified")),
            None if node.tag == _MARKER else size_in(node.findtext("Size")),
            bare(node.findtext("ETag") or ""),
            our_class(node.findtext("StorageClass") or ""),
        )
        for node in root
        if node.tag in ("Version", _MARKER)
    ]
    if root.findtext("IsTruncated") != "true":
        return VersionPage(rows, "", "")
    last = rows[-1] if rows else None
    next_key = decode(root.findtext("NextKeyMarker") or "") or (last.key if last else "")
    next_version = root.findtext("NextVersionIdMarker") or ""
    if not next_key:
        raise ValueError("it goes on, and does not say where")
    return VersionPage(rows, next_key, next_version)


def of_version(version: str) -> dict[str, str | None]:
    return {"versionId": version} if version else {}


def _refused_of(answer: Answered) -> list[NotRemoved]:
    nodes = document(answer.body, "DeleteResult").iterfind("Error")
    found = [NotRemoved(*(node.findtext(name) or "" for name in _REFUSED)) for node in nodes]
    return [one for one in found if one.code not in _MISSING]
