"""What the index knows about buckets, objects and uploads."""

from __future__ import annotations

import ipaddress
import json
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime

from traindeck.lab.obs.errors import InvalidArgument, InvalidBucketName, KeyTooLong

# The names are those of OBS; S3 clients have their own for two of them.
STORAGE_CLASSES = ("STANDARD", "WARM", "COLD", "DEEP_ARCHIVE", "INTELLIGENT_TIERING")
S3_CLASSES = {"STANDARD_IA": "WARM", "GLACIER": "COLD"}
DEFAULT_CONTENT_TYPE = "binary/octet-stream"
ENABLED = "Enabled"
SUSPENDED = "Suspended"
# How a version without an id is called.
NULL = "null"
NO_BODY = -1


@dataclass(frozen=True, slots=True)
class BucketInfo:
    """A bucket; `owner` is the canonical id of an account, `settings` the documents stored with it."""

    name: str
    owner: str
    created_ms: int
    number: int = field(repr=False, compare=False)
    versioning: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def storage_class(self) -> str:
        return self.settings.get("storageClass", "STANDARD")


@dataclass(frozen=True, slots=True)
class Traits:
    """The rarer properties of an object; what is not said has its default, and costs nothing to keep."""

    owner: str = ""
    storage_class: str = "STANDARD"
    acl: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    checksums: Mapping[str, str] = field(default_factory=dict)
    checksum_type: str = ""
    upload_id: str = ""
    expires_days: str = ""
    redirect: str = ""
    encryption: Mapping[str, str] = field(default_factory=dict)
    # Of a customer's key: what tells whether another one is the same.
    customer: Mapping[str, str] = field(default_factory=dict)
    appended: int = 0
    restored_days: int = 0
    locked_until_ms: int = 0

    @property
    def is_encrypted(self) -> bool:
        return bool(self.encryption or self.customer)

    @property
    def is_appendable(self) -> bool:
        return self.appended > 0

    def text(self) -> str:
        """As JSON, "" where all is as usual."""
        said = {name: getattr(self, name) for name, usual in _TRAITS.items() if getattr(self, name) != usual}
        return json.dumps(said) if said else ""

    @staticmethod
    def read(text: str) -> Traits:
        return Traits(**json.loads(text)) if text else NO_TRAITS


NO_TRAITS = Traits()
_TRAITS = {one.name: getattr(NO_TRAITS, one.name) for one in fields(Traits)}


@dataclass(frozen=True, slots=True)
class Attributes:
    """What a PUT says about an object beside its bytes."""

    content_type: str = DEFAULT_CONTENT_TYPE
    metadata: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    traits: Traits = NO_TRAITS


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """All of an object but its bytes; `version` is "" for the null version."""

    key: str
    size: int
    etag: str
    modified_ms: int
    content_type: str
    metadata: Mapping[str, str]
    headers: Mapping[str, str]
    body: int = field(repr=False, compare=False)
    version: str = ""
    sequence: int = field(default=0, repr=False, compare=False)
    traits: Traits = NO_TRAITS
    is_marker: bool = False
    # As a decimal number; empty where it is unknown, as for objects that an older Lab stored.
    crc64: str = ""

    @property
    def modified(self) -> datetime:
        return datetime.fromtimestamp(self.modified_ms / 1000, UTC)


@dataclass(frozen=True, slots=True)
class VersionEntry:
    """One line of a listing of versions."""

    info: ObjectInfo
    is_latest: bool

    @property
    def key(self) -> str:
        return self.info.key


@dataclass(frozen=True, slots=True)
class UploadInfo:
    """A multipart upload that was begun; what the object will be is fixed already."""

    upload_id: str
    key: str
    initiator: str
    initiated_ms: int
    attributes: Attributes
    checksum_algorithm: str = ""


@dataclass(frozen=True, slots=True)
class PartInfo:
    """One part of an upload under way."""

    number: int
    size: int
    etag: str
    modified_ms: int
    body: int
    crc64: str = ""
    checksums: Mapping[str, str] = field(default_factory=dict)
    nonce: str = ""


MAX_KEY_BYTES = 1024
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


def check_bucket_name(name: str) -> None:
    if not _BUCKET.fullmatch(name) or ".." in name or ".-" in name or "-." in name:
        raise InvalidBucketName(name)
    with suppress(ValueError):
        ipaddress.IPv4Address(name)
        raise InvalidBucketName(name)


def key_bytes(key: str) -> bytes:
    """The bytes of a key that may be stored: they, not the characters, give the order and the length."""
    encoded = text_bytes(key, "key", "The key is not valid UTF-8.")
    if not encoded:
        raise InvalidArgument("key", "", "The key is empty.")
    if len(encoded) > MAX_KEY_BYTES:
        raise KeyTooLong
    return encoded


def text_bytes(text: str, name: str = "text", refusal: str = "The parameter is not valid UTF-8.") -> bytes:
    """A prefix, marker or delimiter as bytes; unlike a key it may be empty or long."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidArgument(name, ascii(text), refusal) from error


def now_ms() -> int:
    return time.time_ns() // 1_000_000


MOST = 2**63 - 1


def whole_number(text: str, most: int = MOST) -> int | None:
    """The number, None where the text is none from zero to `most`."""
    # Python takes digits of every script, and fails on thousands of them.
    if not (text.isascii() and text.isdigit() and len(text) <= 19):
        return None
    value = int(text)
    return value if value <= most else None
