"""The lines in sight for those who have the screen read to them.

Qt's binding lets nobody add a text interface to a widget of one's own: the pointer that it hands to the reader is
that of another class. So the words stand once more in a widget that has such an interface, and paints nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QPaintEvent, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from traindeck.domain.texts import say
from traindeck.ui.kit.theme import set_role


class SpokenLines(QPlainTextEdit):
    """Over the rows that are painted, as large as they are; neither keys nor the mouse find it."""

    def __init__(self, viewport: QWidget) -> None:
        super().__init__(viewport)
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.viewport().setAutoFillBackground(False)
        self.setAccessibleName(say("Lines in sight"))
        set_role(self, "spoken")

    def paintEvent(self, event: QPaintEvent) -> None:
        pass

    def show_lines(self, lines: Sequence[str], caret: int | None) -> None:
        """What is in sight; `caret`: the line of them where the selection ends."""
        words = "\n".join(lines)
        if words != self.toPlainText():
            self.setPlainText(words)
        block = self.document().findBlockByNumber(caret) if caret is not None else self.document().lastBlock()
        if block.position() != self.textCursor().position():
            self.setTextCursor(QTextCursor(block))


def read_aloud(widget: QWidget, words: str) -> None:
    """At once, whatever has the focus, without breaking off what is being read."""
    announcement = QAccessibleAnnouncementEvent(widget, words)
    announcement.setPoliteness(QAccessible.AnnouncementPoliteness.Polite)
    QAccessible.updateAccessibility(announcement)
