"""Cards of a page: a heading over facts that can be read and copied."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QLabel,
    QLayout,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from traindeck.ui.theme import HALF, SPACE, set_role


class Facts(QWidget):
    """Two columns of words that can be selected; built again only when they changed."""

    def __init__(self) -> None:
        super().__init__()
        self._facts: list[tuple[str, str]] = []
        self._labels: list[tuple[QLabel, QLabel]] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(2 * SPACE)
        self._grid.setVerticalSpacing(HALF)
        self._grid.setColumnStretch(1, 1)
        self.hide()

    def show_facts(self, facts: list[tuple[str, str]]) -> None:
        if facts == self._facts:
            return
        self._facts = facts
        while len(self._labels) < len(facts):
            pair = (plain("dim"), plain(""))
            pair[0].setWordWrap(False)
            for column, label in enumerate(pair):
                self._grid.addWidget(label, len(self._labels), column, Qt.AlignmentFlag.AlignTop)
            self._labels.append(pair)
        while len(self._labels) > len(facts):
            for label in self._labels.pop():
                label.deleteLater()
        for (name, value), (left, right) in zip(facts, self._labels, strict=True):
            left.setText(name)
            right.setText(value)
        self.setVisible(bool(facts))


def plain(role: str) -> QLabel:
    label = QLabel()
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(role != "title")
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    label.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
    set_role(label, role)
    return label


def card(words: str, inside: Sequence[QWidget]) -> QFrame:
    frame = QFrame()
    set_role(frame, "card")
    column = QVBoxLayout(frame)
    column.setContentsMargins(2 * SPACE, SPACE + HALF, 2 * SPACE, SPACE + HALF)
    column.setSpacing(SPACE)
    title = QLabel(words)
    set_role(title, "heading")
    column.addWidget(title)
    for widget in inside:
        align = Qt.AlignmentFlag.AlignLeft if isinstance(widget, QPushButton) else Qt.AlignmentFlag(0)
        column.addWidget(widget, 0, align)
    return frame


def fill_scrolling(page: QWidget, column: QLayout) -> None:
    """What does not fit on the page is scrolled to."""
    inside = QWidget()
    inside.setLayout(column)
    scroll = QScrollArea()
    scroll.setWidget(inside)
    scroll.setWidgetResizable(True)
    scroll.setFrameShape(QFrame.Shape.NoFrame)
    layout = QVBoxLayout(page)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.addWidget(scroll)
