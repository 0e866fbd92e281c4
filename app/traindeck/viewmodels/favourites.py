"""Places in OBS that the user comes back to."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QObject, Signal

from traindeck.domain.objects import ObjectPath
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.store.settings import Settings, SettingsFile


class Favourites(QObject):
    """Those of every account, in the order they were added; kept in the settings."""

    changed = Signal()

    def __init__(self, file: SettingsFile, disk: BlockingCalls, scope: TaskScope, settings: Settings) -> None:
        super().__init__()
        self._file = file
        self._disk = disk
        self._scope = scope
        self._all = settings.favourites

    def of(self, profile: str) -> list[ObjectPath]:
        return [ObjectPath(bucket, key) for owner, bucket, key in self._all if owner == profile]

    def has(self, profile: str, place: ObjectPath) -> bool:
        return (profile, place.bucket, place.key) in self._all

    def toggle(self, profile: str, place: ObjectPath) -> None:
        """Add it, or take it away."""
        one = (profile, place.bucket, place.key)
        self._all = tuple(other for other in self._all if other != one) if one in self._all else (*self._all, one)
        self.changed.emit()
        kept = self._all

        async def write() -> None:
            await self._disk.run(lambda _: self._file.change(lambda settings: replace(settings, favourites=kept)))

        self._scope.start("keep the favourites", write, Repeat.REPLACE)
