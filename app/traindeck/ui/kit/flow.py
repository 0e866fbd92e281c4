"""A row of widgets that goes on in the next line where there is no more room."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget


class FlowLayout(QLayout):
    """As high as it needs to be for the width it gets."""

    def __init__(self, *widgets: QWidget, spacing: int = 0) -> None:
        super().__init__()
        self._items: list[QLayoutItem] = []
        self.setSpacing(spacing)
        self.setContentsMargins(0, 0, 0, 0)
        for widget in widgets:
            self.addWidget(widget)

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._arrange(QRect(0, 0, width, 0), is_meant=False)

    def sizeHint(self) -> QSize:
        return self.minimumSize()

    def minimumSize(self) -> QSize:
        size = QSize()
        for item in self._items:
            if not item.isEmpty():
                size = size.expandedTo(item.minimumSize())
        return size

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        self._arrange(rect, is_meant=True)

    def _arrange(self, rect: QRect, *, is_meant: bool) -> int:
        """How high it became."""
        place, line = rect.topLeft(), 0
        for item in self._items:
            if item.isEmpty():
                continue
            hint = item.sizeHint().expandedTo(item.minimumSize())
            if place.x() > rect.left() and place.x() + hint.width() > rect.right() + 1:
                place = QPoint(rect.left(), place.y() + line + self.spacing())
                line = 0
            if is_meant:
                item.setGeometry(QRect(place, QSize(min(hint.width(), rect.width()), hint.height())))
            place = QPoint(place.x() + hint.width() + self.spacing(), place.y())
            line = max(line, hint.height())
        return place.y() + line - rect.top()
