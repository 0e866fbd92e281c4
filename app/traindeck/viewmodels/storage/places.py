"""Places: favourites, one that was typed and is not there, and those a transfer has changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from difflib import SequenceMatcher
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from traindeck.domain.errors import NotFound
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.transfers.orders import Kind, Order
from traindeck.domain.transfers.records import Item, ItemState
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.clock import utc_now
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.services.transfers import Transfer
from traindeck.store.settings import Settings, SettingsFile

if TYPE_CHECKING:
    from traindeck.services.storage.sdk.buckets import ObsStorage
    from traindeck.services.transfers import Transfers


_MOST_NAMES = 4
_MOST_PAGES = 5
_ALIKE = 0.6


@dataclass(frozen=True, slots=True)
class MissingPlace:
    """`alike` are places that are there; `folder` is what could be made."""

    path: ObjectPath
    alike: tuple[ObjectPath, ...] = ()
    has_bucket: bool = True

    @property
    def folder(self) -> ObjectPath:
        return self.path.as_folder() if self.has_bucket else ObjectPath(self.path.bucket)


async def missing_place(storage: ObsStorage, path: ObjectPath) -> MissingPlace | None:
    """None: it is there. Raises AppError where that cannot be found out."""
    try:
        if not path.is_folder and await storage.info(path) is not None:
            return None
        if path.is_bucket or await _is_there(storage, path.as_folder()):
            await storage.page(path.bucket, most=1)
            return None
        return MissingPlace(path, await _beside(storage, path))
    except NotFound:
        buckets = [bucket.name for bucket in await storage.buckets()]
        if path.bucket in buckets:
            raise
        alike = [ObjectPath(name, path.as_folder().key if path.key else "") for name in nearest(path.bucket, buckets)]
        return MissingPlace(path, tuple(alike), has_bucket=False)


async def _is_there(storage: ObsStorage, folder: ObjectPath) -> bool:
    page = await storage.page(folder.bucket, folder.key, most=1)
    return bool(page.rows or page.folders)


async def _beside(storage: ObsStorage, path: ObjectPath) -> tuple[ObjectPath, ...]:
    """The first step of the way that leads nowhere, among those that would lead somewhere."""
    folder, wanted = path.parent, path.name
    while not folder.is_bucket and not await _is_there(storage, folder):
        folder, wanted = folder.parent, folder.name
    names: list[str] = []
    marker = ""
    for _ in range(_MOST_PAGES):
        page = await storage.page(folder.bucket, folder.key, delimiter="/", marker=marker)
        keys = [*page.folders, *(row.key for row in page.rows)]
        names += [key[len(folder.key) :] for key in keys if key != folder.key]
        marker = page.next_marker
        if not marker:
            break
    return tuple(folder.join(name) for name in nearest(wanted, names))


def nearest(wanted: str, names: Iterable[str]) -> list[str]:
    """The names most like this one; the same but for its case comes first."""
    goal = wanted.rstrip("/").casefold()
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(goal)
    found: list[tuple[float, str]] = []
    for name in names:
        matcher.set_seq1(name.rstrip("/").casefold())
        # The first two are cheap and never less than the third.
        if all(ratio() >= _ALIKE for ratio in (matcher.real_quick_ratio, matcher.quick_ratio, matcher.ratio)):
            found.append((-matcher.ratio(), name))
    return [name for _, name in sorted(found)[:_MOST_NAMES]]


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


MOST_FILES = 1000
MOST_FOLDERS = 50
"""Of more than these, one listing of everything below costs less than one of each."""
_PAUSE_MS = 200
_CHANGE_NOTHING_THERE = (Kind.DOWNLOAD, Kind.CHECK)
_REMOTE = "obs://"


class ChangedPlaces(QObject):
    """Hears of all transfers, whoever began them; what many of them did to one folder is told once."""

    touched = Signal(str, object)
    """In this account, what this folder itself holds."""
    arrived = Signal(str, object)
    """In this account, this folder with all that is below it."""

    def __init__(self, transfers: Transfers, scope: TaskScope) -> None:
        super().__init__()
        self._transfers = transfers
        self._scope = scope
        self._since = utc_now()
        self._told: dict[int, datetime] = {}
        self._ended: list[Transfer] = []
        self._pause = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._pause.timeout.connect(self._look)
        self._stop_listening = transfers.changed.add(self._on_news)

    def close(self) -> None:
        self._stop_listening()
        self._pause.stop()

    def _on_news(self, row: Transfer) -> None:
        # What ended before this program began is in the list, too; what is tried again ends again.
        if row.ended is None or not row.state.is_over or row.ended <= self._told.get(row.id, self._since):
            return
        self._told[row.id] = row.ended
        # Who removes tells of it already, and has no target.
        if row.done_files and row.kind not in _CHANGE_NOTHING_THERE and row.target.startswith(_REMOTE):
            self._ended.append(row)
            if not self._pause.isActive():
                self._pause.start()

    def _look(self) -> None:
        rows, self._ended = self._ended, []
        self._scope.start(f"look what was changed by {rows[0].id} and later ones", partial(self._tell, rows))

    async def _tell(self, rows: list[Transfer]) -> None:
        touched: set[tuple[str, ObjectPath]] = set()
        arrived: set[tuple[str, ObjectPath]] = set()
        for row in rows:
            target = Order(row.kind, row.profile, row.source, row.target).remote_target
            items = await self._transfers.items(row.id, (ItemState.DONE,), most=MOST_FILES)
            folders = _folders(target, [_place(row, target, item) for item in items])
            if len(items) >= MOST_FILES or len(folders) > MOST_FOLDERS:
                arrived |= {(row.profile, folder) for folder in _whole(row, target)}
                folders = {target if row.chosen else target.parent}
            touched |= {(row.profile, folder) for folder in folders}
        for profile, folder in sorted(touched):
            self.touched.emit(profile, folder)
        for profile, folder in sorted(arrived):
            self.arrived.emit(profile, folder)


def _place(row: Transfer, target: ObjectPath, item: Item) -> ObjectPath:
    if row.kind is Kind.UPLOAD:
        return ObjectPath(target.bucket, item.key)
    return target.join(item.name) if item.name else target


def _whole(row: Transfer, target: ObjectPath) -> set[ObjectPath]:
    """What to list anew: there may be much beside what was chosen."""
    folders = {target.join(name) for _, name in row.chosen if name.endswith("/")}
    return folders if row.chosen and len(folders) <= MOST_FOLDERS else {target.as_folder()}


def _folders(target: ObjectPath, places: list[ObjectPath]) -> set[ObjectPath]:
    """Those that hold one of these places, and those up to the target: each of them may be new to the one above."""
    found = {target.parent}
    for place in places:
        folder = place.parent
        while folder not in found and folder.key.startswith(target.key):
            found.add(folder)
            folder = folder.parent
    return found
