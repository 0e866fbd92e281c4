"""Conditions and ranges: whether, and which part of, an object an answer carries."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from traindeck.lab.obs.errors import InvalidArgument, NoSuchKey, NotImplementedHere, ObsError, PreconditionFailed
from traindeck.lab.obs.records import MOST, ObjectInfo, whole_number
from traindeck.lab.signing.request import http_date

HeaderOf = Callable[[str], str | None]
_RANGE = re.compile(r"([0-9]*)-([0-9]*)")
MAX_RANGES = 100


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


def check_deletion(
    key: str, version: str | None, etag: str | None, size: str | None, modified: str | None
) -> Callable[[ObjectInfo | None], None] | None:
    """For a deletion, what it needs the object to be: as S3 has it, the current one and no other version."""
    if etag is None and size is None and modified is None:
        return None
    if version is not None:
        raise NotImplementedHere("conditions of the deletion of one version")
    wanted_size = None if size is None else whole_number(size)
    moment = _date(modified)
    if (size is not None and wanted_size is None) or (modified is not None and moment is None):
        raise InvalidArgument("if-match", size or modified or "")

    def check(current: ObjectInfo | None) -> None:
        if current is None:
            # Only the tag says that there must be an object.
            if etag is not None:
                raise NoSuchKey(key)
            return
        if etag is not None and not _names(etag, current.etag):
            raise PreconditionFailed("If-Match")
        if wanted_size is not None and wanted_size != current.size:
            raise PreconditionFailed("x-amz-if-match-size")
        if moment is not None and moment != current.modified.replace(microsecond=0):
            raise PreconditionFailed("x-amz-if-match-last-modified-time")

    return check


_ALL = frozenset({"if-match", "if-none-match", "if-modified-since", "if-unmodified-since"})
_OF_WRITES = frozenset({"if-match", "if-none-match"})
_LOOKED_AT = {
    **dict.fromkeys(("PutObject", "CopyObject", "CompleteMultipartUpload", "SetObjectMetadata"), _OF_WRITES),
    "DeleteObject": frozenset({"if-match"}),
}


def refuse_unseen(operation: str, headers: Mapping[str, object]) -> None:
    """Refuse a change with a condition that nobody would look at."""
    if unseen := _ALL.intersection(headers) - _LOOKED_AT.get(operation, frozenset()):
        raise NotImplementedHere(f"the condition {min(unseen)} of this operation")


def byte_ranges(header: HeaderOf, info: ObjectInfo) -> list[ByteRange]:
    """The parts a Range header asks for; none where it means the whole object, as it also does when malformed."""
    text = (header("range") or "").replace(" ", "")
    if not text.startswith("bytes=") or not _is_still_meant(header("if-range"), info):
        return []
    matches = [_RANGE.fullmatch(one) for one in text.removeprefix("bytes=").split(",")]
    found: list[ByteRange] = []
    for match in matches[:MAX_RANGES]:
        if match is None or match.group(1) == match.group(2) == "":
            return []
        first_text, last_text = match.groups()
        if first_text and last_text and _position(last_text) < _position(first_text):
            return []
        if not first_text:
            first, last = max(0, info.size - _position(last_text)), info.size - 1
        else:
            first, last = _position(first_text), _position(last_text) if last_text else info.size - 1
        if first < info.size:
            found.append(ByteRange(first, min(last, info.size - 1)))
    if not found:
        headers = {"Content-Range": f"bytes */{info.size}"}
        raise ObsError(416, "InvalidRange", "The requested range cannot be satisfied.", headers=headers)
    return found


def _position(digits: str) -> int:
    number = whole_number(digits)
    return MOST if number is None else number


def _is_still_meant(condition: str | None, info: ObjectInfo) -> bool:
    moment = _date(condition)
    if moment is not None:
        return info.modified.replace(microsecond=0) <= moment
    return condition is None or _names(condition, info.etag)


def _names(header: str, etag: str) -> bool:
    tags = (tag.strip().removeprefix("W/").strip('"') for tag in header.split(","))
    return any(tag in (etag, "*") for tag in tags)


def _date(text: str | None) -> datetime | None:
    return http_date(text) if text else None
