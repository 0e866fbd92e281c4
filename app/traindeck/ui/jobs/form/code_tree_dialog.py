"""What of the code directory goes along: sizes, what is left out and by which rule, and a click for what shall."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QModelIndex, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QDialog, QHeaderView, QTreeView, QWidget

from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import say
from traindeck.ui.kit.cards import push_button
from traindeck.ui.kit.dialogs import DIALOG_MARGINS, closing
from traindeck.ui.kit.layouts import column_of, fit_on_screen, scrolling
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.tables import NUMBERS, FocusedView, Index
from traindeck.ui.kit.theme import SPACE, Theme
from traindeck.viewmodels.jobs.form.code_folder import CodeFolder, CodeNode

NAME, SIZE, WHY = range(3)
_REMARK_LINES = 4


class CodeTreeModel(QAbstractItemModel):
    """Nodes as they were found; a node is known by its path when the folder was looked at anew."""

    toggled = Signal(object)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.nodes: Sequence[CodeNode] = ()
        self._parents: dict[str, tuple[CodeNode | None, int]] = {}
        self._known: dict[str, CodeNode] = {}

    def show(self, nodes: Sequence[CodeNode]) -> None:
        if self._has_same_paths(nodes):
            self._note(nodes)
            self.dataChanged.emit(self.index(0, 0), self.index(len(nodes) - 1, WHY))
            self.layoutChanged.emit()
            return
        self.beginResetModel()
        self._note(nodes)
        self.endResetModel()

    def _has_same_paths(self, nodes: Sequence[CodeNode]) -> bool:
        """What is unfolded stays so where only the rules are others."""
        if not self._known:
            return False
        pending, count = list(nodes), 0
        while pending:
            node = pending.pop()
            known = self._known.get(node.path)
            if known is None or [one.path for one in known.children] != [one.path for one in node.children]:
                return False
            count += 1
            pending += node.children
        return count == len(self._known)

    def _note(self, nodes: Sequence[CodeNode]) -> None:
        self.nodes = nodes
        self._parents, self._known = {}, {}
        pending: list[tuple[CodeNode | None, Sequence[CodeNode]]] = [(None, nodes)]
        while pending:
            parent, children = pending.pop()
            for row, node in enumerate(children):
                self._known[node.path] = node
                self._parents[node.path] = (parent, row)
                if node.children:
                    pending.append((node, node.children))
        self._ids = dict(enumerate(self._known))
        self._numbers = {path: number for number, path in self._ids.items()}

    def node(self, index: Index) -> CodeNode | None:
        return self._known[self._ids[index.internalId()]] if index.isValid() else None

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        children = self._children(parent)
        if not 0 <= row < len(children):
            return QModelIndex()
        return self.createIndex(row, column, self._numbers[children[row].path])

    def parent(self, index: Index) -> QModelIndex:  # type: ignore[override]
        node = self.node(index)
        above = self._parents[node.path][0] if node is not None else None
        if above is None:
            return QModelIndex()
        return self.createIndex(self._parents[above.path][1], 0, self._numbers[above.path])

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return len(self._children(parent)) if parent.column() <= 0 else 0

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 3

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return (say("Name"), say("Size"), say("Left out by"))[section]
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        node = self.node(index)
        flags = super().flags(index)
        if node is not None and index.column() == NAME and node.can_change:
            flags |= Qt.ItemFlag.ItemIsUserCheckable
        return flags

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        node = self.node(index)
        if node is None:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._words(node, index.column())
        if role == Qt.ItemDataRole.CheckStateRole and index.column() == NAME:
            return Qt.CheckState.Checked if node.is_taken else Qt.CheckState.Unchecked
        if role == Qt.ItemDataRole.ToolTipRole:
            return node.path if index.column() == NAME else self._words(node, index.column())
        if role == Qt.ItemDataRole.TextAlignmentRole and index.column() == SIZE:
            return NUMBERS
        if role == Qt.ItemDataRole.ForegroundRole:
            return self._theme.color("text" if node.is_taken else "dim" if node.can_change else "bad")
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        node = self.node(index)
        if node is None or role != Qt.ItemDataRole.CheckStateRole or not node.can_change:
            return False
        self.toggled.emit(node)
        return True

    @staticmethod
    def _words(node: CodeNode, column: int) -> str:
        if column == NAME:
            return node.name + ("/" if node.is_folder else "")
        if column == SIZE:
            return size_words(node.size_bytes) if node.size_bytes is not None else "–"
        return say(node.why) if node.why is not None else ""

    def _children(self, parent: Index) -> Sequence[CodeNode]:
        node = self.node(parent)
        return self.nodes if node is None else node.children


class _CodeTreeView(FocusedView, QTreeView):
    """Space ticks the file that is chosen."""


class CodeTreeDialog(QDialog):
    """Each tick is a rule in the form's own list; the folder itself is never changed."""

    def __init__(self, code: CodeFolder, theme: Theme, parent: QWidget | None) -> None:
        super().__init__(parent)
        self._code = code
        self._is_first = True
        self.setWindowTitle(say("Code that goes along"))
        fit_on_screen(self, 88 * SPACE, 66 * SPACE)
        self.summary = sentence("", "heading")
        self.place = sentence("", "dim")
        self.remarks = sentence("", "")
        self.remarks.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._room = scrolling(self.remarks)
        self.model = CodeTreeModel(theme)
        self.tree = _CodeTreeView()
        self.tree.setAccessibleName(say("Files of the code directory"))
        self.tree.setModel(self.model)
        self.tree.setUniformRowHeights(True)
        self.tree.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        head = self.tree.header()
        head.setStretchLastSection(True)
        head.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Interactive)
        head.resizeSection(NAME, 40 * SPACE)
        head.resizeSection(SIZE, 12 * SPACE)
        self.again = push_button(say("Refresh"), code.look)
        buttons, self.close_button = closing(self, say("Close"), self.again)
        # Below the rows: what is said there changes while the mouse is over a tick, which keeps its place.
        parts = (self.summary, self.place, (self.tree, 1), self._room, buttons)
        column_of(*parts, inside=self, margins=DIALOG_MARGINS, spacing=SPACE)
        self.model.toggled.connect(code.change)
        code.changed.connect(self._show)
        self.tree.setFocus()
        self._show()
        code.look()

    def _show(self) -> None:
        state, summary = self._code.state, self._code.summary
        self.summary.setText(say(summary) if summary is not None else "")
        self.place.setText(str(state.tree.root) if state.tree is not None else "")
        self.remarks.setText("\n".join(say(remark) for remark in self._code.remarks))
        self._fit_remarks()
        self.again.setEnabled(not state.is_looking)
        self.model.show(state.nodes)
        if self._is_first and state.nodes:
            self._is_first = False
            self.tree.setCurrentIndex(self.model.index(0, 0))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_remarks()

    def _fit_remarks(self) -> None:
        """As high as what is said, up to some lines; more is scrolled."""
        most = _REMARK_LINES * self.fontMetrics().lineSpacing() + SPACE
        needed = self.remarks.heightForWidth(self._room.viewport().width()) if self.remarks.text() else 0
        self._room.setFixedHeight(min(needed, most))
