"""Objects that are dragged: put into a QMimeData, taken out, what letting go of them means, and the views for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QMimeData, QModelIndex, Qt, QUrl
from PySide6.QtGui import QCursor, QDrag, QDragMoveEvent, QDropEvent, QGuiApplication
from PySide6.QtWidgets import QAbstractItemView, QApplication, QWidget

from traindeck.domain.storage.objects import ObjectPath
from traindeck.viewmodels.storage.moving import OBJECTS, Carried

if TYPE_CHECKING:
    _View = QAbstractItemView
else:
    _View = object

URLS = "text/uri-list"


def mime_of(carried: Carried) -> QMimeData:
    """For us the objects, for other programs their addresses."""
    data = QMimeData()
    data.setData(OBJECTS, carried.to_bytes())
    data.setText(carried.to_text())
    return data


def carried_in(data: QMimeData | None) -> Carried | None:
    if data is None or not data.hasFormat(OBJECTS):
        return None
    return Carried.from_bytes(bytes(data.data(OBJECTS).data()))


def drag(widget: QWidget, carried: Carried, files: Sequence[Path], dropped_nowhere: Callable[[], None]) -> None:
    """Until it is let go of; to be called by Qt, outside of every task, for a drag turns a loop of its own.

    `files` are for other programs. `dropped_nowhere`: it was let go of outside of this program, and nobody took it.
    """
    if not QGuiApplication.mouseButtons() & Qt.MouseButton.LeftButton:
        return  # let go of meanwhile
    data = mime_of(carried)
    if files:
        data.setUrls([QUrl.fromLocalFile(str(file)) for file in files])
    moved = QDrag(widget)
    moved.setMimeData(data)
    result = moved.exec(Qt.DropAction.CopyAction | Qt.DropAction.MoveAction, Qt.DropAction.CopyAction)
    if result == Qt.DropAction.IgnoreAction and not files and QApplication.widgetAt(QCursor.pos()) is None:
        dropped_nowhere()


def steer(event: QDropEvent, target: ObjectPath | None) -> None:
    """Say under the mouse what letting go would do: as in a file manager, a bucket being a disk.

    What comes from a file manager is copied, whatever that offers.
    """
    action = Qt.DropAction.CopyAction
    carried = carried_in(event.mimeData())
    if carried is not None and target is not None:
        is_here = all(path.bucket == target.bucket for path in carried.paths)
        keys = event.modifiers()
        if keys & Qt.KeyboardModifier.ShiftModifier or (is_here and not keys & Qt.KeyboardModifier.ControlModifier):
            action = Qt.DropAction.MoveAction
    event.setDropAction(action)


class TakesObjects(_View):
    """A view onto whose rows objects and files can be dropped, and from which objects are dragged."""

    drag_wanted: Any

    def take_drops(self) -> None:
        self.setAcceptDrops(True)
        self.setDropIndicatorShown(True)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DragDrop)
        self.setDragDropOverwriteMode(True)  # on a row, never between two

    def target_at(self, index: QModelIndex) -> ObjectPath | None:
        raise NotImplementedError

    def startDrag(self, actions: Qt.DropAction) -> None:
        self.drag_wanted.emit()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        super().dragMoveEvent(event)
        if event.isAccepted():
            steer(event, self.target_at(self.indexAt(event.position().toPoint())))
            event.accept()

    def dropEvent(self, event: QDropEvent) -> None:
        target = self.target_at(self.indexAt(event.position().toPoint()))
        steer(event, target)
        super().dropEvent(event)
        if event.isAccepted():
            steer(event, target)  # Qt tells who dragged it that what was proposed was done
