"""How the working folder differs from the code of a run: the files, and the text of one of them."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QListWidgetItem, QPlainTextEdit, QSplitter, QWidget

from traindeck.domain.jobs.code_change import ChangeKind, FileChange
from traindeck.domain.texts import printable, say
from traindeck.ui.kit.dialogs import DIALOG_MARGINS, closing
from traindeck.ui.kit.layouts import column_of
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.tables import RowList
from traindeck.ui.kit.theme import SPACE, Theme, set_role
from traindeck.viewmodels.jobs.earlier_code import EarlierCode
from traindeck.viewmodels.ports import Tasks

_READ = "compare a file with that of the run"


class CodeChangesDialog(QDialog):
    """The chosen file's text as `diff -u` says it, “-” as then, “+” as now."""

    def __init__(self, earlier: EarlierCode, theme: Theme, tasks: Tasks, parent: QWidget | None) -> None:
        super().__init__(parent)
        self._earlier = earlier
        self._tasks = tasks
        self._changes: tuple[FileChange, ...] = ()
        self.setWindowTitle(say("Code then and now"))
        self.resize(100 * SPACE, 66 * SPACE)
        self.words = sentence("", "heading")
        self.files = RowList()
        self.files.setAccessibleName(say("Files that differ"))
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setFont(theme.mono_font())
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setAccessibleName(say("Differences in the file"))
        set_role(self.text, "log")
        split = QSplitter(Qt.Orientation.Horizontal)
        split.addWidget(self.files)
        split.addWidget(self.text)
        split.setStretchFactor(1, 3)
        split.setChildrenCollapsible(False)
        buttons, _ = closing(self, say("Close"))
        column_of(self.words, (split, 1), buttons, inside=self, margins=DIALOG_MARGINS, spacing=SPACE)
        self.files.currentRowChanged.connect(self._on_chosen)
        earlier.changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        words, found = self._earlier.state.words, self._earlier.state.changes
        changes = found.files if found is not None else ()
        self.words.setText(say(words) if words is not None else say("Comparing…"))
        if changes == self._changes:
            return
        self._changes = changes
        self.files.clear()
        marks = {
            ChangeKind.CHANGED: say("changed"), ChangeKind.RENAMED: say("renamed"),
            ChangeKind.ADDED: say("only now"), ChangeKind.REMOVED: say("only then"),
        }  # fmt: skip
        for change in changes:
            item = QListWidgetItem(f"{printable(change.path)} ({marks[change.kind]})", self.files)
            item.setToolTip(printable(change.path))
        self.files.setCurrentRow(0)

    def _on_chosen(self, row: int) -> None:
        if not 0 <= row < len(self._changes):
            self.text.clear()
            return
        change = self._changes[row]
        self.text.clear()
        self._tasks.start(f"{_READ}: {change.path}", lambda: self._read(row, change))

    async def _read(self, row: int, change: FileChange) -> None:
        lines = await self._earlier.difference(change)
        if self.files.currentRow() == row:
            words = say("It is no text, or too long to be compared here.") if lines is None else "\n".join(lines)
            self.text.setPlainText(words)
