"""Which line of a chart is which, beside the chart: on a low one there is no place that hides nothing."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QLabel, QWidget

from traindeck.ui.kit.flow import FlowLayout
from traindeck.ui.kit.theme import HALF, SPACE, set_role

_STROKE = 2 * SPACE


class ChartKey(QWidget):
    """In as many rows as it needs."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: list[_Entry] = []
        self._flow = FlowLayout(spacing=SPACE)
        self.setLayout(self._flow)

    def show_lines(self, names: Sequence[str], colors: Sequence[str]) -> None:
        while len(self.entries) > len(names):
            entry = self.entries.pop()
            self._flow.removeWidget(entry)
            entry.deleteLater()
        while len(self.entries) < len(names):
            self.entries.append(_Entry())
            self._flow.addWidget(self.entries[-1])
        for entry, name, color in zip(self.entries, names, colors, strict=True):
            entry.show_line(name, QColor(color))


class _Entry(QLabel):
    """A stroke of its colour, and its name."""

    def __init__(self) -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setContentsMargins(_STROKE + HALF, 0, 0, 0)
        self.color = QColor()
        set_role(self, "small")

    def show_line(self, name: str, color: QColor) -> None:
        self.color = color
        self.setText(name)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setPen(QPen(self.color, 2))
        middle = self.rect().center().y() + 1
        painter.drawLine(0, middle, _STROKE, middle)
        painter.end()
