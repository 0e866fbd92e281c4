"""Conditions and ranges: whether, and which part of, an object an answer carries."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from traindeck.lab.obs.errors import NoSuchKey, ObsError, PreconditionFailed
from traindeck.lab.obs.index import ObjectInfo

HeaderOf = Callable[[str], str | None]
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")


@dataclass(frozen=True, slots=True)
class ByteRange:
    """A part of an object, both ends included."""

    first: int
    last: int

    @property
    def length(self) -> int:
        return self.last - self.first + 1


def is_not_modified(header: HeaderOf, info: ObjectInfo, *, now: datetime) -> bool:
    """For a read: raises where a condition fails, True where the client's copy is still good."""
    modified = info.modified.replace(microsecond=0)
    match = header("if-match")
    if match is not None:
        if not _names(match, info.etag):
            raise PreconditionFailed("If-Match")
    elif (limit := _date(header("if-unmodified-since"))) and modified > limit:
        raise PreconditionFailed("If-Unmodified-Since")
    none_match = header("if-none-match")
    if none_match is not None:
        return _names(none_match, info.etag)
    since = _date(header("if-modified-since"))
    return since is not None and since <= now and modified <= since


def check_replacement(header: HeaderOf, key: str, current: ObjectInfo | None, *, forbid_overwrite: bool) -> None:
    """For a write: raises where the object as it is now must stay."""
    if forbid_overwrite and current:
        raise ObsError(409, "ObjectAlreadyExists", "The object exists already and must not be overwritten.")
    none_match = header("if-none-match")
    if none_match is not None and current and _names(none_match, current.etag):
        raise PreconditionFailed("If-None-Match")
    match = header("if-match")
    if match is not None:
        if current is None:
            raise NoSuchKey(key)
        if not _names(match, current.etag):
            raise PreconditionFailed("If-Match")


def byte_range(text: str | None, size: int) -> ByteRange | None:
    """The part a Range header asks for; None where it means the whole object, as it also does when malformed."""
    match = _RANGE.fullmatch(text.strip()) if text else None
    if match is None or match.group(1) == match.group(2) == "":
        return None
    first_text, last_text = match.groups()
    if not first_text:
        first, last = max(0, size - int(last_text)), size - 1
        if int(last_text) == 0:
            raise unsatisfiable(size)
    else:
        first = int(first_text)
        last = int(last_text) if last_text else size - 1
        if last_text and last < first:
            return None
    if first >= size:
        raise unsatisfiable(size)
    return ByteRange(first, min(last, size - 1))


def unsatisfiable(size: int) -> ObsError:
    return ObsError(
        416, "InvalidRange", "The requested range cannot be satisfied.", headers={"Content-Range": f"bytes */{size}"}
    )


def _names(header: str, etag: str) -> bool:
    tags = (tag.strip().removeprefix("W/").strip('"') for tag in header.split(","))
    return any(tag in (etag, "*") for tag in tags)


def _date(text: str | None) -> datetime | None:
    if not text:
        return None
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
