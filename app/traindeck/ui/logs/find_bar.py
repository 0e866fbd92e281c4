"""The bar that searches a log, from end to end of the file."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit, QToolButton, QWidget

from traindeck.domain.texts import say
from traindeck.ui.kit.cards import ElidedLabel, show_words, tool_button
from traindeck.ui.kit.layouts import column_of, label, row_of
from traindeck.ui.kit.theme import HALF, SPACE, set_role
from traindeck.ui.logs.log_pane import LogPane
from traindeck.ui.logs.row_layouts import characters
from traindeck.viewmodels.logs.log_search import Hit, LogSearch, Wanted


class FindBar(QWidget):
    """Return goes to the next hit, Shift+Return to the one before."""

    def __init__(self, search: LogSearch, pane: LogPane) -> None:
        super().__init__()
        self._search, self._pane = search, pane
        self.words = QLineEdit()
        self.words.setPlaceholderText(say("Find in the whole log"))
        self.words.setAccessibleName(say("Find in the whole log"))
        self.words.setClearButtonEnabled(True)
        self.words.setMinimumWidth(12 * SPACE)
        self.case = _switch("Aa", say("Upper and lower case differ"))
        self.whole = _switch(say("W", "whole word"), say("Whole words only"))
        self.expression = _switch(".*", say("Regular expression"))
        self.hits = ElidedLabel(role="dim")
        self.before = tool_button("up", say("Previous hit (Shift+Return)"), lambda: self.go(backwards=True))
        self.after = tool_button("down", say("Next hit (Return)"), self.go)
        self.shut = tool_button("close", say("Close the search"), self.close_bar)
        # Below, so that what is typed into keeps its place and its width.
        self.trouble = label("", "error", wraps=True)
        self.trouble.hide()
        row = row_of(
            (self.words, 1), self.case, self.whole, self.expression, self.hits, self.before, self.after, self.shut,
            spacing=HALF,
        )  # fmt: skip
        column_of(row, self.trouble, inside=self, margins=(SPACE, HALF, SPACE, HALF), spacing=HALF)
        self.words.textChanged.connect(self._on_words)
        for switch in (self.case, self.whole, self.expression):
            switch.toggled.connect(self._on_words)
        self.words.installEventFilter(self)
        search.changed.connect(self._on_changed)
        search.found.connect(self._on_found)
        self.hide()

    def open_bar(self) -> None:
        self.show()
        self._pane.painter.is_searched = True
        chosen = self._pane.selected_words()
        if chosen and "\n" not in chosen:
            self.words.setText(chosen)
        self._on_words()
        self.words.setFocus()
        self.words.selectAll()

    def close_bar(self) -> None:
        self.hide()
        self._pane.painter.is_searched = False
        self._search.look_for(None)
        self._pane.setFocus()

    def go(self, *_: object, backwards: bool = False) -> None:
        """To the next hit from what is selected, else from what is in sight."""
        if not self.isVisible():
            self.open_bar()
        ends = self._pane.selection.ends
        if ends is None:
            top = self._pane.top_number
            self._search.find(top, 0, 0, backwards=backwards)
            return
        first, last = ends
        at = first if backwards else last
        words = next((row.words for row in self._pane.rows_known(at.number)), "")
        self._search.find(at.number, characters(words, first.unit), characters(words, last.unit), backwards=backwards)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self.go(backwards=bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
                return True
            if event.key() == Qt.Key.Key_Escape:
                self.close_bar()
                return True
        return super().eventFilter(watched, event)

    def _on_words(self, *_: object) -> None:
        wanted = Wanted(self.words.text(), self.expression.isChecked(), self.case.isChecked(), self.whole.isChecked())
        self._search.look_for(wanted)

    def _on_found(self, hit: Hit) -> None:
        end = hit.end if hit.end > hit.begin else len(hit.row.words)
        self._pane.select_in(hit.row, hit.begin, end)

    def _on_changed(self) -> None:
        state = self._search.state
        set_role(self.words, "invalid" if state.trouble is not None else "")
        show_words(self.trouble, say(state.trouble) if state.trouble is not None else "")
        if state.wanted is None or state.trouble is not None:
            self.hits.setText("")
        elif not state.is_all:
            self.hits.setText(say("Hits so far: {count}", count=f"{state.hits:,}"))
        else:
            self.hits.setText(say("Hits: {count}", count=f"{state.hits:,}") if state.hits else say("Nothing found"))


def _switch(words: str, tip: str) -> QToolButton:
    made = QToolButton()
    made.setText(words)
    made.setToolTip(tip)
    made.setAccessibleName(tip)
    made.setCheckable(True)
    return made
