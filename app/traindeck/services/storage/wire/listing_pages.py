"""A page of a listing, read fast: a full scan of a bucket is mostly this."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from urllib.parse import unquote_plus

from traindeck.services.storage.data_ports import ListingPage, ObjectRow
from traindeck.services.storage.documents import document, moment, our_class

# The usual elements in their usual order, nothing escaped in the name; what differs is read the slow way.
_OWNER = r"(?:<Owner>.*?</Owner>\s*)?"
_ROW = re.compile(
    r"<Contents>\s*<Key>([^<&]*)</Key>\s*<LastModified>([^<]*)</LastModified>\s*"
    r"<ETag>(?:&quot;|&#34;|\")?([^<&\"]*)(?:&quot;|&#34;|\")?</ETag>\s*<Size>(\d+)</Size>\s*"
    + _OWNER
    + r"(?:<StorageClass>([^<]*)</StorageClass>\s*)?(?:<Type>[^<]*</Type>\s*)?"
    + _OWNER
    + "</Contents>",
    re.DOTALL,
)
_FIRST_ROW = "<Contents>"
_LAST_ROW = "</Contents>"


def page_of(xml: str | bytes) -> ListingPage:
    """ValueError: this is no listing."""
    words = xml.decode("utf-8") if isinstance(xml, bytes) else xml
    first, end = words.find(_FIRST_ROW), words.rfind(_LAST_ROW) + len(_LAST_ROW)
    rows_xml = words[first:end] if first >= 0 else ""
    found = _ROW.findall(rows_xml)
    if "<CommonPrefixes>" in rows_xml or len(found) != rows_xml.count(_FIRST_ROW):
        root = document(words, "ListBucketResult")
        return _page(root, _rows_of(root))
    root = document(words[:first] + words[end:] if rows_xml else words, "ListBucketResult")
    is_encoded = _is_encoded(root)
    rows = [
        ObjectRow(_decoded(key) if is_encoded else key, int(size), moment(modified), etag, our_class(storage_class))
        for key, modified, etag, size, storage_class in found
    ]
    return _page(root, rows)


def _decoded(key: str) -> str:
    """Most names hold no other escape than that of the slash, and decoding the rest is slow."""
    key = key.replace("%2F", "/")
    return unquote_plus(key) if "%" in key else key.replace("+", " ")


def _rows_of(root: ET.Element) -> list[ObjectRow]:
    decode = unquote_plus if _is_encoded(root) else str
    return [
        ObjectRow(
            decode(node.findtext("Key") or ""),
            int(node.findtext("Size") or 0),
            moment(node.findtext("LastModified")),
            (node.findtext("ETag") or "").strip('"'),
            our_class(node.findtext("StorageClass") or ""),
        )
        for node in root.iterfind("Contents")
    ]


def _page(root: ET.Element, rows: list[ObjectRow]) -> ListingPage:
    decode = unquote_plus if _is_encoded(root) else str
    folders = [decode(node.findtext("Prefix") or "") for node in root.iterfind("CommonPrefixes")]
    more = root.findtext("IsTruncated") == "true"
    # Other S3 services omit the marker when no delimiter was given: it is the last name then.
    last = max([*(row.key for row in rows[-1:]), *folders[-1:]], key=str.encode, default="")
    return ListingPage(rows, folders, (decode(root.findtext("NextMarker") or "") or last) if more else "")


def _is_encoded(root: ET.Element) -> bool:
    return root.findtext("EncodingType") == "url"
