"""Lists of grants, versions and unfinished uploads as object stores write them."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from urllib.parse import unquote_plus
from xml.etree.ElementTree import Element

from traindeck.domain.storage.access import Acl, Grant, Grantees, Permission
from traindeck.domain.storage.object_facts import ObjectVersion
from traindeck.services.storage.documents import document, moment, our_class


@dataclass(frozen=True, slots=True)
class VersionPage:
    rows: list[tuple[str, ObjectVersion]]
    """Key and version, in the order of the listing."""
    next_key: str
    next_version: str
    is_last: bool


def version_page(xml: str) -> VersionPage:
    """ValueError: this is no listing of versions."""
    root = document(xml, "ListVersionsResult", "ListVersionResult", "ListBucketVersionsResult")
    decode = unquote_plus if root.findtext("EncodingType") == "url" else str
    rows = [(decode(node.findtext("Key") or ""), _version(node)) for node in root if node.tag in _ROWS]
    return VersionPage(
        rows,
        decode(root.findtext("NextKeyMarker") or ""),
        root.findtext("NextVersionIdMarker") or "",
        root.findtext("IsTruncated") != "true",
    )


_ROWS = ("Version", "DeleteMarker")


def _version(node: Element) -> ObjectVersion:
    is_marker = node.tag == "DeleteMarker"
    return ObjectVersion(
        node.findtext("VersionId") or "",
        node.findtext("IsLatest") == "true",
        moment(node.findtext("LastModified")),
        None if is_marker else int(node.findtext("Size") or 0),
        (node.findtext("ETag") or "").strip('"'),
        our_class(node.findtext("StorageClass") or ""),
    )


_GROUPS = {
    "Everyone": Grantees.EVERYONE,
    "AllUsers": Grantees.EVERYONE,
    "AuthenticatedUsers": Grantees.AUTHENTICATED,
    "LogDelivery": Grantees.LOG_DELIVERY,
}


@dataclass(frozen=True, slots=True)
class Kept:
    """One version of an object, a mark that it was deleted, or an unfinished upload."""

    key: str
    id: str
    size_bytes: int = 0
    is_latest: bool = True
    is_marker: bool = False


@dataclass(frozen=True, slots=True)
class KeptPage:
    rows: list[Kept]
    next_key: str
    next_id: str
    is_last: bool


def policy_of(content: object) -> str:
    """ValueError: it is something else than a policy, as of a service that knows none."""
    if not isinstance(content, str) or not isinstance(json.loads(content), dict):
        raise ValueError("expected a policy")
    return content


def acl_of(xml: str) -> Acl:
    """ValueError: this is no list of grants."""
    root = document(xml, "AccessControlPolicy")
    delivered = root.findtext("Delivered")
    return Acl(
        root.findtext("Owner/ID") or "",
        tuple(_grant(node) for node in root.iterfind("AccessControlList/Grant")),
        None if delivered is None else delivered.strip() == "true",
    )


def versions_of(xml: str) -> KeptPage:
    page = version_page(xml)
    rows = [Kept(key, one.version, one.size_bytes or 0, one.is_latest, one.is_marker) for key, one in page.rows]
    return KeptPage(rows, page.next_key or (rows[-1].key if rows else ""), page.next_version, page.is_last)


def unfinished_of(xml: str) -> KeptPage:
    root = document(xml, "ListMultipartUploadsResult")
    decode = unquote_plus if root.findtext("EncodingType") == "url" else str
    rows = [
        Kept(decode(node.findtext("Key") or ""), node.findtext("UploadId") or "") for node in root.iterfind("Upload")
    ]
    next_key = decode(root.findtext("NextKeyMarker") or "")
    return KeptPage(rows, next_key, root.findtext("NextUploadIdMarker") or "", root.findtext("IsTruncated") != "true")


def _grant(node: ET.Element) -> Grant:
    kind, account = _grantee(node.find("Grantee"))
    permission = Permission((node.findtext("Permission") or "").strip())
    return Grant(kind, permission, account, (node.findtext("Delivered") or "").strip() == "true")


def _grantee(node: ET.Element | None) -> tuple[Grantees, str]:
    if node is None:
        return Grantees.UNKNOWN, ""
    group = node.findtext("Canned") or node.findtext("URI")
    if group is not None:
        known = _GROUPS.get(group.strip().rpartition("/")[2])
        return (known, "") if known else (Grantees.UNKNOWN, group.strip())
    identity = (node.findtext("ID") or "").strip()
    return (Grantees.ACCOUNT, identity) if identity else (Grantees.UNKNOWN, "".join(node.itertext()).strip())
