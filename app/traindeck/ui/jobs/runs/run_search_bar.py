"""The line above the list of runs: what is looked for, and by what it is filtered and sorted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAction, QActionGroup, QKeyEvent
from PySide6.QtWidgets import QLineEdit, QMenu, QPushButton, QToolButton, QWidget

from traindeck.domain.jobs.job import RunState
from traindeck.domain.jobs.run_query import RunSort
from traindeck.domain.texts import say, say_count, text
from traindeck.ui.kit.cards import ElidedLabel, push_button, show_words, theme_tool_buttons, tool_button
from traindeck.ui.kit.context_menu import letter_entries
from traindeck.ui.kit.layouts import column_of, row_of
from traindeck.ui.kit.theme import HALF, SPACE, Theme
from traindeck.viewmodels.jobs.runs.run_list import RunList

_DAYS = (0, 1, 7, 30, 365)
_MOST_OFFERED = 40
"""Tags or numbers in a menu."""
_SORTS = {
    RunSort.NUMBER: text("Number"),
    RunSort.NAME: text("Name"),
    RunSort.STATE: text("State"),
    RunSort.DURATION: text("Duration"),
    RunSort.ENDED: text("End"),
    RunSort.ACCOUNT: text("Account"),
}


class RunSearchBar(QWidget):
    """Shows RunSearch."""

    left = Signal()
    """The keyboard is wanted in the list."""

    def __init__(self, runs: RunList, theme: Theme) -> None:
        super().__init__()
        self._runs = runs
        self._search = runs.search
        self._theme = theme
        self.words = QLineEdit()
        self.words.setPlaceholderText(say("Search runs"))
        self.words.setAccessibleName(say("Search names, parameters, notes, tags and logs of runs"))
        self.words.setToolTip(self.words.accessibleName())
        self.words.setClearButtonEnabled(True)
        self.words.textChanged.connect(lambda words: self._search.set(words=words))
        self.filters = tool_button("filter", say("Filter and sort"))
        self.filters.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._menu = QMenu(self)
        self._menu.setToolTipsVisible(True)
        self._menu.aboutToShow.connect(self._fill)
        self.filters.setMenu(self._menu)
        self.told = ElidedLabel("", "small")
        self.clear: QPushButton = push_button(say("Clear"), self._clear, "link", say("Show all runs again"))
        self._below = QWidget()
        row_of((self.told, 1), self.clear, inside=self._below, margins=0, spacing=HALF)
        above = row_of((self.words, 1), self.filters, margins=0, spacing=HALF)
        margins = (SPACE, HALF, SPACE, HALF)
        column_of(above, self._below, inside=self, margins=margins, spacing=2)
        runs.changed.connect(self._refresh)
        theme.changed.connect(self._paint)
        self._paint()
        self._refresh()

    def minimumSizeHint(self) -> QSize:
        return QSize(12 * SPACE, super().minimumSizeHint().height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and not self._search.filter.is_empty:
            self._clear()
        elif event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Escape):
            self.left.emit()
        else:
            super().keyPressEvent(event)

    def _paint(self) -> None:
        theme_tool_buttons(self, self._theme)
        self._mark()

    def _mark(self) -> None:
        is_on = any(self._search.filter.words_of_it())
        self.filters.setIcon(self._theme.icon("filter", "link" if is_on else "text"))

    def _clear(self) -> None:
        self._search.clear()
        self.words.clear()

    def _refresh(self) -> None:
        wanted, found = self._search.filter, self._search.found
        if self.words.text() != wanted.words:
            self.words.setText(wanted.words)
        self._below.setVisible(not wanted.is_empty)
        self._mark()
        if wanted.is_empty:
            return
        parts = list(wanted.words_of_it())
        if self._search.trouble is not None:
            parts.append(self._search.trouble.sentence())
        elif found is not None:
            parts.append(say("{count} of {all} runs", count=f"{len(found.ids):,}", all=f"{self._runs.state.count:,}"))
            if not found.is_whole:
                parts.append(say("only the newest part of the logs was searched"))
        if self._search.is_searching:
            parts.append(say("searching…"))
        show_words(self.told, " · ".join(parts))

    # the menu

    def _fill(self) -> None:
        """From what there is at this moment."""
        menu, wanted = self._menu, self._search.filter
        menu.clear()
        self._search.look_for_choices()  # for the next time, where a run has ended since
        self._check(
            menu, say("Also search the logs"), wanted.in_logs, partial(self._set, "in_logs", not wanted.in_logs)
        )
        self._check(menu, say("Starred"), wanted.starred, partial(self._set, "starred", not wanted.starred))
        menu.addSeparator()
        states = menu.addMenu(say("State"))
        for state in RunState:
            self._check(states, say(state.words), state in wanted.states, partial(self._toggle_state, state))
        runs = self._runs.state.runs
        accounts = sorted({*self._search.accounts, *(run.profile for run in runs)})
        self._choices(say("Account"), "account", [("", say("Any"))] + [(one, one) for one in accounts])
        tags = sorted({*self._search.tags, *(tag for run in runs for tag in run.tags)})[:_MOST_OFFERED]
        self._choices(say("Tag"), "tag", [("", say("Any"))] + [(one, one) for one in tags])
        times = [(0, say("Any"))]
        times += [(days, say_count("Last {count} day", "Last {count} days", days)) for days in _DAYS[1:]]
        self._choices(say("Time"), "days", times)
        menu.addSeparator()
        metrics = [(one, one) for one in self._search.metrics[:_MOST_OFFERED]]
        self._choices(say("Best by"), "best", [("", say("None")), *metrics])
        order = self._choices(say("Sort by"), "sort", [(one, say(words)) for one, words in _SORTS.items()])
        order.addSeparator()
        self._check(order, say("Ascending"), wanted.ascending, partial(self._set, "ascending", not wanted.ascending))
        order.setEnabled(not wanted.best)
        for one in (menu, states, order):
            letter_entries(one)

    def _choices(self, title: str, name: str, values: Iterable[tuple[object, str]]) -> QMenu:
        menu = self._menu.addMenu(title)
        group = QActionGroup(menu)
        for value, words in values:
            is_on = getattr(self._search.filter, name) == value
            group.addAction(self._check(menu, words.replace("&", "&&"), is_on, partial(self._set, name, value)))
        return menu

    def _check(self, menu: QMenu, words: str, is_on: bool, act: Callable[[], None]) -> QAction:
        entry = menu.addAction(words)
        entry.setCheckable(True)
        entry.setChecked(is_on)
        entry.triggered.connect(lambda _: act())
        return entry

    def _set(self, name: str, value: object) -> None:
        self._search.set(**{name: value})

    def _toggle_state(self, state: RunState) -> None:
        states = self._search.filter.states
        chosen = [one for one in RunState if (one in states) != (one is state)]
        self._search.set(states=tuple(chosen))
