"""A tab with the difference between the code of a run and other code: the files, and the lines of one of them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHeaderView, QPushButton, QSplitter, QWidget

from traindeck.domain.texts import Text, say, say_count, text
from traindeck.ui.kit.cards import ElidedLabel, fill_with_rows, push_button
from traindeck.ui.kit.context_menu import keys_words
from traindeck.ui.kit.difference_view import DifferenceView
from traindeck.ui.kit.edits import REFRESH, Edit, HasEdits
from traindeck.ui.kit.flow import FlowLayout
from traindeck.ui.kit.layouts import column_of, line
from traindeck.ui.kit.table_models import RowsModel
from traindeck.ui.kit.tables import RowTable, plain_table
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.viewmodels.jobs.runs.code_diff import CodeDiff, CodeDiffState

if TYPE_CHECKING:
    from traindeck.domain.jobs.code_change import FileChange

_KINDS: Mapping[str, Text] = {
    "added": text("Added"), "removed": text("Removed"), "changed": text("Changed"), "renamed": text("Renamed"),
}  # fmt: skip
_COLORS = {"added": "good", "removed": "bad", "changed": "text", "renamed": "link"}
_NAMES, _LINES = 30 * SPACE, 90 * SPACE


class _Files(RowsModel["FileChange"]):
    COLUMNS = 2

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme

    def key(self, row: FileChange) -> Hashable:
        return row.path

    def headers(self) -> Sequence[str]:
        return (say("File"), say("Change"))

    def cell(self, row: FileChange, column: int, role: int) -> Any:
        name = f"{row.before} → {row.path}" if row.before else row.path
        if role == Qt.ItemDataRole.DisplayRole:
            return say(_KINDS[row.kind.value]) if column else name
        if role == Qt.ItemDataRole.ToolTipRole:
            return name
        if role == Qt.ItemDataRole.ForegroundRole and column:
            return self._theme.color(_COLORS[row.kind.value])
        return None


class CodeDiffView(QWidget, HasEdits):
    """Shows CodeDiff."""

    def __init__(self, diff: CodeDiff, theme: Theme) -> None:
        super().__init__()
        self.diff = diff
        set_role(self, "page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.title = ElidedLabel("", "heading")
        self.told = ElidedLabel("", "dim")
        self.before = push_button(say("Previous difference"), lambda: self.step(-1), tip=keys_words("Alt+Up"))
        self.after = push_button(say("Next difference"), lambda: self.step(1), tip=keys_words("Alt+Down"))
        self.before.setShortcut("Alt+Up")
        self.after.setShortcut("Alt+Down")
        self.unified: QPushButton = push_button(say("One below the other"))
        self.unified.setCheckable(True)
        self.unified.toggled.connect(self._unify)
        self.model = _Files(theme)
        self.files = RowTable()
        plain_table(self.files, say("Files that differ"))
        self.files.setModel(self.model)
        self.files.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.files.horizontalHeader().setMinimumSectionSize(5 * SPACE)
        self.files.selectionModel().currentRowChanged.connect(self._on_file)
        self.lines = DifferenceView(theme)
        self.lines.room_changed.connect(self._offer_room)
        self._shown: object = None
        self._build()
        self.setFocusProxy(self.files)
        diff.changed.connect(self._refresh)
        self._refresh()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        is_back = event.type() == QEvent.Type.ActivationChange and self.isActiveWindow() and self.isVisible()
        if is_back and self.diff.may_have_changed:
            self.diff.load()  # whoever was elsewhere may have edited it

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.lines.use_room(self.width())

    def _offer_room(self, has_room: bool) -> None:
        self.unified.setEnabled(has_room and bool(self.diff.state.files))
        self.unified.setToolTip("" if has_room else say("There is no room for both beside each other."))

    def _unify(self, is_wanted: bool) -> None:
        self.lines.unify(is_wanted)

    def edits(self, focused: QWidget) -> Mapping[str, Edit]:
        return {REFRESH: Edit(self.diff.load)}

    def step(self, by: int) -> None:
        """To the next difference, in the next file where this one has no more."""
        if self.lines.step(by):
            return
        row = self.files.currentIndex().row() + by
        if 0 <= row < self.model.rowCount():
            self.files.selectRow(row)

    def _build(self) -> None:
        whole = QSplitter()
        whole.setChildrenCollapsible(False)
        whole.addWidget(self.files)
        whole.addWidget(self.lines)
        whole.setStretchFactor(1, 1)
        whole.setSizes([_NAMES, _LINES])
        buttons = FlowLayout(self.before, self.after, self.unified, spacing=SPACE)
        margins = (2 * SPACE, SPACE, SPACE, SPACE)
        head = column_of(self.title, self.told, buttons, margins=margins, spacing=HALF)
        fill_with_rows(self, [head, line()], whole)

    def _refresh(self) -> None:
        state = self.diff.state
        self.title.setText(f"{state.left} ↔ {state.right}" if state.right else say("Code"))
        self.told.setText(self._words())
        self.model.show(state.files)
        for button in (self.before, self.after):
            button.setEnabled(bool(state.files))
        self.unified.setEnabled(bool(state.files) and self.lines.has_room)
        if state.file is not None:
            number = self.model.number_of(state.file.path)
            if number is not None and number != self.files.currentIndex().row():
                self.files.selectRow(number)
        if state.lines is not self._shown or not state.lines:
            self._shown = state.lines
            self._show_lines()

    def _words(self) -> str:
        state: CodeDiffState = self.diff.state
        if state.trouble is not None:
            return state.trouble.sentence()
        if not state.is_known:
            return say("Comparing…")
        if not state.files:
            return say("The code is the same.")
        return say_count("{count} file differs.", "{count} files differ.", len(state.files))

    def _show_lines(self) -> None:
        state = self.diff.state
        if state.lines:
            self.lines.show_lines(state.lines)
        else:
            self.lines.say(*self._why_empty())

    def _why_empty(self) -> tuple[str, str]:
        state = self.diff.state
        if state.trouble is not None:
            return say(state.trouble.title), say(state.trouble.hint)
        if state.is_reading or not state.is_known:
            return say("Comparing…"), ""
        if state.file is None:
            return say("The code is the same."), ""
        if state.file.before and state.lines is not None:
            return say("Only the name is another one."), ""
        if state.lines is None:
            return say("This file differs."), say("It is not text, or too long to be compared line by line.")
        return say("No line differs."), say("The files differ in the ends of their lines, or are empty.")

    def _on_file(self, index: QModelIndex | QPersistentModelIndex) -> None:
        if index.isValid() and self.model.row(index.row()) != self.diff.state.file:
            self.diff.show(self.model.row(index.row()).path)
