"""What managing buckets needs from an object store, as protocols; adapters implement them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from traindeck.domain.access import Exposure
from traindeck.domain.grants import Acl, CannedAcl, Grantees
from traindeck.domain.new_bucket import BucketContents, NewBucket
from traindeck.domain.objects import ObjectPath
from traindeck.domain.policies import PolicyForm

Told = Callable[[BucketContents], None]
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

    async def count(self, bucket: str, told: Told) -> BucketContents: ...

    async def empty(self, bucket: str, told: Told) -> BucketContents:
        """Delete everything in it, with all versions and unfinished uploads; the answer is what went."""

    async def remove(self, bucket: str) -> None:
        """Conflict: it is not empty."""
