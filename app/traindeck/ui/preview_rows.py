"""The rows of a CSV or JSONL file as a table."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QTableView

from traindeck.domain.previews import TablePage
from traindeck.domain.texts import say
from traindeck.ui.preview_lists import plain_table
from traindeck.ui.theme import SPACE

Index = QModelIndex | QPersistentModelIndex

_WIDEST = 40 * SPACE
_LOOKED_AT = 50


class CellsModel(QAbstractTableModel):
    """Pages of rows, one below the other; only what is on the screen is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self._columns: tuple[str, ...] = ()
        self._rows: list[tuple[str, ...]] = []

    def clear(self) -> None:
        self.beginResetModel()
        self._columns, self._rows = (), []
        self.endResetModel()

    def add(self, page: TablePage) -> None:
        if len(page.columns) > len(self._columns):
            self.beginInsertColumns(QModelIndex(), len(self._columns), len(page.columns) - 1)
            self._columns = page.columns
            self.endInsertColumns()
        if page.rows:
            self.beginInsertRows(QModelIndex(), len(self._rows), len(self._rows) + len(page.rows) - 1)
            self._rows += page.rows
            self.endInsertRows()

    def cell(self, row: int, column: int) -> str:
        cells = self._rows[row]
        return cells[column] if column < len(cells) else ""

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._columns)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        if orientation == Qt.Orientation.Vertical:
            return f"{section + 1:,}"
        return self._columns[section] or say("(other)")

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if index.isValid() and role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return self.cell(index.row(), index.column())
        return None


class CellsTable(QTableView):
    """Cells can be chosen and copied, as in a spreadsheet."""

    def __init__(self) -> None:
        super().__init__()
        self.cells = CellsModel()
        self.setModel(self.cells)
        plain_table(self, say("Rows of the file"))
        self.setSelectionBehavior(QTableView.SelectionBehavior.SelectItems)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setShowGrid(True)
        self.verticalHeader().show()
        self.verticalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)

    def show_page(self, page: TablePage, *, is_first: bool) -> None:
        if is_first:
            self.cells.clear()
        known = self.cells.columnCount()
        self.cells.add(page)
        metrics = self.fontMetrics()
        for column in range(known, self.cells.columnCount()):
            words = [self.cells.cell(row, column) for row in range(min(_LOOKED_AT, self.cells.rowCount()))]
            words.append(str(self.cells.headerData(column, Qt.Orientation.Horizontal)))
            width = max(metrics.horizontalAdvance(word[:60]) for word in words)
            self.setColumnWidth(column, min(_WIDEST, width + 2 * SPACE))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        else:
            super().keyPressEvent(event)

    def copy(self) -> None:
        """The chosen cells, as a spreadsheet takes them."""
        chosen = sorted((index.row(), index.column()) for index in self.selectedIndexes())
        lines: dict[int, list[str]] = {}
        for row, column in chosen:
            lines.setdefault(row, []).append(self.cells.cell(row, column))
        QGuiApplication.clipboard().setText("\n".join("\t".join(cells) for cells in lines.values()))
