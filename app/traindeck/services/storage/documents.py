"""XML, pages of listings and dates as object stores send and take them."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from urllib.parse import unquote_plus

from traindeck.domain.storage.objects import ObjectRow
from traindeck.runtime.clock import of_http_date
from traindeck.services.http import bounds
from traindeck.services.storage.data_ports import ListingPage

# Services differ in whether they name a namespace, and in which.
_NAMESPACE = re.compile(r"""\sxmlns=(?:"[^"]*"|'[^']*')""")
_MARKUP = re.compile("[&<>\t\r\n]")
_DECLARED = re.compile("<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_FROM_S3 = {"STANDARD_IA": "WARM", "GLACIER": "COLD"}
# What no XML can hold, however it is written. Made ready by who writes: that takes longer than all else here.
_UNWRITABLE = "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
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


def document(xml: str | bytes, *names: str) -> ET.Element:
    """The document of one of these names; ValueError: it is another, as of a sign-in page on the way."""
    words = xml.decode("utf-8") if isinstance(xml, bytes) else xml
    if problem := unfit(words):
        raise ValueError(f"expected {names[0]}: {problem}")
    try:
        root = ET.fromstring(_NAMESPACE.sub("", words.strip(), count=1))
    except ET.ParseError as error:
        raise ValueError(f"expected {names[0]}: {error}") from error
    if root.tag not in names:
        raise ValueError(f"expected {names[0]}, got {root.tag}")
    level = [root]
    for _ in range(bounds.LEVELS):
        level = [child for node in level for child in node]
    if level:
        raise ValueError(f"expected {names[0]}: deeper than any is")
    return root


def unfit(words: str) -> str:
    """Why a document is not even to be parsed, in whatever way; empty: it may be."""
    if words.count("<") > bounds.ELEMENTS:
        return "more elements than any has"
    # No service declares anything; what is declared here may be repeated without end.
    return "a document type of its own" if _DECLARED.search(words) else ""


def size_in(written: str | None) -> int:
    """The size of an object; ValueError: no object has it."""
    size = int(written or 0)
    if not 0 <= size <= bounds.OBJECT_BYTES:
        raise ValueError(f"an object of {size} bytes")
    return size


def decoding_of(root: ET.Element) -> Callable[[str], str]:
    """How the names in a listing are to be read."""
    return unquote_plus if root.findtext("EncodingType") == "url" else str


def our_class(name: str) -> str:
    """A storage class by the name OBS gives it, whichever dialect it came in."""
    return _FROM_S3.get(name, name)


def s3_class(name: str) -> str:
    return next((s3 for s3, ours in _FROM_S3.items() if ours == name), name)


def moment(iso: str | None) -> datetime | None:
    return datetime.fromisoformat(iso) if iso else None


def element(name: str, content: str) -> str:
    """As text of a document; line ends and tabs survive as they are."""
    return f"<{name}>{_MARKUP.sub(lambda found: f'&#{ord(found[0])};', content)}</{name}>"


def is_writable(content: str) -> bool:
    return re.search(_UNWRITABLE, content) is None


@lru_cache(maxsize=4096)
def http_moment(told: str) -> datetime | None:
    """Many objects are of the same second, and reading a date is slow."""
    try:
        return of_http_date(told)
    except ValueError:
        return None


def bare(etag: str) -> str:
    return etag.removeprefix("W/").strip('"')


def page_of(xml: str | bytes) -> ListingPage:
    """Read fast, for a full scan of a bucket is mostly this; ValueError: this is no listing."""
    words = xml.decode("utf-8") if isinstance(xml, bytes) else xml
    first, end = words.find(_FIRST_ROW), words.rfind(_LAST_ROW) + len(_LAST_ROW)
    rows_xml = words[first:end] if first >= 0 else ""
    found = _ROW.findall(rows_xml)
    if "<CommonPrefixes>" in rows_xml or len(found) != rows_xml.count(_FIRST_ROW):
        root = document(words, "ListBucketResult")
        return _page(root, _rows_of(root))
    root = document(words[:first] + words[end:] if rows_xml else words, "ListBucketResult")
    decode = str if decoding_of(root) is str else _decoded
    rows = [
        ObjectRow(decode(key), size_in(size), moment(modified), etag, our_class(storage_class))
        for key, modified, etag, size, storage_class in found
    ]
    return _page(root, rows)


def _decoded(key: str) -> str:
    """Most names hold no other escape than that of the slash, and decoding the rest is slow."""
    key = key.replace("%2F", "/")
    return unquote_plus(key) if "%" in key else key.replace("+", " ")


def _rows_of(root: ET.Element) -> list[ObjectRow]:
    decode = decoding_of(root)
    return [
        ObjectRow(
            decode(node.findtext("Key") or ""),
            size_in(node.findtext("Size")),
            moment(node.findtext("LastModified")),
            (node.findtext("ETag") or "").strip('"'),
            our_class(node.findtext("StorageClass") or ""),
        )
        for node in root.iterfind("Contents")
    ]


def _page(root: ET.Element, rows: list[ObjectRow]) -> ListingPage:
    decode = decoding_of(root)
    folders = [decode(node.findtext("Prefix") or "") for node in root.iterfind("CommonPrefixes")]
    more = root.findtext("IsTruncated") == "true"
    # Other S3 services omit the marker when no delimiter was given: it is the last name then.
    last = max([*(row.key for row in rows[-1:]), *folders[-1:]], key=str.encode, default="")
    following = (decode(root.findtext("NextMarker") or "") or last) if more else ""
    if more and not following:
        raise ValueError("it goes on, and does not say where")
    return ListingPage(rows, folders, following)
