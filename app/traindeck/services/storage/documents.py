"""XML, pages of listings and dates as object stores send and take them."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from urllib.parse import unquote_plus

from traindeck.domain.storage.objects import ObjectRow
from traindeck.runtime.clock import clamped
from traindeck.services.http import bounds
from traindeck.services.storage.bounded_xml import Tag, flat, parsed
from traindeck.services.storage.data_ports import ListingPage

_MARKUP = re.compile("[&<>\t\r\n]")
_FROM_S3 = {"STANDARD_IA": "WARM", "GLACIER": "COLD"}
# What no XML can hold, however it is written. Made ready by who writes: that takes longer than all else here.
_UNWRITABLE = "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
_COLUMNS = ("Key", "LastModified", "ETag", "Size", "StorageClass")
_SAID = ("EncodingType", "IsTruncated", "NextMarker")
_ROOT, _ROW = Tag("ListBucketResult"), Tag("Contents")
TAGS_OF_PAGES = (
    _ROOT, _ROW, *map(Tag, (*_COLUMNS, *_SAID)),
    *map(Tag, ("Name", "Prefix", "Marker", "MaxKeys", "KeyCount", "Delimiter", "StartAfter", "ContinuationToken")),
    *map(Tag, ("NextContinuationToken", "Owner", "ID", "DisplayName", "Type")),
)  # fmt: skip
_CLASS = _COLUMNS[-1]
_FIRST_SEEN = "!"


def document(xml: str | bytes, *names: str) -> ET.Element:
    """The document of one of these names; ValueError: it is another, as of a sign-in page on the way."""
    try:
        root = parsed(xml)
    except ValueError as error:
        raise ValueError(f"expected {names[0]}: {error}") from error
    if root.tag not in names:
        raise ValueError(f"expected {names[0]}, got {root.tag}")
    return root


def size_in(written: str | int | None) -> int:
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
    return clamped(datetime.fromisoformat(iso)) if iso else None


def element(name: str, content: str) -> str:
    """As text of a document; line ends and tabs survive as they are."""
    return f"<{name}>{_MARKUP.sub(lambda found: f'&#{ord(found[0])};', content)}</{name}>"


def is_writable(content: str) -> bool:
    return re.search(_UNWRITABLE, content) is None


def bare(etag: str) -> str:
    return etag.removeprefix("W/").strip('"')


def page_of(xml: str | bytes) -> ListingPage:
    """Read fast, for a full scan of a bucket is mostly this; ValueError: this is no listing."""
    found = flat(xml, TAGS_OF_PAGES)
    page = _page_of_columns(found) if found else None
    if page is not None:
        return page
    root = document(xml, "ListBucketResult")
    folders = [node.findtext("Prefix") or "" for node in root.iterfind("CommonPrefixes")]
    rows = ([node.findtext(name) or "" for name in _COLUMNS] for node in root.iterfind("Contents"))
    said = {name: root.findtext(name) or "" for name in _SAID}
    return _page(said, list(zip(*rows, strict=True)) or [()] * len(_COLUMNS), folders)


def _page_of_columns(found: list[object]) -> ListingPage | None:
    """A page whose rows all have the same elements in the same order; None: it takes a tree to read it."""
    count = found.count(_ROW)
    if count < 2 or found[-1] is not _ROOT:
        return None
    end = found.index(_ROW)
    width = found.index(_ROW, end + 1) - end
    begin = end + 1 - width
    behind = begin + count * width
    if begin < 0 or behind > len(found):
        return None
    columns: dict[str, list[str]] = {}
    before: list[object] = []
    for at in range(begin, begin + width):
        column = found[at:behind:width]
        if isinstance(column[0], Tag):
            if column[0].name in columns or column.count(column[0]) != count:
                return None
            columns[column[0].name] = before  # type: ignore[assignment]  # looked at below
            before = []
        elif before:
            return None
        else:
            before = column
    said = _said_in(found[:begin] + found[behind:])
    rows = [columns.get(name, []) for name in _COLUMNS]
    if said is None or not all(map(_is_clear, rows[:-1] if _CLASS not in columns else rows)):
        return None
    rows[-1] = rows[-1] or [""] * count
    return _page(said, rows, [])


def _is_clear(column: list[str]) -> bool:
    """Texts alone, none of which begins with blanks, for those may be from between the elements."""
    return bool(column) and set(map(type, column)) == {str} and min(column) >= _FIRST_SEEN


def _said_in(found: list[object]) -> dict[str, str] | None:
    """What stands beside the rows; None: there are blanks that may belong to it or not."""
    said: dict[str, str] = {}
    for content, tag in pairwise(found):
        if isinstance(content, str) and isinstance(tag, Tag):
            if content < _FIRST_SEEN:
                return None
            said[tag.name] = content
    return said


def _page(said: Mapping[str, str], columns: Sequence[Sequence[str]], folders: list[str]) -> ListingPage:
    decode = _decoded if said.get("EncodingType") == "url" else str
    keys, modified, etags, written, classes = columns
    sizes = [int(size or 0) for size in written]
    for size in (min(sizes, default=0), max(sizes, default=0)):
        size_in(size)
    rows = [
        ObjectRow(decode(key), size, moment(when), etag.strip('"'), _FROM_S3.get(storage_class, storage_class))
        for key, when, etag, size, storage_class in zip(keys, modified, etags, sizes, classes, strict=True)
    ]
    folders = [decode(folder) for folder in folders]
    more = said.get("IsTruncated") == "true"
    # Other S3 services omit the marker when no delimiter was given: it is the last name then.
    last = max([*(row.key for row in rows[-1:]), *folders[-1:]], key=str.encode, default="")
    following = (decode(said.get("NextMarker") or "") or last) if more else ""
    if more and not following:
        raise ValueError("it goes on, and does not say where")
    return ListingPage(rows, folders, following)


def _decoded(key: str) -> str:
    """Most names hold no other escape than that of the slash, and decoding the rest is slow."""
    key = key.replace("%2F", "/")
    return unquote_plus(key) if "%" in key else key.replace("+", " ")
