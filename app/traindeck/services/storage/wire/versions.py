"""What a bucket keeps of objects that were replaced or deleted."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from urllib.parse import unquote_plus

from traindeck.domain.objects import ObjectPath
from traindeck.services.data_ports import Version, VersionPage
from traindeck.services.sdk_errors import not_understood
from traindeck.services.storage.documents import moment
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
