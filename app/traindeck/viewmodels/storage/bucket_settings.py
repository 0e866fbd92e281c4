"""One bucket's settings, as the pages of its dialog read and keep them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from traindeck.domain.storage.bucket_settings import (
    BucketFacts,
    CorsRule,
    CorsSetting,
    LifecycleRule,
    LifecycleSetting,
    TagLimits,
    Tags,
    TagSetting,
    Versioning,
)
from traindeck.domain.storage.buckets import Ended, Held, UnfinishedUpload
from traindeck.domain.storage.objects import ObjectPath, count_words, size_words
from traindeck.domain.texts import say

if TYPE_CHECKING:
    from traindeck.services.accounts.connections import Connections
    from traindeck.services.storage.sdk.settings import ObsSettings
    from traindeck.services.storage.unfinished_uploads import UnfinishedUploads


@dataclass(frozen=True, slots=True)
class Matching:
    """What a rule is about now: counted as far as one page of a listing goes."""

    objects: int
    size_bytes: int
    old_enough: int
    is_all: bool


class BucketService:
    """One bucket of one account; every method raises AppError."""

    def __init__(self, profile: str, bucket: str, accounts: Connections, unfinished: UnfinishedUploads) -> None:
        self.profile = profile
        self.bucket = bucket
        self._accounts = accounts
        self._unfinished = unfinished

    async def _settings(self) -> ObsSettings:
        return (await self._accounts.open(self.profile)).settings

    async def facts(self) -> BucketFacts:
        return await (await self._settings()).facts(self.bucket)

    async def set_storage_class(self, storage_class: str) -> None:
        await (await self._settings()).set_storage_class(self.bucket, storage_class)

    async def set_versioning(self, versioning: Versioning) -> None:
        await (await self._settings()).set_versioning(self.bucket, enabled=versioning is Versioning.ENABLED)

    async def set_quota(self, quota_bytes: int) -> None:
        await (await self._settings()).set_quota(self.bucket, quota_bytes)

    async def tag_limits(self) -> TagLimits:
        return (await self._settings()).tag_limits

    async def tags(self) -> TagSetting:
        return await (await self._settings()).tags(self.bucket)

    async def set_tags(self, tags: Tags, seen: str) -> TagSetting:
        return await (await self._settings()).set_tags(self.bucket, tags, seen)

    async def cors(self) -> CorsSetting:
        return await (await self._settings()).cors(self.bucket)

    async def set_cors(self, rules: tuple[CorsRule, ...], seen: str) -> CorsSetting:
        return await (await self._settings()).set_cors(self.bucket, rules, seen)

    async def lifecycle(self) -> LifecycleSetting:
        return await (await self._settings()).lifecycle(self.bucket)

    async def set_lifecycle(self, rules: tuple[LifecycleRule, ...], seen: str) -> LifecycleSetting:
        return await (await self._settings()).set_lifecycle(self.bucket, rules, seen)

    async def matching(self, rule: LifecycleRule) -> Matching:
        """What the rule would delete as things are; one request, whatever the size of the bucket."""
        storage = (await self._accounts.open(self.profile)).storage
        page = await storage.page(self.bucket, rule.prefix)
        old = [row for row in page.rows if row.modified is not None and _is_due(rule, row.modified)]
        return Matching(len(page.rows), sum(row.size_bytes for row in page.rows), len(old), is_all=not page.next_marker)

    async def each_unfinished(self, take: Callable[[list[UnfinishedUpload]], None]) -> None:
        await self._unfinished.each(self.profile, ObjectPath(self.bucket), take)

    async def measure(self, uploads: Sequence[UnfinishedUpload], take: Callable[[list[Held]], None]) -> None:
        await self._unfinished.measure(self.profile, uploads, take)

    async def end(
        self, uploads: Sequence[UnfinishedUpload], on_progress: Callable[[int], None], *, ours_too: bool = False
    ) -> Ended:
        return await self._unfinished.end(self.profile, uploads, on_progress, ours_too=ours_too)


def _is_due(rule: LifecycleRule, modified: datetime) -> bool:
    now = datetime.now(UTC)
    if rule.expire_days is not None:
        return now - modified >= timedelta(days=rule.expire_days)
    return rule.expire_date is not None and now.date() >= rule.expire_date


def cors_line(rule: CorsRule) -> str:
    origins = ", ".join(rule.origins) or "…"
    return f"{origins} → {', '.join(rule.methods) or '…'}"


def lifecycle_line(rule: LifecycleRule) -> str:
    where = f"{rule.prefix}*" if rule.prefix else say("all objects")
    name = f"{rule.id}: {where}" if rule.id else where
    what = " · ".join(_acts(rule)) or say("does nothing yet")
    return f"{name} — {what}" if rule.is_enabled else say("{rule} (switched off)", rule=f"{name} — {what}")


def _acts(rule: LifecycleRule) -> list[str]:
    acts: list[str] = []
    if rule.is_locked:
        return [", ".join(rule.others)]
    for storage_class, days in rule.moves:
        acts.append(say("{storage_class} after {days} days", storage_class=storage_class, days=days))
    if rule.expire_days is not None:
        acts.append(say("delete after {days} days", days=rule.expire_days))
    if rule.expire_date is not None:
        acts.append(say("delete on {date}", date=rule.expire_date.isoformat()))
    for storage_class, days in rule.old_moves:
        acts.append(say("old versions {storage_class} after {days} days", storage_class=storage_class, days=days))
    if rule.old_expire_days is not None:
        acts.append(say("delete old versions after {days} days", days=rule.old_expire_days))
    if rule.abort_days is not None:
        acts.append(say("end unfinished uploads after {days} days", days=rule.abort_days))
    return [*acts, *rule.others]


def deleting_words(rule: LifecycleRule, now: Matching | None) -> str:
    """What a rule will delete; `now` is what it is about at present, as far as that is known."""
    line = lifecycle_line(rule)
    if now is None:
        return line
    counts = {"rule": line, "objects": count_words(now.objects), "old": count_words(now.old_enough)}
    if not now.is_all:
        return say(
            "{rule}\nThat is more than {objects} objects now; of the first {objects}, {old} are old enough already.",
            **counts,
        )
    return say(
        "{rule}\nThat is {objects} objects now ({size}); {old} of them are old enough already.",
        **counts,
        size=size_words(now.size_bytes),
    )
