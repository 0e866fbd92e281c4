"""The list of transfers as a panel."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import QPoint, QSize, Qt, Signal, SignalInstance
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QDoubleSpinBox,
    QHeaderView,
    QInputDialog,
    QMenu,
    QPushButton,
    QStackedLayout,
    QTableView,
    QToolButton,
    QWidget,
)

from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import say
from traindeck.ui.kit.cards import ElidedLabel, EmptyPage, push_button, theme_tool_buttons, tool_button
from traindeck.ui.kit.cells import EndElidedDelegate, ProgressDelegate
from traindeck.ui.kit.columns import Columns
from traindeck.ui.kit.context_menu import menu_of
from traindeck.ui.kit.kept_place import KeptRows
from traindeck.ui.kit.layouts import column_of, label, row_of
from traindeck.ui.kit.table_models import BADGE_ROLE, SHARE_ROLE, TONE_ROLE, RowsModel
from traindeck.ui.kit.tables import NUMBERS, KeyedView, plain_table
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.ui.transfers.transfer_commands import COMMAND_OF
from traindeck.viewmodels.shell.commands import Command
from traindeck.viewmodels.transfers.transfer_list import TransferAction, TransferList, TransferRow
from traindeck.viewmodels.transfers.transfer_words import (
    counts_words,
    kind_sign,
    kind_words,
    progress_words,
    rate_words,
    reason_words,
    source_words,
    summary_words,
    transfer_tone,
    trouble_words,
    way_words,
)

_MEGABYTE = 1_000_000
_RATES = (_MEGABYTE // 2, _MEGABYTE, 5 * _MEGABYTE, 20 * _MEGABYTE, 100 * _MEGABYTE)
_WITH_FILES, _WITH_SIZE = 88 * SPACE, 104 * SPACE
_NARROWEST = 44 * SPACE


class TransferTableModel(RowsModel[TransferRow]):
    """The transfers as a table."""

    COLUMNS = 7
    DIRECTION, SOURCE, TARGET, PROGRESS, FILES, SIZE, RATE = range(COLUMNS)

    def __init__(self, transfers: TransferList) -> None:
        super().__init__()
        self._transfers = transfers
        transfers.changed.connect(self._on_changed)
        self._on_changed()

    def key(self, row: TransferRow) -> Hashable:
        return row.id

    def headers(self) -> Sequence[str]:
        return ("", say("From"), say("To"), say("Progress"), say("Files"), say("Size"), say("Rate"))

    def cell(self, row: TransferRow, column: int, role: int) -> Any:
        if role == Qt.ItemDataRole.DisplayRole:
            return self._words(row, column)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            if column == self.DIRECTION:
                return kind_words(row)
            return say("{label}: {value}", label=self.headers()[column], value=self._words(row, column))
        if role == SHARE_ROLE and column == self.PROGRESS:
            return row.share
        if role == TONE_ROLE and column == self.PROGRESS:
            return transfer_tone(row)
        if role == BADGE_ROLE and column == self.PROGRESS:
            return row.transfer.is_verified
        if role == Qt.ItemDataRole.ToolTipRole:
            return reason_words(row) if column == self.PROGRESS else self._tip(row, column)
        if role == Qt.ItemDataRole.TextAlignmentRole and column in (self.SIZE, self.RATE):
            return NUMBERS
        return None

    def _tip(self, row: TransferRow, column: int) -> str:
        if column == self.DIRECTION:
            return kind_words(row)
        if column in (self.SOURCE, self.TARGET):
            return way_words(row)
        if column == self.SIZE and row.transfer.total_bytes is not None:
            done, whole = size_words(row.transfer.done_bytes), size_words(row.transfer.total_bytes)
            return say("{done} of {all}", done=done, all=whole)
        return self._words(row, column)

    def _words(self, row: TransferRow, column: int) -> str:
        transfer = row.transfer
        texts = {
            self.DIRECTION: kind_sign(row),
            self.SOURCE: source_words(row),
            self.TARGET: transfer.target,
            self.PROGRESS: progress_words(row),
            self.FILES: counts_words(row),
            self.SIZE: size_words(transfer.total_bytes),
            self.RATE: rate_words(row),
        }
        return texts[column]

    def _on_changed(self) -> None:
        self.show(self._transfers.state.rows)


class TransferTable(KeyedView, QTableView):
    """Rows of transfers that know the keys of the list."""

    cancel_wanted = Signal()
    pause_wanted = Signal()
    files_wanted = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        plain_table(self, say("Transfers"))
        self.columns = Columns(self.horizontalHeader(), "transfers", always=TransferTableModel.SOURCE)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setItemDelegateForColumn(TransferTableModel.PROGRESS, ProgressDelegate(theme, self))
        self.setItemDelegateForColumn(TransferTableModel.FILES, EndElidedDelegate(self))
        self.doubleClicked.connect(self.files_wanted)

    def keys(self) -> Mapping[Qt.Key, SignalInstance]:
        return {
            Qt.Key.Key_Delete: self.cancel_wanted,
            Qt.Key.Key_Return: self.files_wanted,
            Qt.Key.Key_Space: self.pause_wanted,
        }


class TransferView(QWidget):
    """Shows TransferList; `commands` act on what is chosen in it."""

    def __init__(self, transfers: TransferList, theme: Theme, commands: Sequence[Command]) -> None:
        super().__init__()
        self._transfers = transfers
        self._theme = theme
        self._commands = {command.id: command for command in commands}
        self.model = TransferTableModel(transfers)
        self.table = TransferTable(theme)
        self.table.setModel(self.model)
        header = self.table.horizontalHeader()
        for column in (TransferTableModel.SOURCE, TransferTableModel.TARGET):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)
        widths = {
            TransferTableModel.DIRECTION: 4,
            TransferTableModel.PROGRESS: 15,
            TransferTableModel.FILES: 16,
            TransferTableModel.SIZE: 9,
            TransferTableModel.RATE: 20,
        }
        for column, units in widths.items():
            self.table.setColumnWidth(column, units * SPACE)
        self.empty = EmptyPage(
            say("No transfers yet."),
            say("Drop files on a bucket to upload them, or select objects and press Download."),
        )
        self.summary = ElidedLabel(role="small")
        # On lines of its own: in a cell a reason is never seen to its end.
        self.trouble = label(role="small", wraps=True, copies=True)
        self.trouble.setContentsMargins(SPACE, HALF, SPACE, HALF)
        self._acts: dict[str, QToolButton | QPushButton] = {}
        self.begin = self._tool("check", say("Start the planned transfer"), TransferAction.BEGIN)
        self.pause = self._tool("pause", say("Pause (Space)"), TransferAction.PAUSE)
        self.resume = self._tool("play", say("Resume (Space)"), TransferAction.RESUME)
        self.retry = self._tool("again", say("Try again"), TransferAction.RETRY)
        self.verify = self._tool("shield", say("Verify again: compare size and checksum"), TransferAction.VERIFY)
        self.first = self._tool("first", say("Move to the front of the queue"), TransferAction.MOVE_FIRST)
        self.list = self._acts["transfer.files"] = tool_button(
            "runs", say("Show the files (Return)"), self._commands["transfer.files"].run_if_able
        )
        self.cancel = self._tool("close", say("Cancel transfer (Del)"), TransferAction.CANCEL)
        tip = say("Remove finished transfers from the list. Files stay.")
        clear = self._commands["transfer.clear"]
        self.clear = self._acts[clear.id] = push_button(say("Clear finished"), clear.run_if_able, "flat", tip)
        self.rate = QToolButton()
        set_role(self.rate, "menu")
        self.rate.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.rate.setToolTip(say("Limit of all transfers together"))
        self.rate.setMenu(QMenu(self))
        self.rate.menu().aboutToShow.connect(self._offer_rates)
        self.tools = (self.begin, self.pause, self.resume, self.retry, self.verify, self.first, self.list, self.cancel)
        # All of them are in the menu, too: where there is no room for all, the last go first.
        self._spare = (self.retry, self.list, self.verify, self.first, self.clear)
        self._pages = QStackedLayout()
        self._foot = QWidget()
        tools = (self.rate, *self.tools, self.clear)
        row_of((self.summary, 1), *tools, inside=self._foot, margins=(SPACE, HALF, SPACE, HALF), spacing=HALF)
        self._foot.setMinimumWidth(_NARROWEST)
        layout = column_of((self._pages, 1), inside=self, margins=0, spacing=0)
        # Only now: without a parent the first of them would be shown as a window of its own.
        self._pages.addWidget(self.empty)
        self._pages.addWidget(self.table)
        layout.addWidget(self.trouble)
        layout.addWidget(self._foot)
        self.setFocusProxy(self.table)

        KeptRows("transfers", self.table, self.model)
        self.table.cancel_wanted.connect(self.cancel.click)
        self.table.pause_wanted.connect(self._pause_or_resume)
        self.table.files_wanted.connect(self.list.click)
        self.table.customContextMenuRequested.connect(self._show_menu)
        self.table.selectionModel().selectionChanged.connect(self._on_chosen)
        theme.changed.connect(self._apply_theme)
        self._apply_theme()
        transfers.changed.connect(self._on_changed)
        self._on_changed()

    def sizeHint(self) -> QSize:
        return QSize(80 * SPACE, 20 * SPACE)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """What matters least makes room first: from where to where is always in sight."""
        super().resizeEvent(event)
        room = {
            TransferTableModel.FILES: self.width() >= _WITH_FILES,
            TransferTableModel.SIZE: self.width() >= _WITH_SIZE,
        }
        self.table.columns.make_room(room)
        self._make_room()

    def _make_room(self) -> None:
        needed = [self.summary, self.rate, *(tool for tool in self.tools if tool not in self._spare)]
        room = self.width() - 2 * SPACE - sum(_room_of(widget) for widget in needed if not widget.isHidden())
        for widget in self._spare:
            room -= _room_of(widget)
            widget.setVisible(room >= 0)

    def selected_ids(self) -> list[int]:
        return [self.model.row(index.row()).id for index in self.table.selectionModel().selectedRows()]

    def select(self, transfer_id: int) -> None:
        """Where it is still in the list."""
        number = self.model.number_of(transfer_id)
        if number is not None:
            self.table.selectRow(number)
            self.table.scrollTo(self.model.index(number, 0))

    def menu(self) -> QMenu:
        """What can be done with what is chosen."""
        return menu_of(self._commands.values(), self._theme, self)

    def _tool(self, icon: str, tip: str, asked: TransferAction) -> QToolButton:
        command = self._commands[COMMAND_OF[asked]]
        tool = self._acts[command.id] = tool_button(icon, tip, command.run_if_able)
        return tool

    def _pause_or_resume(self) -> None:
        for tool in (self.begin, self.pause, self.resume):
            if tool.isEnabled():
                tool.click()
                return

    def _offer_rates(self) -> None:
        menu, limit = self.rate.menu(), self._transfers.rate_limit
        menu.clear()
        for rate in sorted({0, *_RATES, limit}):
            action = menu.addAction(say("{rate}/s", rate=size_words(rate)) if rate else say("No limit"))
            action.setCheckable(True)
            action.setChecked(rate == limit)
            action.triggered.connect(partial(self._limit, rate))
        menu.addSeparator()
        menu.addAction(say("Another limit…"), self._ask_rate)

    def _limit(self, bytes_per_s: int, *_: bool) -> None:
        self._transfers.limit_rate(bytes_per_s)

    def _ask_rate(self) -> None:
        dialog = QInputDialog(self.window())
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setWindowTitle(say("Limit of the transfers"))
        dialog.setLabelText(say("MB/s, for all transfers together"))
        dialog.setInputMode(QInputDialog.InputMode.DoubleInput)
        dialog.setDoubleDecimals(2)
        dialog.setDoubleRange(0.01, 100_000)
        for box in dialog.findChildren(QDoubleSpinBox):
            box.lineEdit().setTextMargins(HALF, 0, 0, 0)
        dialog.setDoubleValue((self._transfers.rate_limit or _RATES[1]) / _MEGABYTE)
        dialog.setOkButtonText(say("Set limit"))
        dialog.setCancelButtonText(say("Cancel"))
        dialog.doubleValueSelected.connect(lambda megabytes: self._limit(round(megabytes * _MEGABYTE)))
        dialog.open()

    def _show_menu(self, place: QPoint) -> None:
        self.menu().popup(self.table.viewport().mapToGlobal(place))

    def _apply_theme(self) -> None:
        theme_tool_buttons(self, self._theme)
        self.table.viewport().update()

    def _on_chosen(self, *_: object) -> None:
        self._transfers.chosen = tuple(self.selected_ids())
        self._on_changed()

    def _on_changed(self) -> None:
        state = self._transfers.state
        self._pages.setCurrentWidget(self.table if state.rows else self.empty)
        self._foot.setVisible(bool(state.rows))
        for command_id, tool in self._acts.items():
            tool.setEnabled(self._commands[command_id].enabled())
        self.begin.setVisible(self.begin.isEnabled())
        limit = self._transfers.rate_limit
        self.rate.setText(say("At most {rate}/s", rate=size_words(limit)) if limit else say("No limit"))
        self.summary.setText(summary_words(state))
        words = trouble_words(state, self._transfers.chosen)
        self.trouble.setText(words)
        self.trouble.setVisible(bool(words))
        self._make_room()


def _room_of(widget: QWidget) -> int:
    return widget.minimumSizeHint().width() + HALF
