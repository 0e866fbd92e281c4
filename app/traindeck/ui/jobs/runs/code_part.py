"""The code of a run as it was frozen: its files, their text, and the ways to compare it and to have it back."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QModelIndex, QPersistentModelIndex
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QSplitter

from traindeck.domain.jobs.job import Run
from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import say, say_count
from traindeck.ui.jobs.runs.run_parts import RunPart
from traindeck.ui.kit.cards import fill_with_rows, push_button
from traindeck.ui.kit.flow import FlowLayout
from traindeck.ui.kit.layouts import column_of
from traindeck.ui.kit.path_tree import PathTree, PathTreeModel
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.theme import SPACE, Theme, set_role
from traindeck.viewmodels.jobs.runs.run_page import RunPage, RunPageState

_NAMES_WIDTH, _TEXT_WIDTH = 28 * SPACE, 60 * SPACE


class CodePart(RunPart):
    """The files as they were frozen; no later edit is in them."""

    def __init__(self, page: RunPage, theme: Theme) -> None:
        super().__init__()
        self._page = page
        self.model = PathTreeModel()
        self.files = PathTree(self.model, say("Code files"))
        self.files.selectionModel().currentRowChanged.connect(self._open)
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setFont(theme.mono_font())
        self.text.setAccessibleName(say("Text of the file"))
        self._shown: object = None
        set_role(self.text, "log")
        self.note = sentence("", "dim")
        runs = page.runs
        self.compare = push_button(say("Compare with…"), lambda: self._ask(runs.diff_wanted.emit))
        self.restore = push_button(say("Restore to folder…"), lambda: self._ask(runs.restore_wanted.emit))
        self.export = push_button(say("Export as zip…"), lambda: self._ask(runs.code_export_wanted.emit))
        self._buttons = (self.compare, self.restore, self.export)
        buttons = FlowLayout(*self._buttons, spacing=SPACE)
        head = column_of(self.note, buttons, margins=(2 * SPACE, SPACE, SPACE, SPACE), spacing=SPACE)
        beside = QSplitter()
        beside.setChildrenCollapsible(False)
        beside.addWidget(self.files)
        beside.addWidget(self.text)
        beside.setStretchFactor(1, 1)
        beside.setSizes([_NAMES_WIDTH, _TEXT_WIDTH])
        fill_with_rows(self, [head], beside)

    def show_run(self, run: Run) -> None:
        state = self._page.state
        files = state.code.files if state.code is not None else ()
        self.files.show_files((file.path, file.size_bytes) for file in files)
        self.note.setText(_code_words(state))
        for button in self._buttons:
            button.setEnabled(bool(run.bundle))
        if state.code_file is not None:
            self.files.choose(state.code_file.path)
        if state.code_text is not self._shown:
            self._shown = state.code_text
            self.text.setPlainText((state.code_text.words or "") if state.code_text is not None else "")
            if state.code_line and state.code_text is not None:
                self._go_to_line(state.code_line)

    def _go_to_line(self, line: int) -> None:
        cursor = QTextCursor(self.text.document().findBlockByLineNumber(line - 1))
        cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
        self.text.setTextCursor(cursor)
        self.text.centerCursor()

    def _ask(self, wanted: Callable[[Run], None]) -> None:
        if (run := self._page.state.run) is not None:
            wanted(run)

    def _open(self, index: QModelIndex | QPersistentModelIndex) -> None:
        file = self._page.state.code_file
        path = self.model.path(index) if index.isValid() else ""
        if path and path != (file.path if file else ""):
            self._page.open_code(path)


def _code_words(state: RunPageState) -> str:
    if state.code_trouble is not None:
        return state.code_trouble.sentence()
    if state.run is not None and not state.run.bundle:
        return say("The code of this run was not kept.")
    if state.code is None:
        return say("Reading the code…")
    if state.code_text is not None and state.code_text.words is None:
        return say("This file is not text.")
    if state.code_text is not None and not state.code_text.is_whole:
        return say("Only the beginning of this file is shown.")
    size = size_words(sum(file.size_bytes for file in state.code.files))
    return say_count("1 file, {size}", "{count} files, {size}", len(state.code.files), size=size)
