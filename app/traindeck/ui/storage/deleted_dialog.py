"""The objects that were deleted below a folder, to be looked through and restored."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QLabel,
    QPushButton,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from traindeck.domain.texts import say
from traindeck.ui.kit.theme import ROW, SPACE, set_role
from traindeck.viewmodels.jobs.run_page import moment_words
from traindeck.viewmodels.storage.deleting import DeletedObjects

Index = QModelIndex | QPersistentModelIndex


class _Rows(QAbstractTableModel):
    """Shows DeletedObjects.rows."""

    def __init__(self, deleted: DeletedObjects) -> None:
        super().__init__()
        self._deleted = deleted
        self._count = len(deleted.rows)
        deleted.grew.connect(self._on_grew)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else self._count

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else 2

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return (say("Name"), say("Deleted"))[section]
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        gone = self._deleted.rows[index.row()]
        if role == Qt.ItemDataRole.ToolTipRole:
            return gone.name
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        if index.column() == 0:
            return gone.name
        return moment_words(gone.deleted)[:16] if gone.deleted else ""

    def _on_grew(self, first: int) -> None:
        self.beginInsertRows(QModelIndex(), first, len(self._deleted.rows) - 1)
        self._count = len(self._deleted.rows)
        self.endInsertRows()


class DeletedDialog(QDialog):
    """Shows DeletedObjects; what is restored is a transfer like every other."""

    def __init__(self, deleted: DeletedObjects, parent: QWidget | None) -> None:
        super().__init__(parent)
        self._deleted = deleted
        self.setWindowTitle(say("Deleted objects"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(72 * SPACE, 52 * SPACE)
        heading = QLabel(say("Deleted below {place}", place=str(deleted.folder)))
        heading.setWordWrap(True)
        set_role(heading, "heading")
        self.model = _Rows(deleted)
        self.table = QTableView()
        self.table.setModel(self.model)
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.table.setShowGrid(False)
        self.table.setWordWrap(False)
        self.table.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.table.setAccessibleName(say("Deleted objects"))
        self.table.verticalHeader().hide()
        self.table.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.table.verticalHeader().setDefaultSectionSize(ROW)
        header = self.table.horizontalHeader()
        header.setHighlightSections(False)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.table.setColumnWidth(1, self.fontMetrics().horizontalAdvance("2026-12-30 20:00") + 3 * SPACE)
        self.words = QLabel()
        self.words.setWordWrap(True)
        buttons = QDialogButtonBox()
        self.some = QPushButton(say("Restore selected"))
        self.all = QPushButton(say("Restore all"))
        set_role(self.some, "primary")
        for button in (self.some, self.all):
            buttons.addButton(button, QDialogButtonBox.ButtonRole.ActionRole)
        buttons.addButton(say("Close"), QDialogButtonBox.ButtonRole.RejectRole)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(2 * SPACE, 2 * SPACE, 2 * SPACE, 2 * SPACE)
        layout.setSpacing(SPACE)
        layout.addWidget(heading)
        layout.addWidget(self.table, 1)
        layout.addWidget(self.words)
        layout.addWidget(buttons)
        self.some.clicked.connect(self._restore_some)
        self.all.clicked.connect(self._restore_all)
        self.finished.connect(deleted.close)
        deleted.changed.connect(self._refresh)
        deleted.grew.connect(self._refresh)
        self.table.selectionModel().selectionChanged.connect(self._refresh)
        self._refresh()
        deleted.read()

    def _refresh(self, *_: object) -> None:
        state, count = self._deleted.state, self.model.rowCount()
        self.some.setEnabled(self.table.selectionModel().hasSelection())
        self.all.setEnabled(count > 0)
        set_role(self.words, "error" if state.trouble else "small")
        if state.trouble is not None:
            self.words.setText(state.trouble.sentence())
        elif count:
            shown = say("{count} deleted objects", count=f"{count:,}")
            more = say("More of them are not listed; “Restore all” restores those too.") if state.is_cut else ""
            self.words.setText(f"{shown}. {more}".strip() if more else shown)
        elif state.is_reading:
            self.words.setText(say("Looking what there is"))
        elif state.keeps_versions:
            self.words.setText(say("Nothing was deleted here that could be restored."))
        else:
            self.words.setText(say("This bucket keeps no versions: what is deleted in it is gone."))

    def _restore_some(self) -> None:
        self._deleted.restore([index.row() for index in self.table.selectionModel().selectedRows()])
        self.accept()

    def _restore_all(self) -> None:
        self._deleted.restore()
        self.accept()
