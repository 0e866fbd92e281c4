"""The list of runs as a panel."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from PySide6.QtCore import (
    QItemSelection,
    QItemSelectionModel,
    QPoint,
    QSize,
    Qt,
    Signal,
    SignalInstance,
)
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QHeaderView, QMenu, QStackedLayout, QTableView, QWidget

from traindeck.domain.jobs.job import Run, duration_words
from traindeck.domain.texts import exact_words, say, say_count
from traindeck.ui.kit.cards import EmptyPage
from traindeck.ui.kit.cells import StateChipDelegate
from traindeck.ui.kit.layouts import column_of
from traindeck.ui.kit.property_page import one_line
from traindeck.ui.kit.table_models import TONE_ROLE, RowsModel
from traindeck.ui.kit.tables import NUMBERS, KeyedView, plain_table
from traindeck.ui.kit.theme import HALF, SPACE, Theme
from traindeck.viewmodels.jobs.run_list import RunList
from traindeck.viewmodels.jobs.run_page import age_words, all_state_words, state_words, tone_of
from traindeck.viewmodels.ports import Confirm

_WITH_AGE, _WITH_PROFILE = 45 * SPACE, 55 * SPACE


class RunTableModel(RowsModel[Run]):
    """The runs as a table."""

    COLUMNS = 5
    NAME, STATE, TIME, AGE, PROFILE = range(COLUMNS)

    def __init__(self, runs: RunList) -> None:
        super().__init__()
        self._runs = runs
        runs.changed.connect(self._on_changed)
        runs.ticked.connect(self._on_ticked)
        self._on_changed()

    def key(self, row: Run) -> Hashable:
        return row.id

    def headers(self) -> Sequence[str]:
        return (say("Name"), say("State"), say("Run time"), say("Age"), say("Profile"))

    def longest(self) -> dict[int, Sequence[str]]:
        """What a column must have room for; the name takes the rest."""
        return {
            self.STATE: all_state_words(),
            self.TIME: ("00:00:00", self.headers()[self.TIME]),
            self.PROFILE: ("my-profile", self.headers()[self.PROFILE]),
            self.AGE: (say_count("1 min ago", "{count} min ago", 59), say("now"), self.headers()[self.AGE]),
        }

    def cell(self, row: Run, column: int, role: int) -> Any:
        if role == Qt.ItemDataRole.DisplayRole:
            return self._words(row, column)
        if role == TONE_ROLE and column == self.STATE:
            return tone_of(row)
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tool_tip(row, column)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{self.headers()[column]}: {self._words(row, column)}"
        if role == Qt.ItemDataRole.TextAlignmentRole and column == self.TIME:
            return NUMBERS
        return None

    def _words(self, run: Run, column: int) -> str:
        now = self._runs.clock()
        times = duration_words(run.run_seconds(now)), age_words(run.created, now)
        return (run.name, state_words(run), *times, run.profile)[column]

    def _tool_tip(self, run: Run, column: int) -> str:
        if column == self.STATE:
            return str(run.reason) or state_words(run)
        return exact_words(run.created) if column == self.AGE else run.name

    def _on_changed(self) -> None:
        self.show(self._runs.state.runs)

    def _on_ticked(self) -> None:
        live = sum(not run.state.is_over for run in self._runs.state.runs)
        self.column_changed(self.TIME, 0, live - 1)
        self.column_changed(self.AGE, 0, self.rowCount() - 1)


class RunTable(KeyedView, QTableView):
    """Rows of runs that know the keys of the list."""

    again_wanted = Signal()
    edit_wanted = Signal()
    delete_wanted = Signal()
    open_wanted = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        plain_table(self, say("Runs"))
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setItemDelegateForColumn(RunTableModel.STATE, StateChipDelegate(theme, self))
        self.doubleClicked.connect(self.open_wanted)

    def keys(self) -> Mapping[Qt.Key, SignalInstance]:
        return {
            Qt.Key.Key_R: self.again_wanted,
            Qt.Key.Key_Delete: self.delete_wanted,
            Qt.Key.Key_Return: self.open_wanted,
        }

    def shifted_keys(self) -> Mapping[Qt.Key, SignalInstance]:
        return {Qt.Key.Key_R: self.edit_wanted}


class RunListView(QWidget):
    """Shows RunList; `confirm` asks the user before anything ends or goes."""

    def __init__(self, runs: RunList, theme: Theme, confirm: Confirm) -> None:
        super().__init__()
        self._runs = runs
        self._confirm = confirm
        self.model = RunTableModel(runs)
        self.table = RunTable(theme)
        self.table.setModel(self.model)
        header = self.table.horizontalHeader()
        header.setMinimumSectionSize(5 * SPACE)
        header.setSectionResizeMode(RunTableModel.NAME, QHeaderView.ResizeMode.Stretch)
        for column, longest in self.model.longest().items():
            width = max(self.table.fontMetrics().horizontalAdvance(words) for words in longest)
            chip = 2 * SPACE if column == RunTableModel.STATE else 0
            self.table.setColumnWidth(column, width + chip + 2 * SPACE)
        self.empty = EmptyPage(
            say("No runs yet."), say("Fill in the job form and press Submit, or start with the sample project.")
        )
        self.busy = one_line("", "small")
        self.busy.setContentsMargins(SPACE, HALF, SPACE, HALF)
        self._pages = QStackedLayout()
        column_of(self._pages, self.busy, inside=self, margins=0, spacing=0)
        # Only now: without a parent the first of them would be shown as a window of its own.
        self._pages.addWidget(self.empty)
        self._pages.addWidget(self.table)
        self.setFocusProxy(self.table)

        self.table.again_wanted.connect(self._again)
        self.table.edit_wanted.connect(self._edit_again)
        self.table.delete_wanted.connect(self._delete)
        self.table.open_wanted.connect(self._open)
        self.table.customContextMenuRequested.connect(self._show_menu)
        self.table.selectionModel().selectionChanged.connect(self._on_selection)
        self.table.selectionModel().currentChanged.connect(self._on_selection)
        runs.changed.connect(self._on_changed)
        self._on_changed()

    def sizeHint(self) -> QSize:
        return QSize(45 * SPACE, 30 * SPACE)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """What matters least makes room first, so that names can be told apart."""
        super().resizeEvent(event)
        self.table.setColumnHidden(RunTableModel.AGE, self.width() < _WITH_AGE)
        self.table.setColumnHidden(RunTableModel.PROFILE, self.width() < _WITH_PROFILE)

    def select(self, run_id: str) -> None:
        number = self.model.number_of(run_id)
        if number is not None:
            # Not selectRow, which asks which keys are held down at this moment.
            whole_row = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
            self.table.selectionModel().setCurrentIndex(self.model.index(number, 0), whole_row)

    def selected_ids(self) -> list[str]:
        return [self.model.row(index.row()).id for index in self.table.selectionModel().selectedRows()]

    def menu(self) -> QMenu | None:
        """What can be done with what is selected."""
        runs = [run for run in map(self._runs.run, self.selected_ids()) if run is not None]
        if not runs:
            return None
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        one = len(runs) == 1
        self._add(menu, say("Open"), "Return", one).triggered.connect(self._open)
        self._add(menu, say("Show log"), "", one).triggered.connect(self._show_log)
        menu.addSeparator()
        self._add(menu, say("Run again"), "R", one and bool(runs[0].bundle)).triggered.connect(self._again)
        self._add(menu, say("Edit and run again"), "Shift+R", one).triggered.connect(self._edit_again)
        menu.addSeparator()
        self._add(menu, say("Stop…"), "", any(run.state.can_stop for run in runs)).triggered.connect(self._stop)
        self._add(menu, say("Delete…"), "Del", any(run.state.is_over for run in runs)).triggered.connect(self._delete)
        return menu

    def _add(self, menu: QMenu, words: str, key: str, enabled: bool) -> QAction:
        # The key is shown, not registered: the table itself acts on it.
        action = menu.addAction(f"{words}\t{key}" if key else words)
        action.setEnabled(enabled)
        return action

    def _show_menu(self, place: QPoint) -> None:
        if menu := self.menu():
            menu.popup(self.table.viewport().mapToGlobal(place))

    def _again(self) -> None:
        # Before its code is frozen there is nothing to send again.
        if (run := self._only()) and run.bundle:
            self._runs.rerun(run)

    def _edit_again(self) -> None:
        if run := self._only():
            self._runs.edit_wanted.emit(run)

    def _open(self) -> None:
        if run := self._only():
            self._runs.opened.emit(run)

    def _show_log(self) -> None:
        if run := self._only():
            self._runs.log_wanted.emit(run)

    def _stop(self) -> None:
        self._runs.stop(self.selected_ids(), self._confirm)

    def _delete(self) -> None:
        self._runs.remove(self.selected_ids(), self._confirm)

    def _only(self) -> Run | None:
        chosen = self.selected_ids()
        return self._runs.run(chosen[0]) if len(chosen) == 1 else None

    def _on_selection(self, *_: QItemSelection) -> None:
        current = self.table.currentIndex()
        chosen = self.selected_ids()
        run_id = self.model.row(current.row()).id if current.isValid() else ""
        self._runs.select(run_id if run_id in chosen else (chosen[0] if chosen else ""))

    def _on_changed(self) -> None:
        state = self._runs.state
        # While there is one profile, its name only takes room from the names of the runs.
        self.table.setColumnHidden(RunTableModel.PROFILE, len({run.profile for run in state.runs}) < 2)
        if state.runs:
            self._pages.setCurrentWidget(self.table)
        else:
            self._pages.setCurrentWidget(self.empty)
            if state.trouble is not None:
                self.empty.say(say(state.trouble.title), say(state.trouble.hint))
            elif state.is_known:
                self.empty.restore()
            else:
                self.empty.say(say("Reading the runs…"), "")
        if state.selected and state.selected not in self.selected_ids():
            self.select(state.selected)
        self.busy.setText(" · ".join(str(words) for words in state.busy.values()))
        self.busy.setVisible(bool(state.busy))
