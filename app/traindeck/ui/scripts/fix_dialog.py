"""What a fix would change, file by file, before anything is written."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QComboBox, QDialog, QHeaderView, QSplitter, QWidget

from traindeck.domain.scripts.fixes import NotFixed, ScriptChange
from traindeck.domain.texts import say, say_count, text
from traindeck.ui.kit.cards import push_button
from traindeck.ui.kit.dialogs import DIALOG_MARGINS, closing
from traindeck.ui.kit.difference_view import DifferenceView
from traindeck.ui.kit.layouts import column_of, fit_on_screen, label
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.table_models import RowsModel
from traindeck.ui.kit.tables import Index, RowTable, plain_table
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role
from traindeck.viewmodels.scripts.script_fixes import FixPreview

_WIDE, _HIGH = 130 * SPACE, 84 * SPACE
_NAMES, _LINES = 34 * SPACE, 92 * SPACE
_BESIDE = 110 * SPACE
_LEFT_ROWS = 5
_OF_LAB = text(
    "The Lab computes on the CPU of this computer: it shows whether the script still runs, but not whether NPU, "
    "HCCL or MoXing work."
)


class _Changed(RowsModel[ScriptChange]):
    """Each with a tick: what has none is not written."""

    COLUMNS = 2

    def __init__(self, preview: FixPreview, theme: Theme) -> None:
        super().__init__()
        self._preview = preview
        self._theme = theme

    def key(self, row: ScriptChange) -> Hashable:
        return row.path

    def headers(self) -> Sequence[str]:
        return (say("File"), say("Change"))

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        return flags | Qt.ItemFlag.ItemIsUserCheckable if index.column() == 0 else flags

    def cell(self, row: ScriptChange, column: int, role: int) -> Any:
        if role == Qt.ItemDataRole.DisplayRole:
            return (say("Added") if row.is_new else say("Changed")) if column else row.path
        if role == Qt.ItemDataRole.CheckStateRole and not column:
            is_on = row.path in self._preview.state.ticked
            return Qt.CheckState.Checked if is_on else Qt.CheckState.Unchecked
        if role == Qt.ItemDataRole.ToolTipRole:
            return row.path
        if role == Qt.ItemDataRole.ForegroundRole and column:
            return self._theme.color("good" if row.is_new else "text")
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        if role != Qt.ItemDataRole.CheckStateRole:
            return False
        self._preview.tick(self.row(index.row()).path, Qt.CheckState(value) == Qt.CheckState.Checked)
        self.dataChanged.emit(index, index)
        return True


class _Left(RowsModel[NotFixed]):
    """What is up to the user, with its place."""

    COLUMNS = 2

    def key(self, row: NotFixed) -> Hashable:
        return (row.file, row.line, str(row.reason))

    def headers(self) -> Sequence[str]:
        return (say("Where"), say("Left to you"))

    def cell(self, row: NotFixed, column: int, role: int) -> Any:
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            place = f"{row.file}:{row.line}" if row.line else row.file
            return say(row.reason) if column else place
        return None


class FixDialog(QDialog):
    """Shows FixPreview."""

    def __init__(self, preview: FixPreview, theme: Theme, parent: QWidget | None) -> None:
        super().__init__(parent)
        self.preview = preview
        self.setWindowTitle(say(preview.title))
        fit_on_screen(self, _WIDE, _HIGH)
        self.way = QComboBox()
        self.way.setAccessibleName(say("How"))
        for number, way in enumerate(preview.ways):
            self.way.addItem(say(way.words), number)
        self.way.setVisible(len(preview.ways) > 1)
        self.way.currentIndexChanged.connect(preview.choose_way)
        self.head = sentence("", "heading")
        self.told = sentence("", "dim")
        self.model = _Changed(preview, theme)
        self.files = RowTable()
        plain_table(self.files, say("Files to change"))
        self.files.setModel(self.model)
        self.files.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.files.horizontalHeader().setMinimumSectionSize(5 * SPACE)
        self.files.horizontalHeader().resizeSection(1, 11 * SPACE)
        self.files.selectionModel().currentRowChanged.connect(self._on_file)
        self.lines = DifferenceView(theme, _BESIDE)
        self.left_model = _Left()
        self.left = RowTable()
        plain_table(self.left, say("Left to you"))
        self.left.setModel(self.left_model)
        self.left.horizontalHeader().setStretchLastSection(True)
        self.left.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Interactive)
        self.left.horizontalHeader().resizeSection(0, _NAMES)
        self.left.selectionModel().currentRowChanged.connect(self._on_left)
        self.of_try = label("", "dim", wraps=True)
        self.apply_button = push_button(say("Apply"), preview.apply)
        set_role(self.apply_button, "primary")
        self.try_button = push_button(say("Try both here"), preview.try_here)
        self.again = push_button(say("Refresh"), preview.load)
        buttons, self.close_button = closing(self, say("Cancel"), self.again, self.try_button, self.apply_button)
        self._build(buttons)
        preview.changed.connect(self._show)
        preview.applied.connect(self.accept)
        self.finished.connect(preview.close)
        self._seen: object = None
        self._show()
        preview.load()
        self.files.setFocus()

    def _build(self, buttons: QWidget) -> None:
        whole = QSplitter()
        whole.setChildrenCollapsible(False)
        whole.addWidget(self.files)
        whole.addWidget(self.lines)
        whole.setStretchFactor(1, 1)
        whole.setSizes([_NAMES, _LINES])
        parts = (self.way, self.head, self.told, (whole, 1), self.left, self.of_try, buttons)
        column_of(*parts, inside=self, margins=DIALOG_MARGINS, spacing=SPACE)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.lines.use_room(self.width())

    def _show(self) -> None:
        state, preview = self.preview.state, self.preview
        self.head.setText(self._summary())
        # Else it is said where the lines would be.
        self.head.setVisible(bool(preview.changes) and not state.is_reading)
        trouble = state.trouble.sentence() if state.trouble is not None else ""
        told = say(state.tells_of_try) if state.tells_of_try is not None else ""
        self.told.setText(trouble or told)
        set_role(self.told, "error" if trouble else "dim")
        self.told.setVisible(bool(self.told.text()))
        self.model.show(preview.changes)
        number = self.model.number_of(state.shown)
        if number is not None and number != self.files.currentIndex().row():
            self.files.selectRow(number)
        self._show_lines()
        self._show_left()
        self.apply_button.setEnabled(preview.can_apply)
        why_not = preview.why_not_tried
        self.try_button.setEnabled(preview.can_apply and why_not is None)
        self.try_button.setToolTip(say(why_not) if why_not is not None else "")
        self.of_try.setText(say("Both cannot be tried here yet. {reason}", reason=why_not) if why_not else say(_OF_LAB))
        self.of_try.setVisible(bool(preview.changes))
        self.again.setEnabled(not (state.is_reading or state.is_writing))
        self.way.setEnabled(not state.is_writing)

    def _show_lines(self) -> None:
        state = self.preview.state
        if state.lines:
            if state.lines is not self._seen:
                self._seen = state.lines
                self.lines.show_lines(state.lines)
            return
        self._seen = None
        if state.is_reading:
            self.lines.say(say("Reading the scripts…"), "")
        elif state.shown:
            self.lines.say(say("Comparing…"), "")
        else:
            found = say("What this adapts was not found, or is as it should be.")
            self.lines.say(say("Nothing to change."), say("What is left to you is below.") if state.left else found)

    def _show_left(self) -> None:
        """As high as it needs to be, up to a few rows."""
        left = self.preview.state.left
        self.left_model.show(left)
        self.left.setVisible(bool(left))
        rows = sum(self.left.rowHeight(row) for row in range(min(len(left), _LEFT_ROWS)))
        head = self.left.horizontalHeader().sizeHint().height()
        self.left.setFixedHeight(rows + head + 2 * self.left.frameWidth() + HALF)

    def _on_left(self, index: QModelIndex | QPersistentModelIndex) -> None:
        """The file that it is about, if it is one of those that change."""
        if index.isValid():
            self.preview.show(self.left_model.row(index.row()).file)

    def _summary(self) -> str:
        state = self.preview.state
        count = len(state.ticked)
        if state.proposal is not None and state.proposal.boot and state.proposal.boot in state.ticked:
            return say("The job will start {file}. Nothing is written before you apply it.", file=state.proposal.boot)
        return say_count(
            "{count} file will change. Nothing is written before you apply it.",
            "{count} files will change. Nothing is written before you apply it.",
            count,
        )

    def _on_file(self, index: QModelIndex | QPersistentModelIndex) -> None:
        if index.isValid():
            path = self.model.row(index.row()).path
            if path != self.preview.state.shown:
                self.preview.show(path)
