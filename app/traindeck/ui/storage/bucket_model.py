"""The tree of buckets for Qt: rows come when a folder is opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PySide6.QtCore import (
    QAbstractItemModel,
    QMimeData,
    QModelIndex,
    Qt,
    QUrl,
    Signal,
)

from traindeck.domain.storage.objects import ObjectEntry, ObjectPath, size_words
from traindeck.domain.texts import moment_words, say
from traindeck.ui.kit.tables import Index
from traindeck.ui.kit.theme import Theme
from traindeck.ui.storage.object_drag import URLS, carried_in
from traindeck.viewmodels.storage.bucket_access import PublicMarks
from traindeck.viewmodels.storage.bucket_tree import MOST_ROWS, BucketTree, Folder
from traindeck.viewmodels.storage.moving import OBJECTS, CutObjects


@dataclass(slots=True, eq=False)
class _Node:
    """One folder that was looked into; objects have no node of their own."""

    folder: Folder
    parent: _Node | None
    number: int
    row: int = 0
    entries: list[ObjectEntry] = field(default_factory=list)
    inside: dict[ObjectPath, _Node] = field(default_factory=dict)


class BucketModel(QAbstractItemModel):
    """Rows of entries below nodes of folders; an index names its parent folder by number."""

    NAME, SIZE, MODIFIED = range(3)

    dropped = Signal(object, object)
    """Local paths, and the folder they were dropped on."""
    carried_in = Signal(object, object, bool)
    """Objects, the folder they were dropped on, and whether they are to be moved there."""

    def __init__(self, tree: BucketTree, theme: Theme) -> None:
        super().__init__()
        self._tree = tree
        self._theme = theme
        self._cut: CutObjects | None = None
        self._marks: PublicMarks | None = None
        self._begin()
        tree.emptied.connect(self._on_emptied)
        tree.appended.connect(self._on_appended)
        tree.listed.connect(self._on_listed)
        tree.level_changed.connect(self._on_level_changed)

    def show_cut(self, cut: CutObjects) -> None:
        """Dim what is on its way to another place."""
        self._cut = cut
        cut.changed.connect(self._on_cut)

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
        parent = self._node(None if path.is_bucket else path.parent)
        if parent is None:
            return QModelIndex()
        row = next((row for row, entry in enumerate(parent.entries) if entry.path == path), None)
        return QModelIndex() if row is None else self.createIndex(row, 0, parent.number)

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
        if role == Qt.ItemDataRole.DisplayRole:
            return self._words(entry, index.column())
        if role == Qt.ItemDataRole.DecorationRole and index.column() == self.NAME:
            if self._public_words(entry):
                return self._theme.icon("globe", "warn")
            kind = "bucket" if entry.path.is_bucket else "folder" if entry.path.is_folder else "file"
            return self._theme.icon(kind, "dim")
        if role == Qt.ItemDataRole.ToolTipRole:
            level = self._tree.level(entry.path) if entry.path.is_folder else None
            words = level.trouble.sentence() if level and level.trouble else str(entry.path)
            public = self._public_words(entry)
            return f"{words}\n{public}" if public else words
        if role == Qt.ItemDataRole.ForegroundRole and self._trouble(entry):
            return self._theme.color("bad")
        if role == Qt.ItemDataRole.ForegroundRole and self._cut and self._cut.has(self._tree.state.profile, entry.path):
            return self._theme.color("dim")
        if role == Qt.ItemDataRole.AccessibleTextRole and index.column() == self.NAME:
            kind = say("Bucket") if entry.path.is_bucket else say("Folder") if entry.path.is_folder else say("Object")
            public = self._public_words(entry)
            return f"{kind}: {entry.path.name}. {public}" if public else f"{kind}: {entry.path.name}"
        if role == Qt.ItemDataRole.TextAlignmentRole and index.column() == self.SIZE:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
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

    def supportedDropActions(self) -> Qt.DropAction:
        return Qt.DropAction.CopyAction | Qt.DropAction.MoveAction

    def mimeTypes(self) -> list[str]:
        return [URLS, OBJECTS]

    def canDropMimeData(self, data: QMimeData, action: Qt.DropAction, row: int, column: int, parent: Index) -> bool:
        return parent.isValid() and (data.hasFormat(OBJECTS) or bool(local_paths(data.urls())))

    def dropMimeData(self, data: QMimeData, action: Qt.DropAction, row: int, column: int, parent: Index) -> bool:
        entry = self.entry(parent)
        sources, carried = local_paths(data.urls()), carried_in(data)
        if entry is None or (carried is None and not sources):
            return False
        target = self.target(parent)
        if carried is not None:
            self.carried_in.emit(carried, target, action == Qt.DropAction.MoveAction)
        else:
            self.dropped.emit(sources, target)
        return True

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
        """What everybody can do with this bucket; empty where nobody can, or where it is not known."""
        if self._marks is None or not entry.path.is_bucket:
            return ""
        known = self._marks.of(entry.path.bucket)
        return say(known.sentence) if known is not None and known.is_public else ""

    def _on_marked(self, bucket: str) -> None:
        index = self.index_of(ObjectPath(bucket))
        if index.isValid():
            self._row_changed(self._numbered[index.internalId()], index.row())

    def _trouble(self, entry: ObjectEntry) -> bool:
        return entry.path.is_folder and self._tree.level(entry.path).trouble is not None

    def _begin(self) -> None:
        self._numbered: dict[int, _Node] = {}
        self._next_number = 1
        self._root = self._add(None, None, 0)

    def _add(self, folder: Folder, parent: _Node | None, row: int) -> _Node:
        node = _Node(folder, parent, self._next_number, row)
        self._numbered[node.number] = node
        self._next_number += 1
        if parent is not None and folder is not None:
            parent.inside[folder] = node
        return node

    def _forget(self, node: _Node) -> None:
        for child in node.inside.values():
            self._forget(child)
        del self._numbered[node.number]

    def _index(self, node: _Node) -> QModelIndex:
        return QModelIndex() if node.parent is None else self.createIndex(node.row, 0, node.parent.number)

    def _known(self, index: Index) -> _Node | None:
        """The node of a folder that was looked into."""
        entry = self.entry(index)
        if entry is None:
            return self._root
        return self._numbered[index.internalId()].inside.get(entry.path)

    def _node_at(self, index: Index) -> _Node | None:
        """The node of a folder; made when it is looked into the first time."""
        entry = self.entry(index)
        if entry is None:
            return self._root
        if not entry.path.is_folder:
            return None
        return self._known(index) or self._add(entry.path, self._numbered[index.internalId()], index.row())

    def _node(self, folder: Folder) -> _Node | None:
        if folder is None:
            return self._root
        node = self._root.inside.get(ObjectPath(folder.bucket))
        place = ObjectPath(folder.bucket)
        for part in folder.key.split("/")[:-1]:
            if node is None:
                return None
            place = place.join(part + "/")
            node = node.inside.get(place)
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
        node = self._node(folder)
        if node is not None:
            self._insert(node, len(node.entries), self._tree.level(folder).entries[start:])

    def _on_listed(self, folder: Folder) -> None:
        node = self._node(folder)
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
                    self._row_changed(node, row)
                continue
            if entry.path in there:
                # The order changed: take the row from where it was.
                self._remove(node, next(here for here, old in enumerate(node.entries) if old.path == entry.path))
            self._insert(node, row, [entry])

    def _on_level_changed(self, folder: Folder) -> None:
        index = self.index_of(folder)
        if index.isValid():
            self._row_changed(self._numbered[index.internalId()], index.row())

    def _insert(self, node: _Node, row: int, entries: Sequence[ObjectEntry]) -> None:
        if not entries:
            return
        self.beginInsertRows(self._index(node), row, row + len(entries) - 1)
        node.entries[row:row] = entries
        for child in node.inside.values():
            if child.row >= row:
                child.row += len(entries)
        self.endInsertRows()

    def _remove(self, node: _Node, row: int) -> None:
        self.beginRemoveRows(self._index(node), row, row)
        entry = node.entries.pop(row)
        gone = node.inside.pop(entry.path, None)
        if gone is not None:
            self._forget(gone)
        for child in node.inside.values():
            if child.row > row:
                child.row -= 1
        self.endRemoveRows()

    def _row_changed(self, node: _Node, row: int) -> None:
        self.dataChanged.emit(self.createIndex(row, 0, node.number), self.createIndex(row, 2, node.number))


def local_paths(urls: Sequence[QUrl]) -> list[Path]:
    """What was dropped from a file manager."""
    return [Path(url.toLocalFile()) for url in urls if url.isLocalFile()]
