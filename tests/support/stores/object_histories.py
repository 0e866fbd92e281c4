"""What a bucket should hold: for every key all its versions, the newest first, and what a listing makes of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

LEAST_PART = 100 * 1024
NULL = "null"


@dataclass(frozen=True)
class Kept:
    """One version of an object; without content a marker that the object was deleted."""

    version: str
    content: bytes | None
    metadata: str = "-"
    parts: tuple[bytes, ...] = ()
    is_appended: bool = False

    @property
    def etag(self) -> str:
        """ "" where the wire promises nothing about it."""
        if self.is_appended or self.content is None:
            return ""
        if not self.parts:
            return hashlib.md5(self.content).hexdigest()
        digests = b"".join(hashlib.md5(part).digest() for part in self.parts)
        return f"{hashlib.md5(digests).hexdigest()}-{len(self.parts)}"


@dataclass
class Upload:
    key: str
    upload_id: str
    parts: dict[int, bytes] = field(default_factory=dict)


History = list[Kept]
# Versions (second value: whether it is a marker), then content, metadata and ETag of what is there now.
Outline = tuple[list[tuple[str, bool]], bytes | None, str, str]


def outline(kept: History) -> Outline:
    versions = [(one.version, one.content is None) for one in kept]
    newest = kept[0] if kept and kept[0].content is not None else None
    return (versions, newest.content, newest.metadata, newest.etag) if newest else (versions, None, "", "")


def folded(keys: Iterable[str], prefix: str, delimiter: str, marker: str) -> list[tuple[str, bool]]:
    """What a listing gives in all its pages: keys, and prefixes that stand for several, in the order of bytes."""
    entries: dict[str, bool] = {}
    for key in keys:
        if key.startswith(prefix) and key.encode() > marker.encode():
            at = key.find(delimiter, len(prefix)) if delimiter else -1
            name = key if at < 0 else key[: at + len(delimiter)]
            # A marker that is a folded prefix was the end of the page before.
            if at < 0 or name != marker:
                entries[name] = at >= 0
    return sorted(entries.items(), key=lambda one: one[0].encode())
