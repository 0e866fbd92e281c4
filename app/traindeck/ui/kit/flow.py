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
        top = rect.top()
        for line in self._lines(rect.width()):
            height = max(size.height() for _, size in line)
            left = rect.left()
            for item, size in line:
                if is_meant:
                    middle = top + (height - size.height()) // 2
                    item.setGeometry(QRect(QPoint(left, middle), QSize(min(size.width(), rect.width()), size.height())))
                left += size.width() + self.spacing()
            top += height + self.spacing()
        return max(0, top - self.spacing() - rect.top())

    def _lines(self, width: int) -> list[list[tuple[QLayoutItem, QSize]]]:
        """What stands beside one another, each as large as it wants to be."""
        lines: list[list[tuple[QLayoutItem, QSize]]] = []
        taken = width + 1
        for item in self._items:
            if item.isEmpty():
                continue
            size = item.sizeHint().expandedTo(item.minimumSize())
            if taken + size.width() > width:
                lines.append([])
                taken = 0
            lines[-1].append((item, size))
            taken += size.width() + self.spacing()
        return lines
