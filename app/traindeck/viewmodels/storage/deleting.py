"""Deleting objects and folders: counted, asked about where it is for good, done by pages; and taken back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from traindeck.domain.errors import AppError
from traindeck.domain.storage.objects import ObjectPath, outermost, size_words
from traindeck.domain.texts import Text, count_text, text
from traindeck.domain.transfers.orders import Kind, Order, Rules, removal_of
from traindeck.domain.transfers.records import TransferState
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.services.storage.data_ports import VersionPage
from traindeck.services.storage.page_count import PageCount
from traindeck.services.storage.planes import Planes
from traindeck.services.transfers import Transfer
from traindeck.viewmodels.ports import Confirm, Stateful
from traindeck.viewmodels.shell.journal import Subject, Topic

if TYPE_CHECKING:
    from traindeck.services.storage.wire.data_plane import DataPlane
    from traindeck.services.transfers import Transfers


_NAMED = 3


async def settled(mover: Transfers, planned: Sequence[Transfer], *, is_meant: bool) -> None:
    """Begin what was planned and agreed to; what was not leaves the list of transfers."""
    for row in planned:
        if is_meant:
            mover.confirm(row.id)
        else:
            await asyncio.shield(mover.drop(row.id))


async def keeps_versions(mover: Transfers, profile: str, bucket: str) -> bool:
    """Whether what is deleted or replaced there can be had back."""
    try:
        return await mover.planes.run(profile, lambda plane: plane.keeps_versions(bucket))
    except AppError:
        return False  # nobody knows, so nothing is promised


async def finished(mover: Transfers, numbers: Sequence[int]) -> AppError | None:
    """All of them are in the list of transfers; the first failure is the one to tell."""
    troubles: list[AppError] = []
    for number in numbers:
        try:
            await mover.finished(number)
        except AppError as error:
            troubles.append(error)
    return troubles[0] if troubles else None


@dataclass(frozen=True, slots=True)
class News:
    """What was done, and what takes it back."""

    message: Text
    undo: Callable[[], None] | None = None
    topic: Topic | None = None
    look: Callable[[], None] | None = None
    """Looks at the dataset that was sent."""


class Deleting(QObject):
    """Says what would go, and does it as a transfer."""

    busy = Signal(object)
    """What it is doing now, or None."""
    touched = Signal(object)
    """What is in this folder is other than it was."""
    arrived = Signal(object)
    """This folder came back with all that is below it."""
    news = Signal(object)
    """News."""

    def __init__(self, mover: Transfers, scope: TaskScope) -> None:
        super().__init__()
        self._mover = mover
        self._scope = scope

    def remove(self, profile: str, paths: Sequence[ObjectPath], confirm: Confirm) -> None:
        """Count what would be deleted, ask where nothing brings it back, and delete."""
        chosen = outermost(paths)
        if chosen:
            words = text("Counting the contents of {place}…", place=_names(chosen))
            self._scope.start("delete from OBS", lambda: self._remove(profile, chosen, confirm), words=words)

    def restore(self, profile: str, folder: ObjectPath, names: Sequence[str] = ()) -> None:
        """Bring back what was deleted below a folder; with `names` only that."""
        paths = [ObjectPath(folder.bucket, folder.key + name) for name in names] or [folder]
        order = removal_of(profile, paths, Kind.RESTORE)
        self._scope.start(f"restore in {folder}", lambda: self._bring_back(order, (folder, *paths)))

    async def _remove(self, profile: str, paths: Sequence[ObjectPath], confirm: Confirm) -> None:
        planned: list[Transfer] = []
        is_meant = False
        try:
            for _, same in groupby(paths, key=lambda path: path.bucket):
                here = list(same)
                self.busy.emit(text("Counting the contents of {place}…", place=_names(here)))
                planned.append(await self._mover.planned(removal_of(profile, here), is_preview=True))
            if any(row.state is not TransferState.READY for row in planned):
                return  # cancelled in the list of transfers
            buckets = {path.bucket for path in paths}
            keeps = all([await keeps_versions(self._mover, profile, bucket) for bucket in buckets])
            self.busy.emit(None)
            is_meant = keeps or await confirm(_question(paths, planned), text("Delete"))
        finally:
            self.busy.emit(None)
            if not is_meant:
                await settled(self._mover, planned, is_meant=False)
        if is_meant:
            # Apart, so that something else can be deleted while this goes on.
            work = partial(self._carry_out, profile, tuple(paths), planned, keeps=keeps)
            self._scope.start(f"deletion {planned[0].id}", work)

    async def _carry_out(
        self, profile: str, paths: Sequence[ObjectPath], planned: Sequence[Transfer], *, keeps: bool
    ) -> None:
        await settled(self._mover, planned, is_meant=True)
        count = sum(row.removals for row in planned)
        self.busy.emit(
            count_text(
                "Deleting {count} object. The transfer list shows the progress.",
                "Deleting {count} objects. The transfer list shows the progress.",
                count,
            )
        )
        try:
            trouble = await finished(self._mover, [row.id for row in planned])
        finally:
            self.busy.emit(None)
            for folder in {path.parent for path in paths}:
                self.touched.emit(folder)
        if trouble is not None:
            raise trouble
        message = count_text("Deleted {count} object.", "Deleted {count} objects.", count)
        self.news.emit(News(message, partial(self._undo, profile, planned, paths) if keeps else None))

    def _undo(self, profile: str, removed: Sequence[Transfer], paths: Sequence[ObjectPath]) -> None:
        for row in removed:
            order = Order(Kind.RESTORE, profile, row.source, "", Rules(undoes=row.id))
            self._scope.start(f"undo {row.id}", partial(self._bring_back, order, paths))

    async def _bring_back(self, order: Order, paths: Sequence[ObjectPath]) -> None:
        try:
            row = await self._mover.finished(await self._mover.begin(order))
        finally:
            for folder in {path.parent for path in paths}:
                self.touched.emit(folder)
            for path in paths:
                if path.is_folder:
                    self.arrived.emit(path)
        message = count_text("Undeleted {count} object.", "Undeleted {count} objects.", row.done_files)
        if not row.done_files:
            message = text("There was nothing to undelete.")
        self.news.emit(News(message))


def topic_of(profile: str, path: ObjectPath) -> Topic:
    """What *Show* leads to."""
    return Topic(Subject.PLACE, str(path), profile)


def _names(paths: Sequence[ObjectPath]) -> str:
    return ", ".join(str(path) for path in paths[:_NAMED]) + (" …" if len(paths) > _NAMED else "")


def _question(paths: Sequence[ObjectPath], planned: Sequence[Transfer]) -> Text:
    names, count = _names(paths), sum(row.removals for row in planned)
    size = size_words(sum(row.removal_bytes for row in planned))
    return count_text(
        "Delete {count} object ({size}) permanently? It is {names}. This cannot be undone.",
        "Delete {count} objects ({size}) permanently? They are {names}. This cannot be undone.",
        count,
        size=size,
        names=names,
    )


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


class DeletedObjects(Stateful):
    """Of one folder and all below it; `rows` grow while it is read."""

    grew = Signal(int)
    """Rows came; the number is that of the first."""

    def __init__(self, profile: str, folder: ObjectPath, planes: Planes, deleting: Deleting, scope: TaskScope) -> None:
        super().__init__()
        self.folder = folder
        self.rows: list[Gone] = []
        self.state: DeletedState = DeletedState()
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
            after, version, pages = "", "", PageCount()
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
                pages.came(len(page.rows))
            self._become(is_cut=bool(after))
        except AppError as error:
            self._become(trouble=error)
        finally:
            self._become(is_reading=False)


async def _page(folder: ObjectPath, after: str, version: str, plane: DataPlane) -> VersionPage:
    return await plane.versions(folder.bucket, folder.key, after=after, after_version=version)
