"""Buckets, objects and the many ways people write where one is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from itertools import pairwise
from urllib.parse import parse_qs, quote, unquote, urlsplit

from traindeck.domain.errors import InvalidInput
from traindeck.domain.texts import beginning, text

# Names of user metadata. The first is the MD5 of the whole file; with the second the ETag of a file sent in parts can
# be computed from its content; the third is the MD5 of what an archive is made of: names, sizes, times, MD5s. The
# others are spelled as rclone spells them.
MD5_NAME = "traindeck-md5"
PART_BYTES_NAME = "traindeck-part-bytes"
MEMBERS_NAME = "traindeck-members"
TIME_NAME = "mtime"
MODE_NAME = "mode"

_SCHEME = re.compile(r"(?:obs|s3[an]?)://?", re.IGNORECASE)
_WEB = re.compile(r"https?://", re.IGNORECASE)
_ADDRESS = re.compile(r"(?:obs|s3[an]?|https?):", re.IGNORECASE)
_CLOUD_HOST = re.compile(r"[a-z0-9.-]+\.myhuaweicloud\.(?:com|cn|eu)(?:/|$)")
_QUOTES = ('""', "''", "``", "“”", "‘’", "「」", "<>")
# The part of a host name from which on it names the service and no longer the bucket.
_SERVICE = re.compile(r"obs|obsv3|obs-website|s3|s3-.+")
_NUMBERS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}|.*:.*|localhost")
_BLANKS = " \t\r\n"  # any other space may be the end of a name
_CONSOLE = "/obs/manage"
_IN_CONSOLE = ("manage", "manager", "bucket", "buckets")
_KEY_NAMES = ("prefix", "path", "key", "objectKey")


def spelled(spelling: str) -> tuple[str, str] | None:
    """The bucket and the key, neither of them checked; None: an address that names no place."""
    rest = _unquoted(spelling)
    if _WEB.match(rest):
        return _web(rest)
    if _CLOUD_HOST.match(rest):
        return _web(f"https://{rest}")
    scheme = _SCHEME.match(rest)
    rest = rest[scheme.end() :] if scheme else rest
    rest = rest.replace("\\", "/") if not scheme and "/" not in rest else rest
    bucket, _, key = rest.removeprefix("/").partition("/")
    return bucket, key


def names_a_service(spelling: str) -> bool:
    """It is no file of this computer, even where slashes are missing: it begins as an address does."""
    return _ADDRESS.match(_unquoted(spelling)) is not None


def _unquoted(spelling: str) -> str:
    rest = spelling.strip(_BLANKS)
    while len(rest) > 1 and rest[0] + rest[-1] in _QUOTES:
        rest = rest[1:-1].strip(_BLANKS)
    return rest


def _web(address: str) -> tuple[str, str] | None:
    try:
        parts = urlsplit(address)
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        return None
    labels = host.split(".")
    if parts.fragment.startswith(_CONSOLE):
        return _console(parts.fragment, parts.query)
    path = unquote(parts.path.removeprefix("/"))
    services = [number for number, label in enumerate(labels) if _SERVICE.fullmatch(label)]
    if services and services[-1] > 0:
        return ".".join(labels[: services[-1]]), path or _named(parts.query)
    if services or _NUMBERS.fullmatch(host):
        bucket, _, key = path.partition("/")
        return bucket, key or _named(parts.query)
    return None


def _console(route: str, query: str) -> tuple[str, str] | None:
    """The page of a bucket in the web console; the folder it shows stands in the query of the route."""
    place, _, own_query = route.partition("?")
    segments = [unquote(segment) for segment in place.split("/") if segment]
    for before, segment in pairwise(segments):
        if before in _IN_CONSOLE and segment not in _IN_CONSOLE:
            return segment, _named(own_query) or _named(query)
    return None


def _named(query: str) -> str:
    values = parse_qs(query)
    return next((values[name][0].removeprefix("/") for name in _KEY_NAMES if name in values), "")


_BUCKET = re.compile(r"[a-z0-9](?:[a-z0-9.-]{1,61})[a-z0-9]")
_IPV4 = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
_SIZE = re.compile(r"(\d{1,19}(?:\.\d{1,9})?)\s*([kmgtp]?)(i?)b?", re.IGNORECASE | re.ASCII)
MAX_KEY_BYTES = 1024


def is_bucket_name(name: str) -> bool:
    if _BUCKET.fullmatch(name) is None or _IPV4.fullmatch(name):
        return False
    return not any(pair in name for pair in ("..", ".-", "-."))


@dataclass(frozen=True, slots=True, order=True)
class ObjectPath:
    """A place in object storage; a folder ends with a slash, a bucket has no key."""

    bucket: str
    key: str = ""

    @classmethod
    def parse(cls, spelling: str) -> ObjectPath:
        """Take every spelling: `obs://b/k`, `s3://b/k`, `/b/k`, `b/k`, an address of the service or the console."""
        place = spelled(spelling)
        if place is None or not is_bucket_name(place[0]):
            raise no_place(spelling)
        bucket, key = place
        try:
            length = len(key.encode())
        except UnicodeEncodeError as error:
            shown = key.encode(errors="backslashreplace").decode()
            raise InvalidInput(
                text("The name of “{file}” is not UTF-8 and cannot be stored in OBS.", file=shown),
                text("Check the encoding of the terminal or program it comes from."),
                str(error),
            ) from error
        if length > MAX_KEY_BYTES:
            raise InvalidInput(
                text("The name in “{bucket}” is longer than 1,024 bytes.", bucket=bucket),
                text("Use shorter folder and file names."),
            )
        return cls(bucket, key)

    @property
    def is_bucket(self) -> bool:
        return not self.key

    @property
    def is_folder(self) -> bool:
        return not self.key or self.key.endswith("/")

    @property
    def name(self) -> str:
        return self.key.rstrip("/").rpartition("/")[2] or self.bucket

    @property
    def parent(self) -> ObjectPath:
        head = self.key.rstrip("/").rpartition("/")
        return ObjectPath(self.bucket, head[0] + head[1])

    def as_folder(self) -> ObjectPath:
        return self if self.is_folder else ObjectPath(self.bucket, self.key + "/")

    def join(self, relative: str) -> ObjectPath:
        return ObjectPath(self.bucket, self.as_folder().key + relative)

    def step_to(self, goal: ObjectPath | None) -> ObjectPath | None:
        """The next folder on the way down to `goal`, for whose keys may not look into those above it."""
        if goal is None or goal == self or not self.holds(goal):
            return None
        return self.join(goal.key[len(self.key) :].partition("/")[0] + "/")

    def holds(self, other: ObjectPath) -> bool:
        """Whether it is a folder that the other lies in, or is."""
        return self.is_folder and self.bucket == other.bucket and other.key.startswith(self.key)

    @property
    def api_form(self) -> str:
        """As ModelArts wants it: `/bucket/key`."""
        return f"/{self.bucket}/{self.key}"

    def __str__(self) -> str:
        return f"obs://{self.bucket}/{self.key}"


def shared_beginning(one: str, other: str) -> str:
    """What both begin with, letter by letter."""
    length = next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None)
    return one[: min(len(one), len(other)) if length is None else length]


def no_place(spelling: str) -> InvalidInput:
    return InvalidInput(
        text("“{spelling}” is not an OBS path.", spelling=beginning(spelling)),
        text(
            "Enter it as obs://bucket/folder/. A bucket name has 3 to 63 characters (a–z, 0–9, dot, "
            "hyphen), and begins and ends with a letter or digit."
        ),
    )


def as_written(value: str) -> str:
    """How a value of metadata is sent: as the SDK of the service writes it, so that it reads what we wrote."""
    return quote(value, safe=" ;/?:@&=+$,'*")


def outermost(paths: Iterable[ObjectPath]) -> tuple[ObjectPath, ...]:
    """In order; a folder that is among them stands for what is inside it."""
    kept: list[ObjectPath] = []
    for path in sorted(set(paths)):
        # Everything in a folder comes right behind it.
        if not (kept and kept[-1].holds(path)):
            kept.append(path)
    return tuple(kept)


@dataclass(frozen=True, slots=True)
class Bucket:
    name: str
    created: datetime | None = None
    region: str = ""


@dataclass(frozen=True, slots=True)
class ObjectEntry:
    """One row of a listing: an object, or a folder with no size and no time of its own."""

    path: ObjectPath
    size_bytes: int | None = None
    modified: datetime | None = None
    etag: str = ""
    storage_class: str = ""

    @property
    def is_folder(self) -> bool:
        return self.size_bytes is None


@dataclass(slots=True, unsafe_hash=True)  # not frozen: four times as fast to make, and there may be a million
class ObjectRow:
    """One object of a listing."""

    key: str
    size_bytes: int
    modified: datetime | None
    etag: str
    storage_class: str = ""


@dataclass(frozen=True, slots=True)
class ObjectVersion:
    """One of the versions of an object, or the marker that says it was deleted."""

    key: str
    version: str
    is_latest: bool
    modified: datetime | None
    size_bytes: int | None
    """None: a marker."""
    etag: str = ""
    storage_class: str = ""

    @property
    def is_marker(self) -> bool:
        return self.size_bytes is None


def count_words(count: int | None) -> str:
    """`1,204`; an unknown number stays unknown."""
    return "–" if count is None else f"{count:,}"


def size_words(size_bytes: int | None) -> str:
    """`84 kB`; an unknown size stays unknown."""
    if size_bytes is None:
        return "–"
    value, unit = float(size_bytes), "B"
    for larger in ("kB", "MB", "GB", "TB", "PB"):
        if value < 999.5:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if unit == "B" or value >= 99.5 else f"{value:.3g} {unit}"


def bytes_of(words: str) -> int | None:
    """What `500`, `10MB` or `1.5 GiB` come to; None: it is no size."""
    match = _SIZE.fullmatch(words.strip())
    if match is None:
        return None
    number, unit, binary = match.groups()
    factor: int = (1024 if binary else 1000) ** " kmgtp".index(unit.lower() or " ")
    return int(number) * factor if number.isdecimal() else round(float(number) * factor)


class Column(Enum):
    """What can be sorted by."""

    NAME = "name"
    SIZE = "size"
    MODIFIED = "modified"
    CLASS = "class"


@dataclass(frozen=True, slots=True)
class Look:
    """One level of a folder, or with words of a search whatever below it is named so; and how it is sorted."""

    folder: str = ""
    search: str = ""
    column: Column = Column.NAME
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Size:
    """How much is below a folder, as of a moment."""

    count: int
    size_bytes: int
    as_of: datetime


@dataclass(frozen=True, slots=True)
class Shown:
    """A row with what is known of it; `size` is a folder's, if it was counted."""

    entry: ObjectEntry
    size: Size | None = None
