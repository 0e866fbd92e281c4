"""What is wrong with the scripts, one by one: the line itself, why, what to do, and the ways out."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QDialog, QHeaderView, QSplitter, QWidget

from traindeck.domain.diff_rows import DiffKind, DiffRow
from traindeck.domain.jobs.checks import CheckLevel
from traindeck.domain.scripts.findings import ScriptFinding
from traindeck.domain.texts import say
from traindeck.ui.kit.cards import EmptyPage, push_button
from traindeck.ui.kit.dialogs import DIALOG_MARGINS, closing
from traindeck.ui.kit.diff_text import DiffText
from traindeck.ui.kit.layouts import column_of, fit_on_screen, label
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.table_models import RowsModel
from traindeck.ui.kit.tables import RowTable, plain_table
from traindeck.ui.kit.theme import SPACE, Theme, set_role
from traindeck.viewmodels.jobs.form.code_findings import CodeFindings

_WIDE, _HIGH = 130 * SPACE, 84 * SPACE
_LIST, _DETAIL = 44 * SPACE, 84 * SPACE
_MARKS = {CheckLevel.RED: ("✗", "bad"), CheckLevel.AMBER: ("!", "warn")}


class _Found(RowsModel[ScriptFinding]):
    COLUMNS = 2

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme

    def key(self, row: ScriptFinding) -> Hashable:
        return (row.rule, row.file, row.line)

    def headers(self) -> Sequence[str]:
        return (say("Finding"), say("Where"))

    def cell(self, row: ScriptFinding, column: int, role: int) -> Any:
        mark, color = ("–", "dim") if row.is_silenced else _MARKS[row.level]
        place = f"{row.file}:{row.line}"
        if role == Qt.ItemDataRole.DisplayRole:
            return place if column else f"{mark} {say(row.title)}"
        if role == Qt.ItemDataRole.ToolTipRole:
            return place if column else say(row.why)
        if role == Qt.ItemDataRole.ForegroundRole and (row.is_silenced or not column):
            return self._theme.color(color)
        return None


class FindingsDialog(QDialog):
    """Shows CodeFindings."""

    def __init__(self, findings: CodeFindings, theme: Theme, parent: QWidget | None) -> None:
        super().__init__(parent)
        self.findings = findings
        self.setWindowTitle(say("Findings in the scripts"))
        fit_on_screen(self, _WIDE, _HIGH)
        self.head = sentence("", "heading")
        self.unread = label("", "dim", wraps=True)
        self.model = _Found(theme)
        self.table = RowTable()
        plain_table(self.table, say("Findings"))
        self.table.setModel(self.model)
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        header.setMinimumSectionSize(10 * SPACE)
        self.table.selectionModel().currentRowChanged.connect(self._on_row)
        self.table.activated.connect(lambda _: self.open_file())
        self.title = sentence("", "heading")
        self.why = label("", "", wraps=True)
        self.hint = label("", "dim", wraps=True)
        self.rule = label("", "dim", wraps=True)
        self.code = DiffText("left", say("The lines around it"), theme)
        self.none = EmptyPage("", "")
        self.fix_button = push_button(say("Show the fix…"), findings.fix)
        self.silence_button = push_button(say("Silence"), findings.silence)
        self.file_button = push_button(say("Open the file"), self.open_file)
        self.again = push_button(say("Check again"), findings.look)
        buttons, self.close_button = closing(
            self, say("Close"), self.again, self.file_button, self.silence_button, self.fix_button
        )
        self._build(buttons)
        self._seen: tuple[object, ...] = ()
        findings.changed.connect(self._show)
        self.finished.connect(lambda _: findings.watch(False))
        self._show()
        findings.watch(True)
        self.table.setFocus()

    def _build(self, buttons: QWidget) -> None:
        self.detail = QWidget()
        column_of(
            self.title, self.why, self.hint, self.rule, (self.code, 1),
            inside=self.detail, margins=(SPACE, 0, 0, 0), spacing=SPACE,
        )  # fmt: skip
        self.splitter = QSplitter()
        self.splitter.setChildrenCollapsible(False)
        self.splitter.addWidget(self.table)
        self.splitter.addWidget(self.detail)
        self.splitter.setSizes([_LIST, _DETAIL])
        self.splitter.setStretchFactor(1, 1)
        column_of(
            self.head, self.unread, (self.none, 1), (self.splitter, 1), buttons,
            inside=self, margins=DIALOG_MARGINS, spacing=SPACE,
        )  # fmt: skip

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow() and self.isVisible():
            self.findings.look()  # whoever was elsewhere may have edited or fixed the code

    def open_file(self) -> None:
        chosen = self.findings.state.chosen
        if chosen is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self.findings.place(chosen))))

    def _show(self) -> None:
        state = self.findings.state
        self.head.setText(say(state.head))
        set_role(self.head, "error" if state.trouble is not None else "heading")
        unread = state.report.not_read if state.report is not None else ()
        self.unread.setText("\n".join(map(say, unread)))
        self.unread.setVisible(bool(unread))
        self.model.show(state.findings)
        has_some = bool(state.findings)
        is_new = has_some and not self.splitter.isVisibleTo(self)
        self.splitter.setVisible(has_some)
        self.none.setVisible(not has_some)
        self.head.setVisible(has_some or state.trouble is not None)
        if not has_some:
            hint = say("Rules about arguments, data, results, devices and packages were compared with this job.")
            self.none.say(say(state.head), hint if state.report is not None else "")
        chosen = state.chosen
        number = self.model.number_of(self.model.key(chosen)) if chosen is not None else None
        if number is not None and not self.table.selectionModel().isRowSelected(number):
            self.table.selectRow(number)
        self._show_chosen(chosen)
        if is_new:
            self.table.setFocus()  # while there was no list, a button took the keyboard
        self.again.setEnabled(not state.is_reading)

    def _show_chosen(self, chosen: ScriptFinding | None) -> None:
        for button in (self.silence_button, self.file_button):
            button.setEnabled(chosen is not None)
        # Always there: the others would stand elsewhere for each finding, and under the pointer lies another one.
        can_fix = chosen is not None and bool(chosen.fix)
        self.fix_button.setEnabled(can_fix)
        self.fix_button.setToolTip("" if can_fix else say("Nothing changes this by itself."))
        self.detail.setVisible(chosen is not None)
        if chosen is None:
            return
        self.silence_button.setText(say("Tell again") if chosen.is_silenced else say("Silence"))
        self.silence_button.setToolTip(say("In this job, for the rule “{rule}”", rule=chosen.rule))
        self.title.setText(say(chosen.title))
        self.why.setText(say(chosen.why))
        self.hint.setText(say(chosen.hint))
        silenced = say("silenced in this job") if chosen.is_silenced else ""
        self.rule.setText(", ".join(part for part in (f"{chosen.file}:{chosen.line}", chosen.rule, silenced) if part))
        self._show_code(chosen)

    def _show_code(self, chosen: ScriptFinding) -> None:
        lines = self.findings.state.lines or ("",) * (chosen.line - 1) + (chosen.source_line,)
        if self._seen == (chosen.file, chosen.line, lines):
            return
        self._seen = (chosen.file, chosen.line, lines)
        self.code.show_rows([_row(number, words, chosen.line) for number, words in enumerate(lines, start=1)])
        self.code.go_to(chosen.line - 1)

    def _on_row(self, index: QModelIndex | QPersistentModelIndex) -> None:
        if index.isValid():
            self.findings.choose(self.model.row(index.row()))


def _row(number: int, words: str, wanted: int) -> DiffRow:
    kind = DiffKind.CHANGED if number == wanted else DiffKind.SAME
    return DiffRow(kind, words, "", number, None)
