"""The list of transfers as a panel."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QMenu,
    QPushButton,
    QStackedLayout,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from traindeck.domain.objects import size_words
from traindeck.domain.texts import say
from traindeck.ui.cell_painting import ProgressDelegate
from traindeck.ui.empty_page import EmptyPage
from traindeck.ui.table_models import TransferTableModel
from traindeck.ui.theme import HALF, ROW, SPACE, Theme, set_role
from traindeck.viewmodels.transfer_list import TransferList


class TransferTable(QTableView):
    """Rows of transfers; Delete cancels what is selected."""

    cancel_wanted = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultSectionSize(ROW)
        self.setItemDelegateForColumn(TransferTableModel.PROGRESS, ProgressDelegate(theme, self))
        self.setAccessibleName(say("Transfers"))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Delete:
            self.cancel_wanted.emit()
        else:
            super().keyPressEvent(event)


class TransferView(QWidget):
    """Shows TransferList."""

    def __init__(self, transfers: TransferList, theme: Theme) -> None:
        super().__init__()
        self._transfers = transfers
        self.model = TransferTableModel(transfers)
        self.table = TransferTable(theme)
        self.table.setModel(self.model)
        header = self.table.horizontalHeader()
        header.setHighlightSections(False)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        for column in (TransferTableModel.SOURCE, TransferTableModel.TARGET):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)
        widths = {
            TransferTableModel.DIRECTION: 4,
            TransferTableModel.PROGRESS: 26,
            TransferTableModel.SIZE: 10,
            TransferTableModel.RATE: 20,
        }
        for column, units in widths.items():
            self.table.setColumnWidth(column, units * SPACE)
        self.empty = EmptyPage(
            say("Nothing is moving."),
            say("Drop files on a bucket to upload them; fetch a run's outputs to bring them here."),
        )
        self.summary = QLabel()
        set_role(self.summary, "small")
        self.cancel = QPushButton(say("Cancel transfer"))
        self.clear = QPushButton(say("Clear finished"))
        for button in (self.cancel, self.clear):
            set_role(button, "flat")
        self._pages = QStackedLayout()
        self._pages.addWidget(self.empty)
        self._pages.addWidget(self.table)
        foot = QHBoxLayout()
        foot.setContentsMargins(SPACE, HALF, SPACE, HALF)
        foot.addWidget(self.summary, 1)
        foot.addWidget(self.cancel)
        foot.addWidget(self.clear)
        self._foot = QWidget()
        self._foot.setLayout(foot)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(self._pages, 1)
        layout.addWidget(self._foot)
        self.setFocusProxy(self.table)

        self.table.cancel_wanted.connect(self._cancel)
        self.table.customContextMenuRequested.connect(self._show_menu)
        self.table.selectionModel().selectionChanged.connect(self._on_changed)
        self.cancel.clicked.connect(self._cancel)
        self.clear.clicked.connect(transfers.clear_finished)
        transfers.changed.connect(self._on_changed)
        self._on_changed()

    def sizeHint(self) -> QSize:
        return QSize(80 * SPACE, 20 * SPACE)

    def selected_ids(self) -> list[int]:
        return [self.model.row(index.row()).id for index in self.table.selectionModel().selectedRows()]

    def _live_selected(self) -> list[int]:
        live = {row.id for row in self._transfers.state.rows if not row.transfer.state.is_over}
        return [number for number in self.selected_ids() if number in live]

    def _cancel(self) -> None:
        for number in self._live_selected():
            self._transfers.cancel(number)

    def _show_menu(self, place: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        cancel = menu.addAction(say("Cancel transfer") + "\tDel")
        cancel.setEnabled(bool(self._live_selected()))
        cancel.triggered.connect(self._cancel)
        menu.addAction(say("Clear finished")).triggered.connect(self._transfers.clear_finished)
        menu.popup(self.table.viewport().mapToGlobal(place))

    def _on_changed(self, *_: object) -> None:
        state = self._transfers.state
        self._pages.setCurrentWidget(self.table if state.rows else self.empty)
        self._foot.setVisible(bool(state.rows))
        self.cancel.setEnabled(bool(self._live_selected()))
        self.clear.setEnabled(state.live < len(state.rows))
        if state.bytes_per_s is not None:
            rate = size_words(round(state.bytes_per_s))
            self.summary.setText(say("{count} under way, {rate}/s", count=state.live, rate=rate))
        else:
            self.summary.setText(say("{count} under way", count=state.live) if state.live else say("All done."))
