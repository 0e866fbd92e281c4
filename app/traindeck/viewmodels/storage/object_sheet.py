"""One object for the pages of its properties."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from PySide6.QtCore import QObject, Signal

from traindeck.domain.errors import AppError
from traindeck.domain.storage.access import Grantees
from traindeck.domain.storage.buckets import BulkReport, Tally
from traindeck.domain.storage.object_facts import HeadChange, ObjectFacts, RestoreSpeed
from traindeck.domain.storage.objects import ObjectEntry, ObjectPath, ObjectVersion, count_words
from traindeck.domain.texts import Text, text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.storage.bulk_changes import BulkChange, ChangeObject, changing, restoring, tally
from traindeck.services.transfers.part_files import fetch_version
from traindeck.viewmodels.ports import Stateful, Tasks
from traindeck.viewmodels.shell.journal import Journal, NewsKind

if TYPE_CHECKING:
    from traindeck.services.accounts.connections import Connections
    from traindeck.services.storage.planes import Planes
    from traindeck.services.storage.sdk.access import ObsAccess
    from traindeck.services.storage.sdk.objects import ObsObjects


Result = TypeVar("Result")


class ObjectSheet(QObject):
    """Asks about one object and changes it; nothing is kept here, each page has what it was told."""

    changed = Signal()
    """The object was changed from here: what the pages know of it may be old."""

    def __init__(
        self, profile: str, path: ObjectPath, connections: Connections, planes: Planes, disk: BlockingCalls
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

    async def ask(self, what: Callable[[ObsObjects, ObjectPath], Awaitable[Result]]) -> Result:
        return await what(await self._objects(), self.path)

    async def change(self, what: Callable[[ObsObjects, ObjectPath], Awaitable[Result]]) -> Result:
        """Conflict: somebody else has changed it since it was seen."""
        done = await self.ask(what)
        self.changed.emit()
        return done

    async def ask_access(self, what: Callable[[ObsAccess, ObjectPath], Awaitable[Result]]) -> Result:
        return await what((await self._connections.open(self._profile)).access, self.path)

    async def grantees(self) -> tuple[Grantees, ...]:
        """Whom a grant may be for here."""
        return (await self._connections.open(self._profile)).access.grantees

    async def fetch(self, version: ObjectVersion, target: Path) -> None:
        await self._planes.run(
            self._profile, lambda plane: fetch_version(plane, self._disk, self.path, version, target)
        )

    async def _objects(self) -> ObsObjects:
        return (await self._connections.open(self._profile)).objects


@dataclass(frozen=True, slots=True)
class ManyState:
    """What is known, and how far the work is."""

    tally: Tally | None = None
    is_counting: bool = False
    count_trouble: AppError | None = None
    is_changing: bool = False
    report: BulkReport | None = None
    ending: Text | None = None
    """How the last change ended; None while there was none, or while it goes on."""
    trouble: AppError | None = None


AtWork = set["ManyObjects"]
"""Those whose change goes on, whether anybody looks or not."""


class ManyObjects(Stateful):
    """A selection: objects, and folders with all below them."""

    ended = Signal(object)
    """The change that was begun is over, however it ended."""

    def __init__(
        self, profile: str, chosen: Sequence[ObjectEntry], connections: Connections, scope: Tasks, at_work: AtWork
    ) -> None:
        super().__init__()
        self._at_work = at_work
        self.profile = profile
        self.chosen = tuple(chosen)
        self.state: ManyState = ManyState()
        self.is_seen = False
        """Somebody looks at how it goes."""
        self._connections = connections
        self._scope = scope
        self._name = f"many objects {id(self)}"

    def count(self) -> None:
        """Go through all of them; what was counted so far is shown meanwhile."""
        self._scope.start(f"{self._name} count", self._count)

    def stop_counting(self) -> None:
        self._scope.cancel(f"{self._name} count")

    def change(self, change: HeadChange) -> None:
        """InvalidInput: this cannot be said about any object."""
        change.check()
        self._begin(lambda objects: changing(objects, change))

    def restore(self, days: int, speed: RestoreSpeed) -> None:
        self._begin(lambda objects: restoring(objects, days, speed))

    def stop(self) -> None:
        """What is done stays done."""
        self._scope.cancel(self._name)

    async def _count(self) -> None:
        self._become(tally=None, is_counting=True, count_trouble=None)
        try:
            storage = (await self._connections.open(self.profile)).storage
            found = await tally(storage, self.chosen, lambda so_far: self._become(tally=so_far))
            self._become(tally=found)
        except AppError as error:
            self._become(count_trouble=error)
        finally:
            self._become(is_counting=False)

    def _begin(self, make: Callable[[ObsObjects], ChangeObject]) -> None:
        async def work() -> None:
            self._become(is_changing=True, report=BulkReport(), ending=None, trouble=None)
            self._at_work.add(self)
            ending: Text | None = text("Stopped.")
            try:
                connection = await self._connections.open(self.profile)
                change = make(connection.objects)
                job = BulkChange(connection.storage, change, lambda report: self._become(report=report))
                report = await job.run(self.chosen)
                ending = text("Done.") if not report.failed else text("Done, but not everything could be changed.")
            except AppError as error:
                ending = None
                self._become(trouble=error)
            finally:
                self._become(is_changing=False, ending=ending)
                self._at_work.discard(self)
                self.ended.emit(self)

        self._scope.start(self._name, work)


class BulkWork:
    """Gives the selections their objects: whoever comes back to one that is being changed finds it at work."""

    def __init__(self, connections: Connections, scope: Tasks, journal: Journal) -> None:
        self._connections = connections
        self._scope = scope
        self._journal = journal
        self._at_work: AtWork = set()

    def of(self, profile: str, chosen: Sequence[ObjectEntry]) -> ManyObjects:
        paths = [entry.path for entry in chosen]
        for many in self._at_work:
            if many.profile == profile and [entry.path for entry in many.chosen] == paths:
                return many
        many = ManyObjects(profile, chosen, self._connections, self._scope, self._at_work)
        many.ended.connect(self._on_ended)
        return many

    def _on_ended(self, many: ManyObjects) -> None:
        report, state = many.state.report, many.state
        if many.is_seen or report is None:
            return
        if state.trouble is not None:
            self._journal.tell(NewsKind.FAILED, state.trouble.title, state.trouble.hint, detail=state.trouble.detail)
            return
        counts = {"changed": count_words(report.changed), "failed": count_words(report.failed)}
        kind = NewsKind.FAILED if report.failed else NewsKind.DONE
        self._journal.tell(kind, text("Objects changed: {changed}. Failed: {failed}.", **counts))
