"""A tab with runs beside each other: what they differ in, and all the rest where it is wanted."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QFont, QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QCheckBox, QHeaderView, QStackedWidget, QWidget

from traindeck.domain.jobs.comparison import CompareSection, value_words
from traindeck.domain.texts import say, say_count
from traindeck.ui.kit.cards import EmptyPage, fill_with_rows, push_button
from traindeck.ui.kit.edits import REFRESH, Edit, HasEdits
from traindeck.ui.kit.flow import FlowLayout
from traindeck.ui.kit.layouts import column_of, line
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.table_models import RowsModel
from traindeck.ui.kit.tables import FilledCell, RowTable, plain_table
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.viewmodels.jobs.runs.run_comparison import ComparisonLine, RunsBeside
from traindeck.viewmodels.jobs.runs.run_words import run_title

_NAME = 20 * SPACE
_COLUMN = 24 * SPACE


class _Lines(RowsModel[ComparisonLine]):
    """The first column names what is compared; the others are a run each."""

    def __init__(self, runs: RunsBeside, theme: Theme) -> None:
        super().__init__()
        self._runs = runs
        self._theme = theme

    def columnCount(self, parent: QModelIndex | QPersistentModelIndex = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else 1 + len(self._runs.run_ids)

    def key(self, row: ComparisonLine) -> Hashable:
        return (row.section, None if row.row is None else row.row.name)

    def headers(self) -> Sequence[str]:
        known = self._runs.state.runs
        titles = [run_title(run) for run in known] if known else [""] * len(self._runs.run_ids)
        return (say("What"), *titles)

    def cell(self, row: ComparisonLine, column: int, role: int) -> Any:
        words = "" if row.row is None and column else row.name
        if column and row.row is not None:
            words = value_words(row.row.values[column - 1])
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return words
        if role == Qt.ItemDataRole.FontRole and row.row is None:
            font = QFont(QGuiApplication.font())
            font.setBold(True)
            return font
        if role == Qt.ItemDataRole.ForegroundRole and row.row is not None:
            if row.row.is_equal:
                return self._theme.color("dim")
            if column and row.section is CompareSection.CODE:
                return self._theme.color("link")
        if role == Qt.ItemDataRole.BackgroundRole and row.row is None:
            return self._theme.color("sunken")
        return None


class CompareView(QWidget, HasEdits):
    """Shows RunsBeside."""

    diff_wanted = Signal(str, str, str)
    """The IDs of two runs, and a file of their code."""

    def __init__(self, runs: RunsBeside, theme: Theme) -> None:
        super().__init__()
        self.runs = runs
        set_role(self, "page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.told = sentence("", "dim")
        self.equal = QCheckBox(say("Show equal rows too"))
        self.equal.toggled.connect(runs.show_equal)
        self.markdown = push_button(say("Copy as Markdown"), partial(self._copy, "markdown"))
        self.csv = push_button(say("Copy as CSV"), partial(self._copy, "csv"))
        self.diff = push_button(say("Show code difference"), self._show_diff)
        self.model = _Lines(runs, theme)
        self.table = _LineTable()
        plain_table(self.table, say("Differences between the runs"))
        self.table.setModel(self.model)
        self.table.setItemDelegate(FilledCell(self.table))
        self.table.setTextElideMode(Qt.TextElideMode.ElideRight)
        header = self.table.horizontalHeader()
        header.setMinimumSectionSize(8 * SPACE)
        header.setDefaultSectionSize(_COLUMN)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setStretchLastSection(True)
        self.table.setColumnWidth(0, _NAME)
        self.table.doubleClicked.connect(lambda _: self._show_diff())
        self.table.opened.connect(self._show_diff)
        self.table.selectionModel().currentChanged.connect(self._refresh_buttons)
        self.empty = EmptyPage("", "")
        self._pages = QStackedWidget()
        self._pages.addWidget(self.empty)
        self._pages.addWidget(self.table)
        buttons = FlowLayout(self.equal, self.diff, self.markdown, self.csv, spacing=SPACE)
        head = column_of(self.told, buttons, margins=(2 * SPACE, SPACE, SPACE, SPACE), spacing=HALF)
        fill_with_rows(self, [head, line()], self._pages)
        self.setFocusProxy(self.table)
        runs.changed.connect(self._refresh)
        self._refresh()

    def edits(self, focused: QWidget) -> Mapping[str, Edit]:
        return {REFRESH: Edit(self.runs.load)}

    def _refresh(self) -> None:
        state = self.runs.state
        lines = self.runs.lines()
        self.model.show(lines)
        self.model.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, self.model.columnCount() - 1)
        self._pages.setCurrentWidget(self.table if lines else self.empty)
        if state.trouble is not None:
            self.empty.say(say(state.trouble.title), say(state.trouble.hint))
        elif not state.is_known:
            self.empty.say(say("Comparing…"), "")
        else:
            self.empty.say(say("These runs do not differ in anything that is known of them."), "")
        self.told.setText(self._words())
        for button in (self.markdown, self.csv):
            button.setEnabled(bool(lines))
        self._refresh_buttons()

    def _words(self) -> str:
        state = self.runs.state
        if not state.is_known or state.is_reading:
            return say("Comparing…")
        differing = sum(not row.is_equal for row in state.rows)
        if not state.hidden:
            return say_count("{count} row differs.", "{count} rows differ.", differing)
        count = say_count("{count} row differs", "{count} rows differ", differing)
        hidden = say_count("{count} equal row is hidden", "{count} equal rows are hidden", state.hidden)
        return say("{differing}, {hidden}.", differing=count, hidden=hidden)

    def _pair(self) -> tuple[str, str, str] | None:
        index = self.table.currentIndex()
        if not index.isValid():
            return None
        return self.runs.code_pair(self.model.row(index.row()), index.column() - 1)

    def _refresh_buttons(self, *_: object) -> None:
        has_pair = self._pair() is not None
        self.diff.setEnabled(has_pair)
        self.diff.setToolTip("" if has_pair else say("Select a row of the code first."))

    def _show_diff(self) -> None:
        if (pair := self._pair()) is not None:
            self.diff_wanted.emit(*pair)

    def _copy(self, kind: str) -> None:
        QGuiApplication.clipboard().setText(self.runs.as_text(kind))


class _LineTable(RowTable):
    """Return opens what a row is about."""

    opened = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.opened.emit()
        else:
            super().keyPressEvent(event)
