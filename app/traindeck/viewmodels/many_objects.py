"""Many objects for the pages of their properties: counted, and changed in the background."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from PySide6.QtCore import QObject, Signal

from traindeck.domain.bulk_changes import BulkReport, Tally
from traindeck.domain.errors import AppError
from traindeck.domain.object_facts import HeadChange, RestoreSpeed
from traindeck.domain.objects import ObjectEntry
from traindeck.domain.texts import Text, text
from traindeck.services.bulk_changes import BulkChange, Work, changing, restoring, tally
from traindeck.services.object_ports import ObjectProperties
from traindeck.viewmodels.ports import Opener, Tasks


@dataclass(frozen=True, slots=True)
class ManyState:
    """What is known, and how far the work is."""

    tally: Tally | None = None
    is_counting: bool = False
    is_changing: bool = False
    report: BulkReport | None = None
    ending: Text | None = None
    """How the last change ended; None while there was none, or while it goes on."""
    trouble: AppError | None = None


class ManyObjects(QObject):
    """A selection: objects, and folders with all below them."""

    changed = Signal()
    touched = Signal()
    """Something was changed in the bucket."""

    def __init__(self, profile: str, chosen: Sequence[ObjectEntry], connections: Opener, scope: Tasks) -> None:
        super().__init__()
        self.chosen = tuple(chosen)
        self.state = ManyState()
        self._profile = profile
        self._connections = connections
        self._scope = scope
        self._name = f"many objects {id(self)}"

    async def count(self) -> None:
        """Go through all of them; what was counted so far is shown meanwhile."""
        self._become(tally=None, is_counting=True)
        try:
            storage = (await self._connections.open(self._profile)).storage
            found = await tally(storage, self.chosen, self._counted)
            self._become(tally=found)
        finally:
            self._become(is_counting=False)

    def change(self, change: HeadChange) -> None:
        """InvalidInput: this cannot be said about any object."""
        change.check()
        self._begin(lambda objects: changing(objects, change))

    def restore(self, days: int, speed: RestoreSpeed) -> None:
        self._begin(lambda objects: restoring(objects, days, speed))

    def stop(self) -> None:
        """What is done stays done."""
        self._scope.cancel(self._name)

    def _begin(self, make: Callable[[ObjectProperties], Work]) -> None:
        async def work() -> None:
            self._become(is_changing=True, report=BulkReport(), ending=None, trouble=None)
            ending: Text | None = text("Stopped.")
            try:
                connection = await self._connections.open(self._profile)
                job = BulkChange(connection.storage, make(connection.objects), self._told)
                report = await job.run(self.chosen)
                ending = text("Done.") if not report.failed else text("Done, but not everything could be changed.")
            except AppError as error:
                ending = None
                self._become(trouble=error)
            finally:
                self._become(is_changing=False, ending=ending)
                self.touched.emit()

        self._scope.start(self._name, work)

    def _counted(self, so_far: Tally) -> None:
        self._become(tally=so_far)

    def _told(self, report: BulkReport) -> None:
        self._become(report=report)

    def _become(self, **changes: object) -> None:
        self.state = replace(self.state, **changes)  # type: ignore[arg-type]
        self.changed.emit()
