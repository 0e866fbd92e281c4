"""What the pages of properties are put together from."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLabel, QSpinBox, QVBoxLayout, QWidget

from traindeck.domain.lifecycle import MOST_DAYS
from traindeck.domain.texts import say
from traindeck.ui.theme import HALF, SPACE, set_role

_WORDS = 30 * SPACE
"""One below the other, the numbers stand in a column."""


def page_column(page: QWidget) -> QVBoxLayout:
    column = QVBoxLayout(page)
    column.setContentsMargins(2 * SPACE, 2 * SPACE, 2 * SPACE, 2 * SPACE)
    column.setSpacing(SPACE + HALF)
    return column


def told(words: str, role: str = "dim") -> QLabel:
    """A sentence as wide as the page."""
    label = QLabel(words)
    label.setWordWrap(True)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    set_role(label, role)
    return label


def one_line(words: str, role: str) -> QLabel:
    label = QLabel(words)
    set_role(label, role)
    return label


def number_box(low: int, high: int, name: str = "") -> QSpinBox:
    box = QSpinBox()
    box.setRange(low, high)
    if name:
        box.setAccessibleName(name)
    # The style sheet's padding does not reach the words inside.
    box.lineEdit().setTextMargins(HALF, 0, 0, 0)
    return box


class Days(QWidget):
    """“Do it after … days”, or not at all."""

    edited = Signal()

    def __init__(self, words: str, usual: int) -> None:
        super().__init__()
        self.wanted = QCheckBox(words)
        self.wanted.setMinimumWidth(_WORDS)
        self.number = number_box(1, MOST_DAYS, say("{what}: days", what=words))
        self.number.setValue(usual)
        self.number.setFixedWidth(10 * SPACE)
        self._unit = QLabel(say("days"))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE)
        for widget in (self.wanted, self.number, self._unit):
            row.addWidget(widget)
        row.addStretch(1)
        self._follow()
        self.wanted.toggled.connect(self._follow)
        self.wanted.clicked.connect(self.edited)
        self.number.valueChanged.connect(self.edited)

    def value(self) -> int | None:
        return self.number.value() if self.wanted.isChecked() else None

    def show_value(self, days: int | None) -> None:
        self.blockSignals(True)
        self.wanted.setChecked(days is not None)
        if days is not None:
            self.number.setValue(days)
        self.blockSignals(False)

    def _follow(self) -> None:
        self.number.setEnabled(self.wanted.isChecked())
        self._unit.setEnabled(self.wanted.isChecked())
