"""Listings of versions as they arrive."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote_plus
from xml.etree.ElementTree import Element

from traindeck.domain.object_facts import ObjectVersion
from traindeck.services.storage.documents import document, moment
from traindeck.services.storage.object_heads import our_class


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
