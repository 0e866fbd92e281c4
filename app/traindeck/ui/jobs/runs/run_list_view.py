"""The list of runs as a panel."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QItemSelection, QItemSelectionModel, QPoint, QSize, Qt
from PySide6.QtWidgets import QMenu, QStackedLayout, QWidget

from traindeck.domain.jobs.job import Run
from traindeck.domain.texts import say
from traindeck.ui.jobs.runs.run_actions import can_run_again, fill_menu, run_actions
from traindeck.ui.jobs.runs.run_rows import RunRows, RunRowsModel
from traindeck.ui.jobs.runs.run_search_bar import RunSearchBar
from traindeck.ui.kit.cards import ElidedLabel, EmptyPage
from traindeck.ui.kit.context_menu import keys_words
from traindeck.ui.kit.edits import FIND, Edit, HasEdits
from traindeck.ui.kit.kept_place import KeptRows
from traindeck.ui.kit.layouts import column_of
from traindeck.ui.kit.theme import HALF, SPACE, Theme
from traindeck.viewmodels.jobs.runs.run_list import OtherJob, RunList
from traindeck.viewmodels.ports import Asks


class RunListView(QWidget, HasEdits):
    """Shows RunList; the user is asked before anything ends or goes."""

    def __init__(self, runs: RunList, theme: Theme, asks: Asks) -> None:
        super().__init__()
        self._runs = runs
        self._asks = asks
        self.model = RunRowsModel(runs)
        self.search = RunSearchBar(runs, theme)
        self.rows = RunRows(theme)
        self.rows.setModel(self.model)
        self.empty = EmptyPage(
            say("No runs yet."), say("Fill in the job form and select Submit, or start with the sample project.")
        )
        self.busy = ElidedLabel("", "small")
        self.busy.setContentsMargins(SPACE, HALF, SPACE, HALF)
        self._menu_wanted: QPoint | None = None
        self._pages = QStackedLayout()
        column_of(self.search, (self._pages, 1), self.busy, inside=self, margins=0, spacing=0)
        # Only now: without a parent the first of them would be shown as a window of its own.
        self._pages.addWidget(self.empty)
        self._pages.addWidget(self.rows)
        self.setFocusProxy(self.rows)

        KeptRows("runs", self.rows, self.model)
        self.search.left.connect(self.rows.setFocus)
        self.rows.again_wanted.connect(self._again)
        self.rows.adopt_wanted.connect(self._adopt)
        self.rows.edit_wanted.connect(self._edit_again)
        self.rows.delete_wanted.connect(self._delete)
        self.rows.open_wanted.connect(self._open)
        self.rows.star_clicked.connect(lambda run: runs.star([run], starred=not run.starred))
        self.rows.customContextMenuRequested.connect(self._show_menu)
        self.rows.selectionModel().selectionChanged.connect(self._on_selection)
        self.rows.selectionModel().currentChanged.connect(self._on_selection)
        runs.changed.connect(self._on_changed)
        runs.selection_changed.connect(self._show_selected)
        runs.chosen_changed.connect(self._on_chosen)
        self._on_changed()

    def sizeHint(self) -> QSize:
        return QSize(45 * SPACE, 30 * SPACE)

    def edits(self, focused: QWidget) -> Mapping[str, Edit]:
        return {FIND: Edit(self.search.words.setFocus)}

    def select(self, row_id: str) -> None:
        number = self.model.number_of(row_id)
        if number is not None:
            # Not by the view, which asks which keys are held down at this moment.
            alone = QItemSelectionModel.SelectionFlag.ClearAndSelect
            self.rows.selectionModel().setCurrentIndex(self.model.index(number, 0), alone)

    def selected_ids(self) -> list[str]:
        return [self.model.row(index.row()) for index in self.rows.selectionModel().selectedIndexes()]

    def menu(self) -> QMenu | None:
        """What can be done with what is selected."""
        if not self.selected_ids():
            return None
        runs = self._runs.chosen_runs or []
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if runs:
            fill_menu(menu, runs, run_actions(self._runs, self._asks))
        else:
            menu.addAction(f"{say('&Adopt')}\t{keys_words('A')}", self._adopt)
        return menu

    def _show_menu(self, place: QPoint) -> None:
        """As soon as it is known what can be done with all that are selected."""
        self._menu_wanted = place if self._runs.chosen_runs is None else None
        if self._menu_wanted is None and (menu := self.menu()):
            menu.popup(self.rows.viewport().mapToGlobal(place))

    def _on_chosen(self) -> None:
        if self._menu_wanted is not None:
            self._show_menu(self._menu_wanted)

    def _again(self) -> None:
        if (run := self._only()) and can_run_again(run):
            self._runs.rerun(run)

    def _adopt(self) -> None:
        for other in self._selected_others():
            self._runs.adopt(other)

    def _edit_again(self) -> None:
        if run := self._only():
            self._runs.edit_wanted.emit(run)

    def _open(self) -> None:
        if run := self._only():
            self._runs.opened.emit(run)

    def _delete(self) -> None:
        self._runs.remove(self.selected_ids(), self._asks.choose)

    def _only(self) -> Run | None:
        chosen = self.selected_ids()
        return self._runs.run(chosen[0]) if len(chosen) == 1 else None

    def _on_selection(self, *_: QItemSelection) -> None:
        current = self.rows.currentIndex()
        chosen = self.selected_ids()
        self._menu_wanted = None
        self._runs.choose(chosen)
        runs = [row_id for row_id in chosen if self._runs.other(row_id) is None]
        row_id = self.model.row(current.row()) if current.isValid() else ""
        state = self._runs.state
        # What is only not listed now, for something else is looked for, is still the one whose page is open.
        is_away = not chosen and state.selected not in state.rows
        if (runs or not chosen) and not is_away:
            self._runs.select(row_id if row_id in runs else (runs[0] if runs else ""))

    def _on_changed(self) -> None:
        state, search = self._runs.state, self._runs.search
        if state.rows:
            self._pages.setCurrentWidget(self.rows)
        else:
            self._pages.setCurrentWidget(self.empty)
            if state.trouble is not None:
                self.empty.say(say(state.trouble.title), say(state.trouble.hint))
            elif search.found is not None:
                self.empty.say(say("No run matches."), say("Select Clear to show all runs."))
            elif state.is_known:
                self.empty.restore()
            else:
                self.empty.say(say("Reading the runs…"), "")
        self.search.setVisible(bool(state.count) or not search.filter.is_empty)
        # Who comes by the key of the panel finds something to act on.
        self.setFocusProxy(self.search.words if search.found is not None and not state.rows else self.rows)
        self._show_selected()
        self.busy.setText(" · ".join(dict.fromkeys(str(words) for words in state.busy.values())))
        self.busy.setVisible(bool(state.busy))

    def _show_selected(self) -> None:
        """Selected from elsewhere, it is selected here."""
        selected = self._runs.state.selected
        number = self.model.number_of(selected) if selected else None
        if number is None or self.rows.selectionModel().isSelected(self.model.index(number, 0)):
            return  # of thousands that are selected none is listed for this
        if not self._selected_others():
            self.select(selected)

    def _selected_others(self) -> list[OtherJob]:
        return [other for other in map(self._runs.other, self.selected_ids()) if other is not None]
