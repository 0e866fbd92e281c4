"""Objects that are dragged: put into a QMimeData, taken out, what letting go of them means, and the views for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractItemModel, QMimeData, Qt, QUrl
from PySide6.QtGui import QCursor, QDrag, QDragMoveEvent, QDropEvent, QGuiApplication
from PySide6.QtWidgets import QAbstractItemView, QApplication, QWidget

from traindeck.domain.storage.objects import ObjectPath
from traindeck.ui.kit.tables import Index
from traindeck.viewmodels.storage.moving import OBJECTS, Carried, CutObjects

if TYPE_CHECKING:
    _Model = QAbstractItemModel
    _View = QAbstractItemView
else:
    _Model = _View = object

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


def local_paths(urls: Sequence[QUrl]) -> list[Path]:
    """What was dropped from a file manager."""
    return [Path(url.toLocalFile()) for url in urls if url.isLocalFile()]


class DropModel(_Model):
    """A model onto whose rows objects and files can be dropped, and that dims what was cut."""

    dropped: Any
    """Local paths, and the folder they were dropped on."""
    carried_in: Any
    """Objects, the folder they were dropped on, and whether they are to be moved there."""

    _cut: CutObjects | None = None

    def target(self, index: Index) -> ObjectPath | None:
        """Where something dropped here goes."""
        raise NotImplementedError

    def show_cut(self, cut: CutObjects) -> None:
        """Dim what is on its way to another place."""
        self._cut = cut
        cut.changed.connect(self._on_cut)

    def _on_cut(self) -> None:
        raise NotImplementedError

    def supportedDropActions(self) -> Qt.DropAction:
        return Qt.DropAction.CopyAction | Qt.DropAction.MoveAction

    def mimeTypes(self) -> list[str]:
        return [URLS, OBJECTS]

    def canDropMimeData(self, data: QMimeData, action: Qt.DropAction, row: int, column: int, parent: Index) -> bool:
        return self.target(parent) is not None and (data.hasFormat(OBJECTS) or bool(local_paths(data.urls())))

    def dropMimeData(self, data: QMimeData, action: Qt.DropAction, row: int, column: int, parent: Index) -> bool:
        target, carried, sources = self.target(parent), carried_in(data), local_paths(data.urls())
        if target is None or (carried is None and not sources):
            return False
        if carried is not None:
            self.carried_in.emit(carried, target, action == Qt.DropAction.MoveAction)
        else:
            self.dropped.emit(sources, target)
        return True


class TakesObjects(_View):
    """A view onto whose rows objects and files can be dropped, and from which objects are dragged."""

    drag_wanted: Any

    def take_drops(self) -> None:
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setAcceptDrops(True)
        self.setDropIndicatorShown(True)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DragDrop)
        self.setDragDropOverwriteMode(True)  # on a row, never between two

    def _target(self, event: QDropEvent) -> ObjectPath | None:
        model = self.model()
        assert isinstance(model, DropModel)
        return model.target(self.indexAt(event.position().toPoint()))

    def startDrag(self, actions: Qt.DropAction) -> None:
        self.drag_wanted.emit()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        super().dragMoveEvent(event)
        if event.isAccepted():
            steer(event, self._target(event))
            event.accept()

    def dropEvent(self, event: QDropEvent) -> None:
        target = self._target(event)
        steer(event, target)
        super().dropEvent(event)
        if event.isAccepted():
            steer(event, target)  # Qt tells who dragged it that what was proposed was done
