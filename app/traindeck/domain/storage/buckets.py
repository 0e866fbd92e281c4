"""Making and removing buckets, uploads left unfinished in them, and changes to many objects at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from operator import add

from traindeck.domain.errors import AppError
from traindeck.domain.storage.access import CannedAcl
from traindeck.domain.storage.objects import ObjectPath, is_bucket_name
from traindeck.domain.storage.policies import Template
from traindeck.domain.texts import Text, text

LEAST_NAME, MOST_NAME = 3, 63


class StorageClass(StrEnum):
    """What new objects of a bucket cost, and how fast they come."""

    STANDARD = "STANDARD"
    WARM = "WARM"
    COLD = "COLD"


@dataclass(frozen=True, slots=True)
class NewBucket:
    name: str
    storage_class: str = ""
    """Empty: what the service takes by itself."""
    template: Template = Template.PRIVATE
    acl: CannedAcl | None = None


@dataclass(frozen=True, slots=True)
class BucketContents:
    """What keeps a bucket from being removed."""

    objects: int = 0
    old_versions: int = 0
    markers: int = 0
    fragments: int = 0
    size_bytes: int = 0

    @property
    def is_empty(self) -> bool:
        return not self.count

    @property
    def count(self) -> int:
        return self.objects + self.old_versions + self.markers + self.fragments

    def __add__(self, other: BucketContents) -> BucketContents:
        return BucketContents(*map(add, astuple(self), astuple(other)))


NOTHING = BucketContents()


def name_problem(name: str) -> Text | None:
    """What is wrong with a name for a bucket; None: nothing that can be seen from here."""
    if not name:
        return text("Enter a name.")
    odd = next(
        (sign for sign in name if not (sign.isascii() and (sign.islower() or sign.isdigit() or sign in ".-"))), ""
    )
    if odd.isupper():
        return text("Capital letters are not allowed.")
    if odd:
        return text("“{sign}” is not allowed. Use only a–z, 0–9, dot and hyphen.", sign=odd)
    if not LEAST_NAME <= len(name) <= MOST_NAME:
        return text("A name has {least} to {most} characters.", least=LEAST_NAME, most=MOST_NAME)
    if name[0] in ".-" or name[-1] in ".-":
        return text("A name begins and ends with a letter or digit.")
    if any(pair in name for pair in ("..", ".-", "-.")):
        return text("A dot stands between letters or digits only.")
    if not is_bucket_name(name):
        return text("A name cannot look like an IP address.")
    return None


def name_note(name: str) -> Text | None:
    """What may make a name that is allowed a nuisance."""
    if "." in name:
        return text("A bucket with a dot in its name cannot be reached safely by its host name (https).")
    return None


@dataclass(frozen=True, slots=True)
class UnfinishedUpload:
    """One of them; `is_ours`: a transfer of this computer goes on with it."""

    path: ObjectPath
    upload_id: str
    begun: datetime | None
    is_ours: bool

    def is_older(self, than: timedelta, now: datetime) -> bool:
        """One without a time is not: nobody knows."""
        return self.begun is not None and now - self.begun >= than


@dataclass(frozen=True, slots=True)
class Held:
    """What its parts hold; None: these keys may not look."""

    upload: UnfinishedUpload
    parts: int | None
    size_bytes: int | None


@dataclass(slots=True)
class Ended:
    """What became of those that were to be ended."""

    ended: list[UnfinishedUpload] = field(default_factory=list)
    kept: list[UnfinishedUpload] = field(default_factory=list)
    """One of our transfers goes on with them."""
    failed: list[tuple[UnfinishedUpload, AppError]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Tally:
    """What a selection holds, counted down to the last folder."""

    objects: int = 0
    size_bytes: int = 0
    classes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Objects and bytes by storage class; one that the listing does not name is empty."""


@dataclass(frozen=True, slots=True)
class BulkReport:
    """How far changing many objects is, or how it ended."""

    changed: int = 0
    left_alone: int = 0
    """They were as wanted already."""
    failed: int = 0
    failures: tuple[tuple[ObjectPath, AppError], ...] = ()
    """The first of those that failed, and why."""

    @property
    def seen(self) -> int:
        return self.changed + self.left_alone + self.failed
