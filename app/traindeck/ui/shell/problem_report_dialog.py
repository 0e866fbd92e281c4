"""Report a problem: every file of the report is shown before it is saved or copied."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QListWidgetItem,
    QPlainTextEdit,
    QSplitter,
    QWidget,
)

from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import say
from traindeck.ui.kit.cards import push_button, show_words
from traindeck.ui.kit.dialogs import DIALOG_MARGINS, chosen_place, closing
from traindeck.ui.kit.layouts import column_of, label
from traindeck.ui.kit.property_page import help_label, sentence
from traindeck.ui.kit.tables import RowList
from traindeck.ui.kit.theme import SPACE, Theme, set_role
from traindeck.viewmodels.ports import Tasks
from traindeck.viewmodels.shell.problem_report import ProblemForm

_NAME = Qt.ItemDataRole.UserRole


class ProblemReportDialog(QDialog):
    """A file without its mark is left out."""

    def __init__(self, form: ProblemForm, theme: Theme, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self._form = form
        self._tasks = tasks
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(say("Report a problem"))
        self.resize(min(820, parent.width() - 4 * SPACE), min(600, parent.height() - 4 * SPACE))
        self.note = QPlainTextEdit()
        self.note.setPlaceholderText(say("What did you do, what happened, and what did you expect? (optional)"))
        self.note.setAccessibleName(say("Your description"))
        self.note.setTabChangesFocus(True)
        self.note.setFixedHeight(4 * self.note.fontMetrics().lineSpacing())
        self.files = RowList()
        self.files.setAccessibleName(say("Files of the report"))
        self.content = QPlainTextEdit()
        self.content.setReadOnly(True)
        self.content.setFont(theme.mono_font())
        self.content.setAccessibleName(say("Content of the file"))
        self.content.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        both = QSplitter()
        both.addWidget(self.files)
        both.addWidget(self.content)
        both.setChildrenCollapsible(False)
        both.setStretchFactor(1, 1)
        both.setSizes([26 * SPACE, 70 * SPACE])
        self.outcome = sentence("", "small")
        # Room for what may be said, so that the buttons stay where they are.
        self.outcome.setMinimumHeight(2 * self.fontMetrics().lineSpacing())
        self.save = push_button(say("&Save…"), self._save, "primary")
        self.copy = push_button(say("&Copy all"), self._copy)
        self.folder = push_button(say("Open &folder"), self._open_folder)
        buttons, _ = closing(self, say("Close"), self.save, self.copy, self.folder)
        facts = say("Nothing is sent: you decide who gets it. Keys and passwords are removed; look at each file first.")
        column_of(
            label(say("Report a problem"), "heading"), help_label(facts), self.note, (both, 1), self.outcome, buttons,
            inside=self, margins=DIALOG_MARGINS, spacing=SPACE,
        )  # fmt: skip
        self.note.textChanged.connect(lambda: form.note(self.note.toPlainText()))
        self.files.currentItemChanged.connect(lambda *_: self._show_content())
        self.files.itemChanged.connect(self._on_mark)
        form.changed.connect(self._refresh)
        self.finished.connect(form.close)
        self._refresh()
        self.note.setFocus()
        form.start()

    def _refresh(self) -> None:
        state = self._form.state
        self._fill()
        can_go = not state.is_collecting and bool(state.parts)
        self.save.setEnabled(can_go)
        self.copy.setEnabled(can_go)
        self.folder.setEnabled(state.saved is not None)
        set_role(self.outcome, "error" if state.trouble else "small")
        if state.trouble is not None:
            self.outcome.setText(state.trouble.sentence())
        elif state.is_collecting:
            self.outcome.setText(say("Collecting…"))
        elif state.saved is not None:
            self.outcome.setText(say("The report is in “{file}”.", file=str(state.saved)))
        else:
            self.outcome.clear()

    def _fill(self) -> None:
        """The row in front stays in front."""
        state = self._form.state
        shown = {part.name: part for part in state.parts}
        self.files.blockSignals(True)
        for row in reversed(range(self.files.count())):
            if self.files.item(row).data(_NAME) not in shown:
                self.files.takeItem(row)
        there = {self.files.item(row).data(_NAME): self.files.item(row) for row in range(self.files.count())}
        for name, part in shown.items():
            item = there.get(name) or QListWidgetItem(self.files)
            item.setData(_NAME, name)
            item.setText(f"{name}  ·  {size_words(len(part.content))}")
            mark = Qt.CheckState.Unchecked if name in state.left_out else Qt.CheckState.Checked
            item.setCheckState(mark)
        if shown and self.files.currentRow() < 0:
            self.files.setCurrentRow(0)
        self.files.blockSignals(False)
        self._show_content()

    def _show_content(self) -> None:
        item = self.files.currentItem()
        name = item.data(_NAME) if item is not None else ""
        words = next((part.words for part in self._form.state.parts if part.name == name), "")
        if words != self.content.toPlainText():
            self.content.setPlainText(words)

    def _on_mark(self, item: QListWidgetItem) -> None:
        self._form.take(item.data(_NAME), is_in=item.checkState() == Qt.CheckState.Checked)

    def _save(self) -> None:
        self._tasks.start("choose where the report goes", self._choose_place)

    async def _choose_place(self) -> None:
        place = await chosen_place(
            self, say("Save the report"), str(Path.home() / self._form.suggested_name), "ZIP (*.zip)"
        )
        if place is not None:
            self._form.save(place)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._form.words())
        show_words(self.outcome, say("Copied."))

    def _open_folder(self) -> None:
        if self._form.state.saved is not None:
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._form.state.saved.parent)))
