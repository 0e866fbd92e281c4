"""What became of each file of a transfer, as a list to read, narrow and copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QModelIndex, QObject, Qt
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QComboBox, QDialog, QHeaderView, QTableView, QWidget

from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import say, say_count
from traindeck.domain.transfers.records import Item
from traindeck.ui.kit.cards import ElidedLabel, push_button
from traindeck.ui.kit.cells import EndElidedDelegate, StateChipDelegate
from traindeck.ui.kit.layouts import column_of, fit_on_screen, label, row_of
from traindeck.ui.kit.table_models import TONE_ROLE
from traindeck.ui.kit.tables import NUMBERS, FocusedView, Index, TitledModel, plain_table
from traindeck.ui.kit.theme import SPACE, Theme
from traindeck.viewmodels.transfers.transfer_list import (
    ALL,
    ENDED_WELL,
    PROBLEMS,
    TransferFiles,
    TransferList,
    TransferRow,
)
from traindeck.viewmodels.transfers.transfer_words import (
    UNCONFIRMED,
    confirmed_sign,
    confirmed_words,
    counts_words,
    item_line,
    item_place,
    item_tone,
    item_words,
    progress_words,
    result_names,
    verified_words,
    way_words,
)


class FilesModel(TitledModel):
    """The rows that came so far; the rest comes when somebody scrolls there."""

    COLUMNS = 5
    RESULT, CONFIRMED, NAME, SIZE, REASON = range(COLUMNS)

    def __init__(self, files: TransferFiles, row: TransferRow, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._files = files
        self._row = row
        self._count = 0
        files.emptied.connect(self._empty)
        files.grew.connect(self._grow)

    def item(self, number: int) -> Item:
        return self._files.rows[number]

    def count_rows(self) -> int:
        return self._count

    def headers(self) -> Sequence[str]:
        return (say("Result"), say("MD5"), say("Name"), say("Size"), say("Reason"))

    def canFetchMore(self, parent: Index) -> bool:
        return not parent.isValid() and self._count > 0 and self._files.state.has_more

    def fetchMore(self, parent: Index) -> None:
        self._files.more()

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        item, column = self.item(index.row()), index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self._words(item, column)
        if role == TONE_ROLE and column == self.RESULT:
            return item_tone(item)
        if role == Qt.ItemDataRole.ToolTipRole and column == self.CONFIRMED:
            return confirmed_words(item)
        if role == Qt.ItemDataRole.ToolTipRole:
            return item.error.sentence() if item.error and column == self.REASON else self._words(item, column)
        if role == Qt.ItemDataRole.TextAlignmentRole and column == self.CONFIRMED:
            return Qt.AlignmentFlag.AlignCenter
        if role == Qt.ItemDataRole.TextAlignmentRole and column == self.SIZE:
            return NUMBERS
        return None

    def _words(self, item: Item, column: int) -> str:
        if column == self.RESULT:
            return item_words(item, self._row.transfer.kind)
        if column == self.CONFIRMED:
            return confirmed_sign(item)
        if column == self.NAME:
            return item_place(item, self._row)
        if column == self.SIZE:
            return size_words(item.size_bytes)
        if item.error is None and item.state.is_open is False and confirmed_sign(item) == UNCONFIRMED:
            return confirmed_words(item)
        return say(item.error.title) if item.error else ""

    def _empty(self) -> None:
        self.beginResetModel()
        self._count = 0
        self.endResetModel()

    def _grow(self, first: int) -> None:
        self.beginInsertRows(QModelIndex(), first, len(self._files.rows) - 1)
        self._count = len(self._files.rows)
        self.endInsertRows()


class FilesTable(FocusedView, QTableView):
    """Files a row each, with what becomes of them."""

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__()
        plain_table(self, name)
        self.setItemDelegateForColumn(FilesModel.RESULT, StateChipDelegate(theme, self))
        self.setItemDelegateForColumn(FilesModel.REASON, EndElidedDelegate(self))

    def show_model(self, model: FilesModel | None) -> None:
        """Another list, or none; the one before ends when it is a child of this table."""
        before = self.model()
        self.setModel(model)
        if isinstance(before, FilesModel) and before.parent() is self:
            before.deleteLater()
        if model is None:
            return
        for column in (FilesModel.NAME, FilesModel.REASON):
            self.horizontalHeader().setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)
        self.setColumnWidth(FilesModel.RESULT, 19 * SPACE)
        self.setColumnWidth(FilesModel.CONFIRMED, 6 * SPACE)
        self.setColumnWidth(FilesModel.SIZE, 10 * SPACE)


class TransferFilesDialog(QDialog):
    """Stays open beside the window; begins with the problems where there are any."""

    def __init__(self, transfers: TransferList, row: TransferRow, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(say("Files of the transfer"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        fit_on_screen(self, 116 * SPACE, 60 * SPACE)
        self._transfers = transfers
        self._row = row
        self._files = transfers.files(row.id)
        self.model = FilesModel(self._files, row)
        self._lay_out(theme)
        self.filter.currentIndexChanged.connect(self._narrow)
        QShortcut(QKeySequence(QKeySequence.StandardKey.Copy), self.table, self.copy_lines)
        QShortcut(QKeySequence("F5"), self, self._files.reload)
        self.table.selectionModel().selectionChanged.connect(self._on_selection)
        self._files.changed.connect(self._say)
        transfers.changed.connect(self._look)
        self.finished.connect(self._files.close)
        self._on_selection()
        has_problems = row.transfer.failed_files or row.transfer.differences or row.transfer.unknown_files
        self.filter.setCurrentIndex(1 if has_problems else 0)
        self._narrow()
        self.table.setFocus()

    def _lay_out(self, theme: Theme) -> None:
        self.summary = ElidedLabel(role="dim")
        self.filter = QComboBox()
        self.filter.setAccessibleName(say("Which files"))
        self.filter.addItem(say("All files"), (ALL, None))
        self.filter.addItem(say("Problems only"), (PROBLEMS, None))
        for state, words in result_names(self._row.transfer.kind):
            self.filter.addItem(words, ((state,), None))
        self.filter.addItem(say("Not confirmed"), (ENDED_WELL, False))
        self.table = FilesTable(theme, say("Files of the transfer"))
        self.table.show_model(self.model)
        self.footing = label("", "small")
        self.refresh = push_button(say("Refresh"), self._files.reload, tip=say("Refresh (F5)"))
        tip = say("Copy the selected lines, with their reasons (Ctrl+C)")
        self.copy = push_button(say("Copy lines"), self.copy_lines, tip=tip)
        top = row_of((self.summary, 1), self.filter)
        foot = row_of((self.footing, 1), self.refresh, self.copy, push_button(say("Close"), self.reject))
        way = ElidedLabel(way_words(self._row), "strong")
        column_of(way, top, (self.table, 1), foot, inside=self, margins=2 * SPACE, spacing=SPACE)

    def copy_lines(self) -> None:
        chosen = sorted(index.row() for index in self.table.selectionModel().selectedRows())
        if chosen:
            lines = (item_line(self.model.item(number), self._row) for number in chosen)
            QGuiApplication.clipboard().setText("\n".join(lines))

    def _narrow(self) -> None:
        states, is_verified = self.filter.currentData()
        self._files.show(states, is_verified)

    def _look(self) -> None:
        """Another state has other results; what moves is read anew when somebody asks."""
        row = self._transfers.row(self._row.id)
        if row is None:
            return
        is_another = row.transfer.state is not self._row.transfer.state
        self._row = row
        self._say()
        if is_another:
            self._files.reload()

    def _on_selection(self, *_: object) -> None:
        self.copy.setEnabled(self.table.selectionModel().hasSelection())

    def _say(self) -> None:
        state = self._files.state
        words = dict.fromkeys((*counts_words(self._row).split(" · "), progress_words(self._row)))
        self.summary.setText(" · ".join(filter(None, words)))
        self.summary.setToolTip(verified_words(self._row))
        count = len(self._files.rows)
        if state.trouble is not None:
            self.footing.setText(say(state.trouble.title))
        elif state.is_reading:
            self.footing.setText(say("Reading…"))
        elif state.has_more:
            self.footing.setText(
                say_count(
                    "The first {count} file. Scroll down to load more.",
                    "The first {count} files. Scroll down to load more.",
                    count,
                )
            )
        else:
            self.footing.setText(
                say_count("{count} file", "{count} files", count) if self._files.rows else say("No matching files.")
            )
