"""A line of words that never makes its panel wider: what does not fit is left out at the end."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel

from traindeck.ui.theme import SPACE


class ElidedLabel(QLabel):
    """Keeps its whole text; the tool tip shows it when it was cut."""

    def __init__(self) -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)

    def minimumSizeHint(self) -> QSize:
        return QSize(4 * SPACE, super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        room = self.contentsRect()
        words = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, room.width())
        self.setToolTip(self.text() if words != self.text() else "")
        self.style().drawItemText(
            painter, room, int(self.alignment()), self.palette(), self.isEnabled(), words, self.foregroundRole()
        )
