"""Text of a preview: read only, page after page."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QPlainTextEdit

from traindeck.domain.texts import say
from traindeck.ui.theme import Theme, set_role


class TextPane(QPlainTextEdit):
    """Letters of one width; a page more never moves what is being read."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setFont(theme.mono_font())
        self.setAccessibleName(say("Content"))
        self.setTabChangesFocus(True)
        set_role(self, "log")

    def show_page(self, words: str, *, is_first: bool) -> None:
        if is_first:
            self.setPlainText(words)
            return
        place = self.verticalScrollBar().value()
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText(words)
        self.verticalScrollBar().setValue(place)

    def is_at_end(self) -> bool:
        bar = self.verticalScrollBar()
        return bar.value() >= bar.maximum() - bar.pageStep()
