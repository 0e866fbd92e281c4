"""What all tables and lists of rows have in common: how they look, and their keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QElapsedTimer,
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    Qt,
    SignalInstance,
)
from PySide6.QtGui import QKeyEvent, QPainter, QShowEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QHeaderView,
    QListWidget,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
)

from traindeck.ui.kit.theme import ROW

if TYPE_CHECKING:
    _View = QAbstractItemView
else:
    _View = object

Index = QModelIndex | QPersistentModelIndex

NUMBERS = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_WORDS = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_PLAIN = (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)


class FilledCell(QStyledItemDelegate):
    """Fills a cell as its model asks; where cells have a style sheet, nobody else does."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        color = index.data(Qt.ItemDataRole.BackgroundRole)
        if color is not None:
            painter.fillRect(option.rect, color)
        super().paint(painter, option, index)


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


_MOVES = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Home, Qt.Key.Key_End, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)


class FocusedView(_View):
    """A view whose selection is paler while it has not the focus, and in which letters that follow one another search.

    While somebody types a name, a letter in it is no command.
    """

    search_column = 0

    _typed: QElapsedTimer | None = None

    def initViewItemOption(self, option: QStyleOptionViewItem) -> None:
        super().initViewItemOption(option)
        if not self.hasFocus():
            option.state &= ~QStyle.StateFlag.State_Active

    def event(self, event: QEvent) -> bool:
        is_override = event.type() == QEvent.Type.ShortcutOverride
        if is_override and isinstance(event, QKeyEvent) and self._is_searching() and _is_letter(event):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self._is_searching() and _is_letter(event):
            self.keyboardSearch(event.text())  # a blank, too
            return
        super().keyPressEvent(event)
        is_move = event.key() in _MOVES and event.modifiers() in _PLAIN
        if is_move and self.currentIndex().isValid() and not self.selectionModel().hasSelection():
            self.setCurrentIndex(self.currentIndex())  # Qt selects where it moves to; from the only row it does not

    def keyboardSearch(self, search: str) -> None:
        if self._typed is None:
            self._typed = QElapsedTimer()
        self._typed.start()
        current = self.currentIndex()
        if isinstance(self, QTableView) and current.isValid() and current.column() != self.search_column:
            searched = current.siblingAtColumn(self.search_column)
            self.selectionModel().setCurrentIndex(searched, QItemSelectionModel.SelectionFlag.NoUpdate)
        super().keyboardSearch(search)

    def _is_searching(self) -> bool:
        return self._typed is not None and self._typed.elapsed() < QApplication.keyboardInputInterval()


def _is_letter(event: QKeyEvent) -> bool:
    is_plain = event.modifiers() in (*_PLAIN, Qt.KeyboardModifier.ShiftModifier)
    return is_plain and bool(event.text()) and event.text().isprintable()


class RowTable(FocusedView, QTableView):
    """A table without keys of its own."""


class RowList(FocusedView, QListWidget):
    """A short list without keys of its own."""

    def showEvent(self, event: QShowEvent) -> None:
        """Rows that were there before have been put as close together as they are without the style."""
        self.scheduleDelayedItemsLayout()
        super().showEvent(event)


class KeyedView(FocusedView):
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
        if self._is_searching() and _is_letter(event):
            known = {}
        wanted = known.get(Qt.Key.Key_Return if key == Qt.Key.Key_Enter else key)
        if wanted is None:
            super().keyPressEvent(event)
        elif not event.isAutoRepeat():
            wanted.emit()
