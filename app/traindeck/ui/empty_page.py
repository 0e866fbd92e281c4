"""What a panel says while it has nothing to show."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from traindeck.ui.theme import HALF, SPACE, set_role


class EmptyPage(QWidget):
    """One sentence about what is, one about what to do."""

    def __init__(self, title: str, hint: str) -> None:
        super().__init__()
        self._own = (title, hint)
        self.title = QLabel()
        self.hint = QLabel()
        set_role(self, "page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        set_role(self.title, "heading")
        set_role(self.hint, "dim")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(2 * SPACE, 2 * SPACE, 2 * SPACE, 2 * SPACE)
        layout.setSpacing(HALF)
        layout.addStretch(1)
        for label in (self.title, self.hint):
            label.setWordWrap(True)
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
            layout.addWidget(label)
        layout.addStretch(2)
        self.restore()

    def say(self, title: str, hint: str) -> None:
        self.title.setText(title)
        self.hint.setText(hint)
        self.hint.setVisible(bool(hint))

    def restore(self) -> None:
        self.say(*self._own)
