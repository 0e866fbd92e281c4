"""Which folders of a service are other than they were, once a transfer that changed them is over."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal

from traindeck.domain.objects import ObjectPath
from traindeck.domain.transfers import Item, ItemState, Kind, Order
from traindeck.runtime.clock import utc_now
from traindeck.runtime.tasks import TaskScope
from traindeck.services.transfers import Transfer
from traindeck.viewmodels.ports import Transferring

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

    def __init__(self, transfers: Transferring, scope: TaskScope) -> None:
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
                arrived.add((row.profile, target.as_folder()))
                folders = {target.parent}
            touched |= {(row.profile, folder) for folder in folders}
        for profile, folder in sorted(touched):
            self.touched.emit(profile, folder)
        for profile, folder in sorted(arrived):
            self.arrived.emit(profile, folder)


def _place(row: Transfer, target: ObjectPath, item: Item) -> ObjectPath:
    if row.kind is Kind.UPLOAD:
        return ObjectPath(target.bucket, item.key)
    return target.join(item.name) if item.name else target


def _folders(target: ObjectPath, places: list[ObjectPath]) -> set[ObjectPath]:
    """Those that hold one of these places, and those up to the target: each of them may be new to the one above."""
    found = {target.parent}
    for place in places:
        folder = place.parent
        while folder not in found and folder.key.startswith(target.key):
            found.add(folder)
            folder = folder.parent
    return found
