"""The list of runs as a panel."""

from __future__ import annotations

from PySide6.QtCore import QItemSelection, QItemSelectionModel, QPoint, QSize, Qt
from PySide6.QtWidgets import QMenu, QStackedLayout, QWidget

from traindeck.domain.jobs.job import Run
from traindeck.domain.texts import say
from traindeck.ui.jobs.run_actions import fill_menu, run_actions
from traindeck.ui.jobs.run_rows import RunRows, RunRowsModel
from traindeck.ui.kit.cards import EmptyPage
from traindeck.ui.kit.kept_place import KeptRows
from traindeck.ui.kit.layouts import column_of
from traindeck.ui.kit.property_page import one_line
from traindeck.ui.kit.theme import HALF, SPACE, Theme
from traindeck.viewmodels.jobs.run_list import RunList
from traindeck.viewmodels.ports import Confirm


class RunListView(QWidget):
    """Shows RunList; `confirm` asks the user before anything ends or goes."""

    def __init__(self, runs: RunList, theme: Theme, confirm: Confirm) -> None:
        super().__init__()
        self._runs = runs
        self._confirm = confirm
        self.model = RunRowsModel(runs)
        self.rows = RunRows(theme)
        self.rows.setModel(self.model)
        self.empty = EmptyPage(
            say("No runs yet."), say("Fill in the job form and select Submit, or start with the sample project.")
        )
        self.busy = one_line("", "small")
        self.busy.setContentsMargins(SPACE, HALF, SPACE, HALF)
        self._pages = QStackedLayout()
        column_of(self._pages, self.busy, inside=self, margins=0, spacing=0)
        # Only now: without a parent the first of them would be shown as a window of its own.
        self._pages.addWidget(self.empty)
        self._pages.addWidget(self.rows)
        self.setFocusProxy(self.rows)

        KeptRows("runs", self.rows, self.model)
        self.rows.again_wanted.connect(self._again)
        self.rows.edit_wanted.connect(self._edit_again)
        self.rows.delete_wanted.connect(self._delete)
        self.rows.open_wanted.connect(self._open)
        self.rows.customContextMenuRequested.connect(self._show_menu)
        self.rows.selectionModel().selectionChanged.connect(self._on_selection)
        self.rows.selectionModel().currentChanged.connect(self._on_selection)
        runs.changed.connect(self._on_changed)
        runs.selection_changed.connect(self._show_selected)
        self._on_changed()

    def sizeHint(self) -> QSize:
        return QSize(45 * SPACE, 30 * SPACE)

    def select(self, run_id: str) -> None:
        number = self.model.number_of(run_id)
        if number is not None:
            # Not by the view, which asks which keys are held down at this moment.
            alone = QItemSelectionModel.SelectionFlag.ClearAndSelect
            self.rows.selectionModel().setCurrentIndex(self.model.index(number, 0), alone)

    def selected_ids(self) -> list[str]:
        return [self.model.row(index.row()).id for index in self.rows.selectionModel().selectedIndexes()]

    def menu(self) -> QMenu | None:
        """What can be done with what is selected."""
        runs = [run for run in map(self._runs.run, self.selected_ids()) if run is not None]
        if not runs:
            return None
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        fill_menu(menu, runs, run_actions(self._runs, self._confirm))
        return menu

    def _show_menu(self, place: QPoint) -> None:
        if menu := self.menu():
            menu.popup(self.rows.viewport().mapToGlobal(place))

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

    def _delete(self) -> None:
        self._runs.remove(self.selected_ids(), self._confirm)

    def _only(self) -> Run | None:
        chosen = self.selected_ids()
        return self._runs.run(chosen[0]) if len(chosen) == 1 else None

    def _on_selection(self, *_: QItemSelection) -> None:
        current = self.rows.currentIndex()
        chosen = self.selected_ids()
        self._runs.chosen = tuple(chosen)
        run_id = self.model.row(current.row()).id if current.isValid() else ""
        self._runs.select(run_id if run_id in chosen else (chosen[0] if chosen else ""))

    def _on_changed(self) -> None:
        state = self._runs.state
        if state.runs:
            self._pages.setCurrentWidget(self.rows)
        else:
            self._pages.setCurrentWidget(self.empty)
            if state.trouble is not None:
                self.empty.say(say(state.trouble.title), say(state.trouble.hint))
            elif state.is_known:
                self.empty.restore()
            else:
                self.empty.say(say("Reading the runs…"), "")
        self._show_selected()
        self.busy.setText(" · ".join(str(words) for words in state.busy.values()))
        self.busy.setVisible(bool(state.busy))

    def _show_selected(self) -> None:
        """Selected from elsewhere, it is selected here."""
        selected = self._runs.state.selected
        if selected and selected not in self.selected_ids():
            self.select(selected)
