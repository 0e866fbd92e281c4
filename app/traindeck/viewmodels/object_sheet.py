"""One object for the pages of its properties."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Protocol, TypeVar

from PySide6.QtCore import QObject, Signal

from traindeck.domain.grants import Acl, Grantees
from traindeck.domain.object_facts import (
    HeadChange,
    ObjectFacts,
    ObjectVersion,
    RestoreSpeed,
    Restoring,
    SignedLink,
)
from traindeck.domain.objects import ObjectPath
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.data_ports import DataPlane
from traindeck.services.object_ports import ObjectProperties
from traindeck.services.settings_ports import Access
from traindeck.services.version_files import fetch_version
from traindeck.viewmodels.ports import Opener

Result = TypeVar("Result")


class PlaneRunner(Protocol):
    """Runs work where the data of accounts is moved."""

    async def run(self, profile: str, work: Callable[[DataPlane], Awaitable[Result]]) -> Result: ...


class ObjectSheet(QObject):
    """Asks about one object and changes it; nothing is kept here, each page has what it was told."""

    changed = Signal()
    """The object was changed from here: what the pages know of it may be old."""

    def __init__(
        self, profile: str, path: ObjectPath, connections: Opener, planes: PlaneRunner, disk: BlockingCalls
    ) -> None:
        super().__init__()
        self.path = path
        self.most_metadata_bytes = 0
        self._profile = profile
        self._connections = connections
        self._planes = planes
        self._disk = disk

    async def facts(self) -> ObjectFacts:
        objects = await self._objects()
        self.most_metadata_bytes = objects.most_metadata_bytes
        return await objects.facts(self.path)

    async def is_public(self) -> bool | None:
        return await (await self._objects()).is_public(self.path)

    async def change(self, change: HeadChange, seen: ObjectFacts) -> ObjectFacts:
        """Conflict: somebody else has changed it since it was seen."""
        now = await (await self._objects()).change(self.path, change, seen)
        self.changed.emit()
        return now

    async def grantees(self) -> tuple[Grantees, ...]:
        """Whom a grant may be for here."""
        return (await self._access()).grantees

    async def acl(self) -> Acl:
        return await (await self._access()).acl(self.path)

    async def set_acl(self, acl: Acl) -> None:
        await (await self._access()).set_acl(self.path, acl)

    async def tags(self) -> dict[str, str]:
        return await (await self._objects()).tags(self.path)

    async def set_tags(self, tags: Mapping[str, str]) -> None:
        await (await self._objects()).set_tags(self.path, tags)
        self.changed.emit()

    async def restore(self, days: int, speed: RestoreSpeed) -> Restoring:
        done = await (await self._objects()).restore(self.path, days, speed)
        self.changed.emit()
        return done

    async def versions(self) -> Sequence[ObjectVersion]:
        return await (await self._objects()).versions(self.path)

    async def fetch(self, version: ObjectVersion, target: Path) -> None:
        await self._planes.run(
            self._profile, lambda plane: fetch_version(plane, self._disk, self.path, version, target)
        )

    async def make_current(self, version: ObjectVersion) -> None:
        await (await self._objects()).make_current(self.path, version.version)
        self.changed.emit()

    async def remove_version(self, version: ObjectVersion) -> None:
        await (await self._objects()).remove_version(self.path, version.version)
        self.changed.emit()

    async def link(self, lasts: timedelta, method: str, version: str) -> SignedLink:
        return await (await self._objects()).link(self.path, lasts, method=method, version=version)

    async def _objects(self) -> ObjectProperties:
        return (await self._connections.open(self._profile)).objects

    async def _access(self) -> Access:
        return (await self._connections.open(self._profile)).access
