"""What can be looked up and set for a bucket as a whole, as a protocol; adapters implement it."""

from __future__ import annotations

from typing import Protocol

from traindeck.domain.bucket_settings import BucketFacts, CorsRule, CorsSetting, TagLimits, Tags, TagSetting
from traindeck.domain.lifecycle import LifecycleRule, LifecycleSetting


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
