"""What was deleted below a folder and can be restored, where the bucket keeps versions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from PySide6.QtCore import QObject, Signal

from traindeck.domain.errors import AppError
from traindeck.domain.objects import ObjectPath
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.services.data_ports import DataPlane, VersionPage
from traindeck.services.planes import Planes
from traindeck.viewmodels.deleting import Deleting

MOST = 10_000
"""So many are listed; all of them can be restored at once all the same."""


@dataclass(frozen=True, slots=True)
class Gone:
    """One object that is not there any more."""

    name: str
    deleted: datetime | None


@dataclass(frozen=True, slots=True)
class DeletedState:
    is_reading: bool = True
    keeps_versions: bool | None = None
    is_cut: bool = False
    trouble: AppError | None = None


class DeletedObjects(QObject):
    """Of one folder and all below it; `rows` grow while it is read."""

    changed = Signal()
    grew = Signal(int)
    """Rows came; the number is that of the first."""

    def __init__(
        self, profile: str, folder: ObjectPath, planes: Planes, deleting: Deleting, scope: TaskScope
    ) -> None:
        super().__init__()
        self.folder = folder
        self.rows: list[Gone] = []
        self.state = DeletedState()
        self._profile = profile
        self._planes = planes
        self._deleting = deleting
        self._scope = scope
        self._name = f"deleted in {folder}"

    def read(self) -> None:
        self._scope.start(self._name, self._read, Repeat.REPLACE)

    def close(self) -> None:
        self._scope.cancel(self._name)

    def restore(self, numbers: Sequence[int] | None = None) -> None:
        """The rows of these numbers, or everything there is."""
        names = [self.rows[number].name for number in numbers or ()]
        self._deleting.restore(self._profile, self.folder, names)

    async def _read(self) -> None:
        try:
            keeps = await self._planes.run(self._profile, lambda plane: plane.keeps_versions(self.folder.bucket))
            self._become(keeps_versions=keeps)
            after = version = ""
            while True:
                page = await self._planes.run(self._profile, partial(_page, self.folder, after, version))
                found = [
                    Gone(row.key[len(self.folder.key) :], row.modified)
                    for row in page.rows
                    if row.is_latest and row.is_marker
                ]
                if found:
                    self.rows += found
                    self.grew.emit(len(self.rows) - len(found))
                after, version = page.next_key, page.next_version
                if not after or len(self.rows) >= MOST:
                    break
            self._become(is_cut=bool(after))
        except AppError as error:
            self._become(trouble=error)
        finally:
            self._become(is_reading=False)

    def _become(self, **changes: object) -> None:
        self.state = replace(self.state, **changes)  # type: ignore[arg-type]
        self.changed.emit()


async def _page(folder: ObjectPath, after: str, version: str, plane: DataPlane) -> VersionPage:
    return await plane.versions(folder.bucket, folder.key, after=after, after_version=version)
