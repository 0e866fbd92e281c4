"""The objects that were deleted below a folder, to be looked through and restored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QLabel,
    QPushButton,
    QTableView,
    QWidget,
)

from traindeck.domain.texts import moment_words, say
from traindeck.ui.kit.layouts import column_of
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.tables import Index, TitledModel, plain_table
from traindeck.ui.kit.theme import SPACE, set_role
from traindeck.viewmodels.storage.deleting import DeletedObjects


class _Rows(TitledModel):
    """Shows DeletedObjects.rows."""

    COLUMNS = 2

    def __init__(self, deleted: DeletedObjects) -> None:
        super().__init__()
        self._deleted = deleted
        self._count = len(deleted.rows)
        deleted.grew.connect(self._on_grew)

    def count_rows(self) -> int:
        return self._count

    def headers(self) -> Sequence[str]:
        return (say("Name"), say("Deleted"))

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        gone = self._deleted.rows[index.row()]
        if role == Qt.ItemDataRole.ToolTipRole:
            return gone.name
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        if index.column() == 0:
            return gone.name
        return moment_words(gone.deleted) if gone.deleted else ""

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
        heading = sentence(say("Deleted below {place}", place=str(deleted.folder)), "heading")
        self.model = _Rows(deleted)
        self.table = QTableView()
        self.table.setModel(self.model)
        plain_table(self.table, say("Deleted objects"))
        self.table.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
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
        column_of(heading, (self.table, 1), self.words, buttons, inside=self, margins=2 * SPACE, spacing=SPACE)
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
