"""A scroll bar that shows where in the log the hits, the errors and the bookmarks are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from PySide6.QtCore import QRect, Qt, QTimer
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QScrollBar, QStyle, QStyleOptionSlider

from traindeck.ui.kit.theme import HALF, Theme

_SOON_MS = 150
_LEAST = 2

Shares = Mapping[str, Sequence[int]]
"""For each colour, how many marks are in each of so many equal parts."""


class LogScrollBar(QScrollBar):
    """Asks for the marks when they may be others, and not more often than one can see."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(Qt.Orientation.Vertical)
        self._theme = theme
        self.shares_in: Callable[[int], Shares] = lambda _: {}
        self._shares: Shares = {}
        self._soon = QTimer(self, singleShot=True, interval=_SOON_MS)
        self._soon.timeout.connect(self._ask)

    def mark_again(self, *_: object) -> None:
        if not self._soon.isActive():
            self._soon.start()

    def _ask(self) -> None:
        self._shares = self.shares_in(max(1, self._groove().height() // _LEAST))
        self.update()

    def _groove(self) -> QRect:
        option = QStyleOptionSlider()
        self.initStyleOption(option)
        style = QStyle.ComplexControl.CC_ScrollBar
        return self.style().subControlRect(style, option, QStyle.SubControl.SC_ScrollBarGroove, self)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter, groove = QPainter(self), self._groove()
        lanes = {
            "bad": (groove.left(), HALF),
            "warn": (groove.right() - HALF + 1, HALF),
            "link": (groove.left(), groove.width()),
        }
        for name, parts in self._shares.items():
            left, width = lanes[name]  # the handle stays in sight between them
            color = self._theme.color(name)
            for place, count in enumerate(parts):
                if count:
                    top = groove.top() + place * groove.height() // len(parts)
                    painter.fillRect(left, top, width, _LEAST, color)
