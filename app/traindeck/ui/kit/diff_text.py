"""One side of a difference: its lines with their numbers, on the colour of what became of each."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from traindeck.domain.diff_rows import DiffKind, DiffRow
from traindeck.ui.kit.theme import HALF, SPACE, Theme, set_role

_LEFT, _RIGHT, _BOTH = "left", "right", "both"
_SKIPPED = "⋯"


class DiffText(QPlainTextEdit):
    """`side` is left, right, or both: then it is a unified diff."""

    def __init__(self, side: str, name: str, theme: Theme) -> None:
        super().__init__()
        self._side = side
        self._theme = theme
        self._rows: Sequence[DiffRow] = ()
        self.setReadOnly(True)
        self.setTabChangesFocus(True)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setFont(theme.mono_font())
        self.setAccessibleName(name)
        set_role(self, "log")
        self._numbers = _Numbers(self)
        self.updateRequest.connect(self._scroll_numbers)
        theme.changed.connect(self.viewport().update)

    def show_rows(self, rows: Sequence[DiffRow]) -> None:
        self._rows = rows
        self.setPlainText("\n".join(map(self._words, rows)))
        self._make_room()
        self._numbers.update()

    def go_to(self, number: int) -> None:
        """So that the row stands in the middle."""
        block = self.document().findBlockByNumber(number)
        self.setTextCursor(QTextCursor(block))
        self.centerCursor()

    def current(self) -> int:
        return self.textCursor().blockNumber()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        for number, place in self._seen():
            if color := self._color(self._rows[number].kind):
                painter.fillRect(0, place.top(), self.viewport().width(), place.height(), self._theme.color(color))
        painter.end()
        super().paintEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        inside = self.contentsRect()
        self._numbers.setGeometry(QRect(inside.left(), inside.top(), self._numbers.width(), inside.height()))

    def paint_numbers(self, painter: QPainter) -> None:
        painter.setFont(self.font())
        painter.setPen(self._theme.color("dim"))
        width = self._numbers.width()
        for number, place in self._seen():
            row = self._rows[number]
            if color := self._color(row.kind):
                painter.fillRect(0, place.top(), width, place.height(), self._theme.color(color))
            room = place.adjusted(0, 0, width - place.width() - HALF, 0)
            painter.drawText(room, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, self._number(row))

    def _seen(self) -> list[tuple[int, QRect]]:
        """The rows in sight, and where they stand."""
        found = []
        block, offset = self.firstVisibleBlock(), self.contentOffset()
        bottom = self.viewport().height()
        while block.isValid() and block.blockNumber() < len(self._rows):
            place = self.blockBoundingGeometry(block).translated(offset)
            if place.top() > bottom:
                break
            place.setHeight(block.layout().boundingRect().height())  # without the margin of the document after the last
            found.append((block.blockNumber(), place.toRect()))
            block = block.next()
        return found

    def _words(self, row: DiffRow) -> str:
        if row.kind is DiffKind.SKIPPED:
            return _SKIPPED
        words = row.right if self._side == _RIGHT else row.left
        if self._side == _BOTH:
            return {DiffKind.REMOVED: "- ", DiffKind.ADDED: "+ "}.get(row.kind, "  ") + words
        return "" if self._is_missing(row) else words

    def _is_missing(self, row: DiffRow) -> bool:
        """There is no such line on this side."""
        missing = {_LEFT: DiffKind.ADDED, _RIGHT: DiffKind.REMOVED}
        return row.kind is missing.get(self._side)

    def _color(self, kind: DiffKind) -> str:
        if kind is DiffKind.SAME:
            return ""
        if kind is DiffKind.SKIPPED or (self._side == _LEFT and kind is DiffKind.ADDED):
            return "hover"
        if self._side == _RIGHT and kind is DiffKind.REMOVED:
            return "hover"
        if self._side == _BOTH:
            return "bad_soft" if kind is DiffKind.REMOVED else "good_soft"
        return "bad_soft" if self._side == _LEFT else "good_soft"

    def _number(self, row: DiffRow) -> str:
        left, right = row.left_number, row.right_number
        if self._side == _BOTH:
            digits = self._digits()
            return f"{'' if left is None else left:>{digits}} {'' if right is None else right:>{digits}}"
        number = left if self._side == _LEFT else right
        return "" if number is None else f"{number}"

    def _digits(self) -> int:
        most = max((max(row.left_number or 0, row.right_number or 0) for row in self._rows[-50:]), default=0)
        return max(3, len(f"{most}"))

    def _make_room(self) -> None:
        signs = 2 * self._digits() + 1 if self._side == _BOTH else self._digits()
        width = signs * self.fontMetrics().horizontalAdvance("0") + SPACE
        self.setViewportMargins(width, 0, 0, 0)
        inside = self.contentsRect()
        self._numbers.setGeometry(QRect(inside.left(), inside.top(), width, inside.height()))

    def _scroll_numbers(self, _: QRect, dy: int) -> None:
        if dy:
            self._numbers.scroll(0, dy)
        self._numbers.update()


class _Numbers(QWidget):
    """Beside the text, so that they are not copied with it."""

    def __init__(self, text: DiffText) -> None:
        super().__init__(text)
        self._text = text

    def sizeHint(self) -> QSize:
        return QSize(self.width(), 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self._text.paint_numbers(painter)
        painter.end()
