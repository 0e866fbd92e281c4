"""What all tables and lists of rows have in common: how they look, and their keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QPersistentModelIndex,
    Qt,
    SignalInstance,
)
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from traindeck.ui.kit.theme import ROW

if TYPE_CHECKING:
    _View = QAbstractItemView
else:
    _View = object

Index = QModelIndex | QPersistentModelIndex

NUMBERS = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_WORDS = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_PLAIN = (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)


def plain_table(view: QTableView, name: str, row_height: int = ROW) -> None:
    """Rows to choose from, one line each; names differ at their ends, so it is their middle that goes."""
    view.setAccessibleName(name)
    view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    view.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
    view.setShowGrid(False)
    view.setTabKeyNavigation(False)
    view.setTextElideMode(Qt.TextElideMode.ElideMiddle)
    plain_heads(view, row_height)


def plain_heads(view: QTableView, row_height: int = ROW) -> None:
    """One line for each row, without a number before it."""
    view.setWordWrap(False)
    view.verticalHeader().hide()
    view.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
    view.verticalHeader().setDefaultSectionSize(row_height)
    view.horizontalHeader().setHighlightSections(False)
    view.horizontalHeader().setDefaultAlignment(_WORDS)


class TitledModel(QAbstractTableModel):
    """A flat table whose columns have titles."""

    COLUMNS = 0

    def headers(self) -> Sequence[str]:
        raise NotImplementedError

    def count_rows(self) -> int:
        raise NotImplementedError

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else self.count_rows()

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else self.COLUMNS

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return self.headers()[section]
        return None


class KeyedView(_View):
    """A view that tells which of its keys were pressed; one held down counts once."""

    def keys(self) -> Mapping[Qt.Key, SignalInstance]:
        """Return stands for Enter, too."""
        raise NotImplementedError

    def shifted_keys(self) -> Mapping[Qt.Key, SignalInstance]:
        return {}

    def keyPressEvent(self, event: QKeyEvent) -> None:
        is_shifted = event.modifiers() == Qt.KeyboardModifier.ShiftModifier
        known = self.shifted_keys() if is_shifted else self.keys() if event.modifiers() in _PLAIN else {}
        key = Qt.Key(event.key())
        wanted = known.get(Qt.Key.Key_Return if key == Qt.Key.Key_Enter else key)
        if wanted is None:
            super().keyPressEvent(event)
        elif not event.isAutoRepeat():
            wanted.emit()
