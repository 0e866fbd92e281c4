"""What a bucket keeps of objects that were replaced or deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import replace
from urllib.parse import unquote_plus

from traindeck.domain.errors import AppError
from traindeck.domain.storage.objects import ObjectPath
from traindeck.runtime.tasks import gather_or_raise
from traindeck.services.http.errors import not_understood
from traindeck.services.storage.contents import BytesBody
from traindeck.services.storage.data_ports import NotRemoved, Version, VersionPage
from traindeck.services.storage.documents import document, element, is_writable, moment, our_class
from traindeck.services.storage.errors import need_key, not_offered
from traindeck.services.storage.wire.account import WireAccount
from traindeck.services.storage.wire.answers import bare, document_of
from traindeck.services.storage.wire.connection import Answered
from traindeck.services.storage.wire.requests import Request

_MARKER = "DeleteMarker"
_PAGES = ("ListVersionsResult", "ListVersionResult", "ListBucketVersionsResult")
NEVER = ("NotImplemented", "ServiceNotImplemented", "MethodNotAllowed", "FsNotSupport")


async def versioning(account: WireAccount, bucket: str) -> str:
    """Whether versions are kept, in the words of the service; empty: never, or it knows none."""
    found: list[str] = []

    def read(answer: Answered) -> None:
        root = document_of(account, answer, "VersioningConfiguration", "GetBucketVersioningResponse")
        found.append(next((node.text or "" for node in root.iter("Status")), ""))

    answer = await account.ask(Request("GET", ObjectPath(bucket), {"versioning": None}), fine=NEVER, checked=read)
    return found[-1] if answer.status < 300 else ""


async def version_page(
    account: WireAccount, bucket: str, prefix: str, after: str, after_version: str, most: int
) -> VersionPage:
    query: dict[str, str | None] = {"versions": None, "encoding-type": "url", "max-keys": str(most)}
    wanted = (("prefix", prefix), ("key-marker", after), ("version-id-marker", after_version if after else ""))
    query |= {name: value for name, value in wanted if value}
    pages: list[VersionPage] = []

    def read(answer: Answered) -> None:
        try:
            pages.append(versions_of(answer.body))
        except ValueError as error:
            refusal = account.refusal(answer, str(error))
            # A service that knows no versions takes the question for another one.
            if account.is_foreign and not after:
                raise not_offered(refusal, bucket) from error
            raise not_understood(refusal) from error

    answer = await account.ask(Request("GET", ObjectPath(bucket), query), fine=() if after else NEVER, checked=read)
    if answer.status >= 300:
        raise not_offered(account.refusal(answer), bucket)
    page = pages[-1]
    if page.next_key and (page.next_key, page.next_version) == (after, after_version):  # else it would never end
        raise not_understood(account.refusal(answer, "the same page again"))
    return page


def versions_of(xml: bytes) -> VersionPage:
    """ValueError: this is no listing of versions."""
    root = document(xml, *_PAGES)
    decode = unquote_plus if root.findtext("EncodingType") == "url" else str
    rows = [
        Version(
            decode(node.findtext("Key") or ""),
            node.findtext("VersionId") or "",
            node.findtext("IsLatest") == "true",
            node.tag == _MARKER,
            int(node.findtext("Size") or 0),
            moment(node.findtext("LastModified")),
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


PAGE_KEYS = 1000
AT_ONCE = 8

_NOT_OFFERED = ("NotImplemented", "ServiceNotImplemented", "MethodNotAllowed")
_MISSING = ("NoSuchKey", "NoSuchVersion")


VersionOfKey = tuple[str, str]
"""A key, and which of its versions; none: what it is now."""


async def removed(account: WireAccount, bucket: str, wanted: Collection[VersionOfKey]) -> list[NotRemoved]:
    """Delete them all; the answer names those still there."""
    gate = asyncio.Semaphore(AT_ONCE)
    # No document can hold some names; those go singly.
    writable = [one for one in wanted if one[0] and is_writable(one[0])]
    singly = [NotRemoved(key, "", "", version) for key, version in wanted if not (key and is_writable(key))]

    async def page(some: Sequence[VersionOfKey]) -> list[NotRemoved]:
        async with gate:
            return await _page(account, bucket, some)

    async def one(refused: NotRemoved) -> NotRemoved | None:
        async with gate:
            try:
                await remove_one(account, ObjectPath(bucket, refused.key), refused.version)
            except AppError as error:
                return replace(refused, message=error.paragraph())
            return None

    starts = range(0, len(writable), PAGE_KEYS)
    for failed in await gather_or_raise(page(writable[start : start + PAGE_KEYS]) for start in starts):
        singly += failed
    return [left for left in await gather_or_raise(one(refused) for refused in singly) if left is not None]


async def _page(account: WireAccount, bucket: str, wanted: Sequence[VersionOfKey]) -> list[NotRemoved]:
    """What has to be tried singly."""
    rows = "".join(f"<Object>{element('Key', key)}{_version(version)}</Object>" for key, version in wanted)
    body = BytesBody(f"<Delete><Quiet>true</Quiet>{rows}</Delete>".encode())
    refused: list[NotRemoved] = []

    def read(answer: Answered) -> None:
        refused.clear()
        root = document_of(account, answer, "DeleteResult")
        for node in root.iterfind("Error"):
            key, code, message, version = (node.findtext(name) or "" for name in _REFUSED)
            if code not in _MISSING:
                refused.append(NotRemoved(key, code, message, version))

    request = Request("POST", ObjectPath(bucket), {"delete": None}, {"Content-Type": "application/xml"}, body)
    answer = await account.ask(request, fine=_NOT_OFFERED, checked=read)
    known, keys = set(wanted), {key for key, _ in wanted}
    if answer.status >= 300 or not all(one.key in keys for one in refused):
        # Not offered, or a name came back otherwise than it went: look at each.
        return [NotRemoved(key, "", "", version) for key, version in wanted]
    # Named with no version of ours it may be any of the key's.
    exact = {(one.key, one.version): one for one in refused if (one.key, one.version) in known}
    by_key = {one.key: one for one in refused if (one.key, one.version) not in known}
    found = ((one, exact.get(one) or by_key.get(one[0])) for one in wanted)
    return [replace(failed, version=version) for (_, version), failed in found if failed is not None]


_REFUSED = ("Key", "Code", "Message", "VersionId")


def _version(version: str) -> str:
    return element("VersionId", version) if version else ""


async def remove_one(account: WireAccount, target: ObjectPath, version: str = "") -> None:
    need_key(target)  # without one it would be the bucket
    await account.ask(Request("DELETE", target, {"versionId": version} if version else {}), fine=_MISSING)
