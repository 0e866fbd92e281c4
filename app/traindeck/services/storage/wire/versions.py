"""What a bucket keeps of objects that were replaced or deleted."""

from __future__ import annotations

import asyncio
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import replace
from urllib.parse import unquote_plus

from traindeck.domain.errors import AppError
from traindeck.domain.storage.objects import ObjectPath
from traindeck.runtime.tasks import gather_or_raise
from traindeck.services.http.errors import not_understood
from traindeck.services.storage.contents import BytesBody
from traindeck.services.storage.data_ports import NotRemoved, Version, VersionPage
from traindeck.services.storage.documents import element, is_writable, moment
from traindeck.services.storage.errors import need_key
from traindeck.services.storage.wire.account import WireAccount
from traindeck.services.storage.wire.answers import bare, document_of
from traindeck.services.storage.wire.connection import Answered
from traindeck.services.storage.wire.requests import Request

_MARKER = "DeleteMarker"
_NEVER = ("NotImplemented", "ServiceNotImplemented", "MethodNotAllowed", "FsNotSupport")


async def keeps_versions(account: WireAccount, bucket: str) -> bool:
    """Whether what is deleted now can be brought back; a service that knows no versions keeps none."""
    found: list[str] = []

    def read(answer: Answered) -> None:
        root = document_of(account, answer, "VersioningConfiguration", "GetBucketVersioningResponse")
        found.append(next((node.text or "" for node in root.iter("Status")), ""))

    answer = await account.ask(Request("GET", ObjectPath(bucket), {"versioning": None}), fine=_NEVER, checked=read)
    return answer.status < 300 and found[-1] == "Enabled"


async def version_page(
    account: WireAccount, bucket: str, prefix: str, after: str, after_version: str, most: int
) -> VersionPage:
    query: dict[str, str | None] = {"versions": None, "encoding-type": "url", "max-keys": str(most)}
    wanted = (("prefix", prefix), ("key-marker", after), ("version-id-marker", after_version if after else ""))
    query |= {name: value for name, value in wanted if value}
    pages: list[VersionPage] = []

    def read(answer: Answered) -> None:
        try:
            pages.append(_page(document_of(account, answer, "ListVersionsResult", "ListBucketVersionsResult")))
        except ValueError as error:
            raise not_understood(account.refusal(answer, str(error))) from error

    answer = await account.ask(Request("GET", ObjectPath(bucket), query), checked=read)
    page = pages[-1]
    if page.next_key and (page.next_key, page.next_version) == (after, after_version):  # else it would never end
        raise not_understood(account.refusal(answer, "the same page again"))
    return page


def _page(root: ET.Element) -> VersionPage:
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
        )
        for node in root
        if node.tag in ("Version", _MARKER)
    ]
    if root.findtext("IsTruncated") != "true":
        return VersionPage(rows, "", "")
    last = rows[-1] if rows else None
    next_key = decode(root.findtext("NextKeyMarker") or "") or (last.key if last else "")
    next_version = root.findtext("NextVersionIdMarker") or ""
    return VersionPage(rows, next_key, next_version)


PAGE_KEYS = 1000
AT_ONCE = 8

_NOT_OFFERED = ("NotImplemented", "ServiceNotImplemented", "MethodNotAllowed")
_MISSING = ("NoSuchKey", "NoSuchVersion")


_LATEST: Mapping[str, str] = {}


async def removed(
    account: WireAccount, bucket: str, keys: Sequence[str], versions: Mapping[str, str] = _LATEST
) -> list[NotRemoved]:
    """Delete them all, or of each key the version named; the answer names those still there."""
    gate = asyncio.Semaphore(AT_ONCE)
    # No document can hold some names; those go singly.
    writable = [key for key in keys if key and is_writable(key)]
    singly = [NotRemoved(key, "", "") for key in keys if not (key and is_writable(key))]

    async def page(names: Sequence[str]) -> list[NotRemoved]:
        async with gate:
            return await _removal_of(account, bucket, names, versions)

    async def one(refused: NotRemoved) -> NotRemoved | None:
        async with gate:
            return await _one(account, bucket, refused, versions)

    starts = range(0, len(writable), PAGE_KEYS)
    for failed in await gather_or_raise(page(writable[start : start + PAGE_KEYS]) for start in starts):
        singly += failed
    return [left for left in await gather_or_raise(one(refused) for refused in singly) if left is not None]


async def _removal_of(
    account: WireAccount, bucket: str, keys: Sequence[str], versions: Mapping[str, str]
) -> list[NotRemoved]:
    """What has to be tried singly."""
    rows = "".join(f"<Object>{element('Key', key)}{_version(versions, key)}</Object>" for key in keys)
    body = BytesBody(f"<Delete><Quiet>true</Quiet>{rows}</Delete>".encode())
    refused: list[NotRemoved] = []

    def read(answer: Answered) -> None:
        refused.clear()
        root = document_of(account, answer, "DeleteResult")
        for node in root.iterfind("Error"):
            key, code, message = (node.findtext(name) or "" for name in ("Key", "Code", "Message"))
            if code not in _MISSING:
                refused.append(NotRemoved(key, code, message))

    request = Request("POST", ObjectPath(bucket), {"delete": None}, {"Content-Type": "application/xml"}, body)
    answer = await account.ask(request, fine=_NOT_OFFERED, checked=read)
    known = set(keys)
    if answer.status >= 300 or not all(one.key in known for one in refused):
        # Not offered, or a name came back otherwise than it went: look at each.
        return [NotRemoved(key, "", "") for key in keys]
    return refused


def _version(versions: Mapping[str, str], key: str) -> str:
    return element("VersionId", versions[key]) if key in versions else ""


async def _one(
    account: WireAccount, bucket: str, refused: NotRemoved, versions: Mapping[str, str]
) -> NotRemoved | None:
    version = versions.get(refused.key)
    target = ObjectPath(bucket, refused.key)
    try:
        need_key(target)  # without one it would be the bucket
        await account.ask(Request("DELETE", target, {"versionId": version} if version else {}), fine=_MISSING)
    except AppError as error:
        return replace(refused, message=error.paragraph())
    return None
