"""Files with their sizes as a tree of folders."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QPersistentModelIndex, QSize, Qt
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QStyledItemDelegate, QStyleOptionViewItem, QTreeView

from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import say
from traindeck.ui.kit.tables import NUMBERS, FocusedView, Index
from traindeck.ui.kit.theme import ROW, SPACE

_UNFOLDED_UP_TO = 200


class _Node:
    __slots__ = ("children", "name", "parent", "path", "row", "size")

    def __init__(self, name: str, path: str, parent: _Node | None) -> None:
        self.name, self.path, self.parent = name, path, parent
        self.size = 0
        self.row = 0
        self.children: list[_Node] = []


class PathTreeModel(QAbstractItemModel):
    """Folders before files, each with the sum of what is below it."""

    def __init__(self) -> None:
        super().__init__()
        self._root = _Node("", "", None)
        self._files: tuple[tuple[str, int], ...] | None = None
        self._by_path: dict[str, _Node] = {}

    def show(self, files: Iterable[tuple[str, int]]) -> bool:
        """Whether they are others than before."""
        wanted = tuple(files)
        if wanted == self._files:
            return False
        self.beginResetModel()
        self._files = wanted
        self._root, self._by_path = _Node("", "", None), {}
        for path, size in wanted:
            self._put(path, size)
        _sort(self._root)
        self.endResetModel()
        return True

    def path(self, index: Index) -> str:
        """Of a file; empty: it is a folder."""
        node = self._node(index)
        return "" if node.children else node.path

    def index_of(self, path: str) -> QModelIndex:
        node = self._by_path.get(path)
        return QModelIndex() if node is None else self.createIndex(node.row, 0, node)

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        children = self._node(parent).children
        if not (0 <= row < len(children) and 0 <= column < 2):
            return QModelIndex()
        return self.createIndex(row, column, children[row])

    def parent(self, index: Index = QModelIndex()) -> QModelIndex:  # type: ignore[override]  # noqa: B008
        above = self._node(index).parent if index.isValid() else None
        return QModelIndex() if above is None or above is self._root else self.createIndex(above.row, 0, above)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.column() > 0 else len(self._node(parent).children)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 2

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return (say("Name"), say("Size"))[section]
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        node = self._node(index)
        if role == Qt.ItemDataRole.DisplayRole:
            return size_words(node.size) if index.column() else node.name
        if role == Qt.ItemDataRole.ToolTipRole:
            return node.path
        return NUMBERS if role == Qt.ItemDataRole.TextAlignmentRole and index.column() else None

    def _node(self, index: QModelIndex | QPersistentModelIndex) -> _Node:
        node = index.internalPointer() if index.isValid() else self._root
        assert isinstance(node, _Node)
        return node

    def _put(self, path: str, size: int) -> None:
        node = self._root
        parts = path.split("/")
        for depth, part in enumerate(parts):
            node.size += size
            here = "/".join(parts[: depth + 1]) + ("/" if depth + 1 < len(parts) else "")
            below = self._by_path.get(here)
            if below is None:
                below = self._by_path[here] = _Node(part, here, node)
                node.children.append(below)
            node = below
        node.size += size


def _sort(root: _Node) -> None:
    left = [root]
    while left:
        node = left.pop()
        node.children.sort(key=lambda child: (not child.children, child.name))
        for row, child in enumerate(node.children):
            child.row = row
        left += node.children


class _Row(QStyledItemDelegate):
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(super().sizeHint(option, index).width(), ROW)


class PathTree(FocusedView, QTreeView):
    """Few files are seen at once; of many only the uppermost."""

    def __init__(self, model: PathTreeModel, name: str) -> None:
        super().__init__()
        self.paths = model
        self.setModel(model)
        self.setAccessibleName(name)
        self.setUniformRowHeights(True)
        self.setItemDelegate(_Row(self))
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setMinimumSectionSize(5 * SPACE)
        self.setColumnWidth(1, 10 * SPACE)

    def show_files(self, files: Iterable[tuple[str, int]]) -> None:
        wanted = tuple(files)
        if self.paths.show(wanted) and len(wanted) <= _UNFOLDED_UP_TO:
            self.expandAll()

    def choose(self, path: str) -> None:
        index = self.paths.index_of(path)
        if index.isValid() and index != self.currentIndex():
            self.setCurrentIndex(index)
