"""Policies and grants in memory, for tests of what stands on the port; who gets in is worked out as everywhere."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from traindeck.domain.errors import AppError, Conflict
from traindeck.domain.storage.access import (
    Acl,
    CannedAcl,
    Exposure,
    Grant,
    Grantees,
    Permission,
    exposure,
)
from traindeck.domain.storage.buckets import BucketContents, NewBucket, StorageClass
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.storage.policies import PolicyForm, template_policy
from traindeck.domain.texts import text
from traindeck.services.storage.emptying import OnBucketProgress
from traindeck.services.storage.sdk.access import ObsAccess

OWNER = "0wner"
OWN = Grant(Grantees.ACCOUNT, Permission.FULL_CONTROL, OWNER)


class FolderAccess(ObsAccess):
    """Beside objects that are files; `trouble` and `wait` are for the test to turn."""

    form = PolicyForm.OBS
    region = "cn-north-4"
    grantees = (Grantees.EVERYONE, Grantees.ACCOUNT)
    storage_classes = tuple(StorageClass)
    can_deliver = True

    def __init__(self, root: Path) -> None:
        self.root = root
        self.policies: dict[str, str] = {}
        self.acls: dict[ObjectPath, Acl] = {}
        self.made: list[NewBucket] = []
        self.asked: list[str] = []
        self.trouble: AppError | None = None
        self.refused: dict[str, AppError] = {}
        """By bucket: what looking at who gets in says."""
        self.wait: asyncio.Event | None = None
        self.step: asyncio.Event | None = None
        """Emptying stops before each object until it is set."""
        self.asking = self.most_asking = 0

    async def _gate(self, bucket: str) -> None:
        self.asking += 1
        self.most_asking = max(self.most_asking, self.asking)
        try:
            await asyncio.sleep(0)
            if self.wait is not None:
                await self.wait.wait()
        finally:
            self.asking -= 1
        if self.trouble is not None:
            raise self.trouble
        if bucket in self.refused:
            raise self.refused[bucket]

    async def policy(self, bucket: str, tries: int = 1) -> str:
        await self._gate(bucket)
        return self.policies.get(bucket, "")

    async def set_policy(self, bucket: str, policy: str) -> None:
        await self._gate(bucket)
        self.policies[bucket] = policy

    async def acl(self, place: ObjectPath, tries: int = 1) -> Acl:
        await self._gate(place.bucket)
        return self.acls.get(place, Acl(OWNER, (OWN,)))

    async def set_acl(self, place: ObjectPath, acl: Acl) -> None:
        await self._gate(place.bucket)
        self.acls[place] = acl

    async def set_canned_acl(self, place: ObjectPath, canned: CannedAcl) -> None:
        raise AssertionError

    async def exposure(self, bucket: str, *, patiently: bool = True) -> Exposure:
        self.asked.append(bucket)
        await self._gate(bucket)
        return exposure(bucket, self.policies.get(bucket, ""), self.acls.get(ObjectPath(bucket), Acl(OWNER, (OWN,))))

    async def create(self, wanted: NewBucket) -> None:
        await self._gate(wanted.name)
        place = self.root / wanted.name
        if place.exists():
            raise Conflict(text("The bucket “{bucket}” already exists.", bucket=wanted.name), text("Choose another."))
        place.mkdir()
        self.made.append(wanted)
        self.policies[wanted.name] = template_policy(wanted.template, wanted.name, self.form)

    async def count(self, bucket: str, on_progress: OnBucketProgress) -> BucketContents:
        await self._gate(bucket)
        found = BucketContents()
        for file in self._files(bucket):
            found += BucketContents(objects=1, size_bytes=file.stat().st_size)
            on_progress(found)
        return found

    async def empty(self, bucket: str, on_progress: OnBucketProgress) -> BucketContents:
        gone = BucketContents()
        for file in self._files(bucket):
            if self.step is not None:
                await self.step.wait()
                self.step.clear()
            gone += BucketContents(objects=1, size_bytes=file.stat().st_size)
            file.unlink()
            on_progress(gone)
        return gone

    async def remove(self, bucket: str) -> None:
        if self._files(bucket):
            raise Conflict(text("The bucket “{bucket}” is not empty.", bucket=bucket), text("Empty it."))
        shutil.rmtree(self.root / bucket)

    def _files(self, bucket: str) -> list[Path]:
        return sorted(path for path in (self.root / bucket).rglob("*") if path.is_file())
