"""The rows of a browser for Qt: however many there are, only those on the screen are asked for."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QMimeData, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QFont

from traindeck.domain.browsing import Column, Shown
from traindeck.domain.objects import ObjectPath, size_words
from traindeck.domain.texts import say
from traindeck.ui.bucket_model import local_paths
from traindeck.ui.object_drag import URLS, carried_in
from traindeck.ui.theme import Theme
from traindeck.viewmodels.object_browser import ObjectBrowser
from traindeck.viewmodels.object_clipboard import OBJECTS, CutObjects
from traindeck.viewmodels.run_words import moment_words

Index = QModelIndex | QPersistentModelIndex

COLUMNS = (Column.NAME, Column.SIZE, Column.MODIFIED, Column.CLASS)
NAME, SIZE, MODIFIED, CLASS = range(len(COLUMNS))


class ObjectModel(QAbstractTableModel):
    """A window onto BrowserRows; every other order is a reset, which costs nothing while rows are not looked at."""

    dropped = Signal(object, object)
    """Local paths, and the folder they were dropped on."""
    carried_in = Signal(object, object, bool)
    """Objects, the folder they were dropped on, and whether they are to be moved there."""

    def __init__(self, browser: ObjectBrowser, theme: Theme) -> None:
        super().__init__()
        self._browser = browser
        self._rows = browser.rows
        self._theme = theme
        self._cut: CutObjects | None = None
        self._count = self._rows.count
        self._right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        self._rows.read.connect(self._on_read)

    def show_cut(self, cut: CutObjects) -> None:
        """Dim what is on its way to another place."""
        self._cut = cut
        cut.changed.connect(self._on_cut)

    def become(self) -> None:
        """Show the order that is there now."""
        self.beginResetModel()
        self._count = self._rows.count
        self.endResetModel()

    def shown(self, index: Index) -> Shown | None:
        return self._rows.row(index.row()) if index.isValid() else None

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else self._count

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return (say("Name"), say("Size"), say("Modified"), say("Storage class"))[section]
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        column = index.column()
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self._right if column == SIZE else None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._words(index.row(), column)
        if role == Qt.ItemDataRole.DecorationRole and column == NAME:
            row = self._rows.row(index.row())
            return (
                self._theme.icon("file" if row and not row.entry.path.is_folder else "folder", "dim") if row else None
            )
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tool_tip(index)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return self._spoken(index)
        if role == Qt.ItemDataRole.ForegroundRole and (column != NAME or self._is_cut(index)):
            return self._theme.color("dim")
        if role == Qt.ItemDataRole.FontRole and column == NAME and self._is_cut(index):
            font = QFont()
            font.setItalic(True)
            return font
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid():
            return Qt.ItemFlag.ItemIsDropEnabled
        return (
            Qt.ItemFlag.ItemIsEnabled
            | Qt.ItemFlag.ItemIsSelectable
            | Qt.ItemFlag.ItemIsDragEnabled
            | Qt.ItemFlag.ItemIsDropEnabled
            | Qt.ItemFlag.ItemNeverHasChildren
        )

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self._browser.sort(COLUMNS[column], order == Qt.SortOrder.DescendingOrder)

    def supportedDropActions(self) -> Qt.DropAction:
        return Qt.DropAction.CopyAction | Qt.DropAction.MoveAction

    def mimeTypes(self) -> list[str]:
        return [URLS, OBJECTS]

    def canDropMimeData(self, data: QMimeData, action: Qt.DropAction, row: int, column: int, parent: Index) -> bool:
        return data.hasFormat(OBJECTS) or bool(local_paths(data.urls()))

    def dropMimeData(self, data: QMimeData, action: Qt.DropAction, row: int, column: int, parent: Index) -> bool:
        carried = carried_in(data)
        if carried is not None:
            self.carried_in.emit(carried, self.target(parent), action == Qt.DropAction.MoveAction)
            return True
        sources = local_paths(data.urls())
        if not sources:
            return False
        self.dropped.emit(sources, self.target(parent))
        return True

    def target(self, index: Index) -> ObjectPath:
        """Where something dropped here goes: into the folder it is dropped on, else beside what is shown."""
        row = self.shown(index)
        return row.entry.path if row is not None and row.entry.path.is_folder else self._browser.state.place

    def _words(self, rank: int, column: int) -> str:
        row = self._rows.row(rank)
        if row is None:
            return "…" if column == NAME else ""
        entry = row.entry
        if column == NAME:
            # What a search found is named with the folders it lies in.
            return entry.path.key[len(self._rows.look.folder) :].rstrip("/")
        if column == SIZE:
            return size_words(entry.size_bytes if row.size is None else row.size.size_bytes)
        if column == MODIFIED:
            return moment_words(entry.modified)[:16] if entry.modified else ""
        return entry.storage_class

    def _tool_tip(self, index: Index) -> str:
        row = self.shown(index)
        if row is None:
            return ""
        if row.size is not None and index.column() == SIZE:
            return say(
                "{count} objects below, {size}, as of {moment}",
                count=f"{row.size.count:,}",
                size=f"{row.size.size_bytes:,} B",
                moment=moment_words(row.size.as_of),
            )
        if index.column() == SIZE:
            return say("Not counted yet") if row.entry.size_bytes is None else f"{row.entry.size_bytes:,} B"
        return str(row.entry.path)

    def _spoken(self, index: Index) -> str:
        words = self._words(index.row(), index.column())
        if index.column() != NAME:
            return f"{self.headerData(index.column(), Qt.Orientation.Horizontal)}: {words}"
        row = self.shown(index)
        kind = say("Folder") if row is None or row.entry.path.is_folder else say("Object")
        return f"{kind}: {words}"

    def _is_cut(self, index: Index) -> bool:
        if not self._cut:
            return False
        row = self.shown(index)
        return row is not None and self._cut.has(self._browser.profile, row.entry.path)

    def _on_cut(self) -> None:
        if self._count:
            self.dataChanged.emit(self.index(0, NAME), self.index(self._count - 1, NAME))

    def _on_read(self, first: int, last: int) -> None:
        if first < self._count:
            last = min(last, self._count - 1)
            self.dataChanged.emit(self.index(first, 0), self.index(last, len(COLUMNS) - 1))
