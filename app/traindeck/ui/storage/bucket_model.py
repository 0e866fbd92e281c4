"""The tree of buckets for Qt: rows come when a folder is opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QModelIndex, Qt, Signal

from traindeck.domain.errors import AppError
from traindeck.domain.storage.objects import ObjectEntry, ObjectPath, size_words
from traindeck.domain.texts import moment_words, say
from traindeck.ui.kit.tables import NUMBERS, Index
from traindeck.ui.kit.theme import Theme
from traindeck.ui.storage.object_drag import DropModel
from traindeck.viewmodels.storage.bucket_access import PublicMarks
from traindeck.viewmodels.storage.bucket_tree import MOST_ROWS, BucketTree, Folder


@dataclass(slots=True, eq=False)
class _Node:
    """One folder that was looked into; objects have no node of their own."""

    folder: Folder
    parent: _Node | None
    number: int
    row: int = 0
    entries: list[ObjectEntry] = field(default_factory=list)


class BucketModel(DropModel, QAbstractItemModel):
    """Rows of entries below nodes of folders; an index names its parent folder by number."""

    NAME, SIZE, MODIFIED = range(3)

    dropped = Signal(object, object)
    carried_in = Signal(object, object, bool)

    def __init__(self, tree: BucketTree, theme: Theme) -> None:
        super().__init__()
        self._tree = tree
        self._theme = theme
        self._marks: PublicMarks | None = None
        self._begin()
        tree.emptied.connect(self._on_emptied)
        tree.appended.connect(self._on_appended)
        tree.listed.connect(self._on_listed)
        tree.level_changed.connect(self._on_level_changed)

    def show_marks(self, marks: PublicMarks) -> None:
        """Mark the buckets that are known to be public."""
        self._marks = marks
        marks.changed.connect(self._on_marked)

    def entry(self, index: Index) -> ObjectEntry | None:
        if not index.isValid():
            return None
        return self._numbered[index.internalId()].entries[index.row()]

    def index_of(self, path: Folder) -> QModelIndex:
        """Where a path stands, if it is shown already."""
        if path is None:
            return QModelIndex()
        parent = self._nodes.get(None if path.is_bucket else path.parent)
        if parent is None:
            return QModelIndex()
        row = next((row for row, entry in enumerate(parent.entries) if entry.path == path), None)
        return QModelIndex() if row is None else self.createIndex(row, 0, parent.number)

    def row_name(self, index: Index) -> str:
        entry = self.entry(index)
        return "" if entry is None else str(entry.path)

    def row_named(self, name: str) -> QModelIndex:
        """Where it stands, once its folder was looked into; what is no path is nowhere."""
        try:
            return self.index_of(ObjectPath.parse(name))
        except AppError:
            return QModelIndex()

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        node = self._node_at(parent) if parent.column() <= 0 else None
        if node is None or not (0 <= row < len(node.entries) and 0 <= column < 3):
            return QModelIndex()
        return self.createIndex(row, column, node.number)

    def parent(self, index: Index) -> QModelIndex:  # type: ignore[override]
        if not index.isValid():
            return QModelIndex()
        return self._index(self._numbered[index.internalId()])

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        node = self._known(parent) if parent.column() <= 0 else None
        return len(node.entries) if node else 0

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 3

    def hasChildren(self, parent: Index = QModelIndex()) -> bool:  # noqa: B008
        if parent.column() > 0:
            return False
        entry = self.entry(parent)
        if entry is not None and not entry.path.is_folder:
            return False
        node = self._known(parent)
        # Until it was looked into, a folder may hold something.
        return bool(node.entries) if node and self._tree.level(node.folder).is_known else True

    def canFetchMore(self, parent: Index) -> bool:
        entry = self.entry(parent)
        if entry is None or not entry.path.is_folder:
            return False
        level = self._tree.level(entry.path)
        return not level.is_known and not level.is_loading and level.trouble is None

    def fetchMore(self, parent: Index) -> None:
        entry = self.entry(parent)
        if entry is not None:
            self._node_at(parent)
            self._tree.expand(entry.path)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return (say("Name"), say("Size"), say("Modified"))[section]
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        entry = self.entry(index)
        if entry is None:
            return None
        public = self._public_words(entry)
        if role == Qt.ItemDataRole.DisplayRole:
            return self._words(entry, index.column())
        if role == Qt.ItemDataRole.DecorationRole and index.column() == self.NAME:
            if public:
                return self._theme.icon("globe", "warn")
            kind = "bucket" if entry.path.is_bucket else "folder" if entry.path.is_folder else "file"
            return self._theme.icon(kind, "dim")
        if role == Qt.ItemDataRole.ToolTipRole:
            level = self._tree.level(entry.path) if entry.path.is_folder else None
            words = level.trouble.sentence() if level and level.trouble else str(entry.path)
            return f"{words}\n{public}" if public else words
        if role == Qt.ItemDataRole.ForegroundRole and entry.path.is_folder and self._tree.level(entry.path).trouble:
            return self._theme.color("bad")
        if role == Qt.ItemDataRole.ForegroundRole and self._cut and self._cut.has(self._tree.state.profile, entry.path):
            return self._theme.color("dim")
        if role == Qt.ItemDataRole.AccessibleTextRole and index.column() == self.NAME:
            kind = say("Bucket") if entry.path.is_bucket else say("Folder") if entry.path.is_folder else say("Object")
            named = say("{label}: {value}", label=kind, value=entry.path.name)
            return say("{one}. {other}", one=named, other=public) if public else named
        if role == Qt.ItemDataRole.TextAlignmentRole and index.column() == self.SIZE:
            return NUMBERS
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        entry = self.entry(index)
        if entry is None:
            return flags
        flags |= Qt.ItemFlag.ItemIsDropEnabled
        if not entry.path.is_bucket:
            flags |= Qt.ItemFlag.ItemIsDragEnabled
        return flags if entry.path.is_folder else flags | Qt.ItemFlag.ItemNeverHasChildren

    def target(self, index: Index) -> ObjectPath | None:
        """Where something dropped here goes; on an object: into the folder it is in."""
        entry = self.entry(index)
        if entry is None:
            return None
        return entry.path if entry.path.is_folder else entry.path.parent

    def _words(self, entry: ObjectEntry, column: int) -> str:
        if column == self.SIZE:
            return "" if entry.is_folder else size_words(entry.size_bytes)
        if column == self.MODIFIED:
            return moment_words(entry.modified) if entry.modified else ""
        if entry.path.is_folder:
            level = self._tree.level(entry.path)
            if level.trouble is not None:
                return say("{name}: {trouble}", name=entry.path.name, trouble=say(level.trouble.title))
            if level.is_loading and not level.entries:
                return say("{name} (reading…)", name=entry.path.name)
            if level.is_cut:
                return say("{name} (the first {count}; open it for all)", name=entry.path.name, count=f"{MOST_ROWS:,}")
        return entry.path.name

    def _public_words(self, entry: ObjectEntry) -> str:
        return self._marks.words(entry.path.bucket) if self._marks is not None and entry.path.is_bucket else ""

    def _on_marked(self, bucket: str) -> None:
        self._on_level_changed(ObjectPath(bucket))

    def _begin(self) -> None:
        self._numbered: dict[int, _Node] = {}
        self._nodes: dict[Folder, _Node] = {}
        self._next_number = 1
        self._add(None, None, 0)

    def _add(self, folder: Folder, parent: _Node | None, row: int) -> _Node:
        node = _Node(folder, parent, self._next_number, row)
        self._numbered[node.number] = self._nodes[folder] = node
        self._next_number += 1
        return node

    def _inside(self, node: _Node) -> list[_Node]:
        return [child for child in self._nodes.values() if child.parent is node]

    def _forget(self, node: _Node) -> None:
        for child in self._inside(node):
            self._forget(child)
        del self._numbered[node.number], self._nodes[node.folder]

    def _index(self, node: _Node) -> QModelIndex:
        return QModelIndex() if node.parent is None else self.createIndex(node.row, 0, node.parent.number)

    def _known(self, index: Index) -> _Node | None:
        """The node of a folder that was looked into."""
        entry = self.entry(index)
        return self._nodes.get(entry.path if entry is not None else None)

    def _node_at(self, index: Index) -> _Node | None:
        """The node of a folder; made when it is looked into the first time."""
        entry = self.entry(index)
        if entry is not None and not entry.path.is_folder:
            return None
        node = self._known(index)
        if node is None and entry is not None:
            node = self._add(entry.path, self._numbered[index.internalId()], index.row())
        return node

    def _on_cut(self) -> None:
        for node in list(self._numbered.values()):
            if node.entries:
                last = self.createIndex(len(node.entries) - 1, self.NAME, node.number)
                self.dataChanged.emit(self.createIndex(0, self.NAME, node.number), last)

    def _on_emptied(self) -> None:
        self.beginResetModel()
        self._begin()
        self.endResetModel()

    def _on_appended(self, folder: Folder, start: int) -> None:
        node = self._nodes.get(folder)
        if node is not None:
            self._insert(node, len(node.entries), self._tree.level(folder).entries[start:])

    def _on_listed(self, folder: Folder) -> None:
        node = self._nodes.get(folder)
        if node is None:
            return
        fresh = self._tree.level(folder).entries
        wanted = {entry.path for entry in fresh}
        for row in range(len(node.entries) - 1, -1, -1):
            if node.entries[row].path not in wanted:
                self._remove(node, row)
        there = {entry.path for entry in node.entries}
        for row, entry in enumerate(fresh):
            if row < len(node.entries) and node.entries[row].path == entry.path:
                if node.entries[row] != entry:
                    node.entries[row] = entry
                    self.dataChanged.emit(self.createIndex(row, 0, node.number), self.createIndex(row, 2, node.number))
                continue
            if entry.path in there:
                # The order changed: take the row from where it was.
                self._remove(node, next(here for here, old in enumerate(node.entries) if old.path == entry.path))
            self._insert(node, row, [entry])

    def _on_level_changed(self, folder: Folder) -> None:
        index = self.index_of(folder)
        if index.isValid():
            self.dataChanged.emit(index, index.siblingAtColumn(self.MODIFIED))

    def _insert(self, node: _Node, row: int, entries: Sequence[ObjectEntry]) -> None:
        if not entries:
            return
        self.beginInsertRows(self._index(node), row, row + len(entries) - 1)
        node.entries[row:row] = entries
        for child in self._inside(node):
            if child.row >= row:
                child.row += len(entries)
        self.endInsertRows()

    def _remove(self, node: _Node, row: int) -> None:
        self.beginRemoveRows(self._index(node), row, row)
        entry = node.entries.pop(row)
        if gone := self._nodes.get(entry.path):
            self._forget(gone)
        for child in self._inside(node):
            if child.row > row:
                child.row -= 1
        self.endRemoveRows()
