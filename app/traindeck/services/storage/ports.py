"""What managing buckets needs from an object store, as protocols; adapters implement them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Protocol

from traindeck.domain.storage.access import Acl, CannedAcl, Exposure, Grantees
from traindeck.domain.storage.bucket_settings import (
    BucketFacts,
    CorsRule,
    CorsSetting,
    LifecycleRule,
    LifecycleSetting,
    TagLimits,
    Tags,
    TagSetting,
)
from traindeck.domain.storage.buckets import BucketContents, NewBucket
from traindeck.domain.storage.object_facts import (
    HeadChange,
    ObjectFacts,
    ObjectVersion,
    RestoreSpeed,
    Restoring,
    SignedLink,
)
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.storage.policies import PolicyForm

OnProgress = Callable[[BucketContents], None]
"""Called with what was found, or is gone, so far."""


class Access(Protocol):
    """Who may reach the buckets of one account. Every method raises AppError."""

    @property
    def form(self) -> PolicyForm:
        """How policies are written here."""

    @property
    def region(self) -> str: ...

    @property
    def grantees(self) -> tuple[Grantees, ...]:
        """Whom a grant may be for."""

    @property
    def storage_classes(self) -> tuple[str, ...]:
        """Those a bucket may be made with; the first is the usual one."""

    @property
    def can_deliver(self) -> bool:
        """Whether a grant on a bucket can be handed on to its objects."""

    async def policy(self, bucket: str) -> str:
        """The text as the service keeps it; empty: there is none."""

    async def set_policy(self, bucket: str, policy: str) -> None:
        """An empty text removes it."""

    async def acl(self, place: ObjectPath, version: str = "") -> Acl:
        """Of a bucket or of an object."""

    async def set_acl(self, place: ObjectPath, acl: Acl, version: str = "") -> None:
        """When it returns the service has shown the same list."""

    async def set_canned_acl(self, place: ObjectPath, canned: CannedAcl, version: str = "") -> None: ...

    async def exposure(self, bucket: str, *, patiently: bool = True) -> Exposure:
        """What policy and grants come to; what may not be looked at stays unknown."""

    async def create(self, wanted: NewBucket) -> None:
        """Conflict: it is there already, and stays as it was."""

    async def count(self, bucket: str, on_progress: OnProgress) -> BucketContents: ...

    async def empty(self, bucket: str, on_progress: OnProgress) -> BucketContents:
        """Delete everything in it, with all versions and unfinished uploads; the answer is what went."""

    async def remove(self, bucket: str) -> None:
        """Conflict: it is not empty."""


class BucketSettings(Protocol):
    """One account's bucket settings. Every method raises AppError; NotOffered where a service has no such thing.

    What is set answers with what the service has afterwards; Conflict: somebody changed it since it was `seen`.
    """

    @property
    def tag_limits(self) -> TagLimits: ...

    async def facts(self, bucket: str) -> BucketFacts:
        """What could be found out; a part that could not stays unknown, with the reason."""

    async def set_storage_class(self, bucket: str, storage_class: str) -> None:
        """For objects that come without a class of their own."""

    async def set_versioning(self, bucket: str, *, enabled: bool) -> None:
        """Not enabled: suspended; it cannot be switched off again."""

    async def set_quota(self, bucket: str, quota_bytes: int) -> None:
        """0: no limit."""

    async def tags(self, bucket: str) -> TagSetting: ...

    async def set_tags(self, bucket: str, tags: Tags, seen: str) -> TagSetting: ...

    async def cors(self, bucket: str) -> CorsSetting: ...

    async def set_cors(self, bucket: str, rules: tuple[CorsRule, ...], seen: str) -> CorsSetting: ...

    async def lifecycle(self, bucket: str) -> LifecycleSetting: ...

    async def set_lifecycle(self, bucket: str, rules: tuple[LifecycleRule, ...], seen: str) -> LifecycleSetting: ...


class ObjectProperties(Protocol):
    """One account's objects, apart from their bytes. Every method raises AppError."""

    @property
    def most_metadata_bytes(self) -> int:
        """So much the names and values of one object's metadata may have together."""

    async def facts(self, path: ObjectPath, version: str = "") -> ObjectFacts:
        """NotFound: there is no such object."""

    async def is_public(self, path: ObjectPath) -> bool | None:
        """Whether anybody may read it; None: that could not be found out."""

    async def change(self, path: ObjectPath, change: HeadChange, seen: ObjectFacts | None = None) -> ObjectFacts:
        """Say it differently, without the bytes being sent again; the answer is what the service says now.

        Conflict: it is no longer what `seen` is.
        """

    async def ensure(self, path: ObjectPath, change: HeadChange) -> bool:
        """The same for one of many, not looked at again; False: it was as wanted already."""

    async def tags(self, path: ObjectPath) -> dict[str, str]:
        """NotOffered: the service has none."""

    async def set_tags(self, path: ObjectPath, tags: Mapping[str, str]) -> None: ...

    async def restore(
        self, path: ObjectPath, days: int, speed: RestoreSpeed = RestoreSpeed.STANDARD, version: str = ""
    ) -> Restoring: ...

    async def versions(self, path: ObjectPath) -> list[ObjectVersion]:
        """Newest first; one without id where the bucket keeps none."""

    async def make_current(self, path: ObjectPath, version: str) -> None:
        """Copy an old version onto the object; the old one stays."""

    async def remove_version(self, path: ObjectPath, version: str) -> None:
        """For good; to remove the marker of a deletion brings the object back."""

    async def link(self, path: ObjectPath, lasts: timedelta, *, method: str = "GET", version: str = "") -> SignedLink:
        """Made here, without asking anybody."""
