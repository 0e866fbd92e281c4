"""What is said about objects, as a protocol; the adapter of the service implements it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Protocol

from traindeck.domain.object_facts import (
    HeadChange,
    ObjectFacts,
    ObjectVersion,
    RestoreSpeed,
    Restoring,
    SignedLink,
)
from traindeck.domain.objects import ObjectPath


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
