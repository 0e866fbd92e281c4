"""Paints rows of a log: words, what is selected, flags, line numbers, and what stands for several rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QTextCharFormat

from traindeck.domain.texts import say
from traindeck.ui.kit.theme import HALF, SPACE, Theme
from traindeck.ui.logs.log_selection import LogSelection
from traindeck.ui.logs.row_layouts import LaidOut, RowLayouts, selected
from traindeck.viewmodels.logs.log_rows import LogRow

_UNKNOWN_LINE = "·"

PlacedRows = list[tuple[float, LaidOut]]
"""Each with where its top is."""


def _no_words(_: LogRow) -> str:
    return ""


@dataclass(slots=True)
class RowPainter:
    """What it does not know itself it asks."""

    theme: Theme
    layouts: RowLayouts
    selection: LogSelection
    badge_of: Callable[[LogRow], str] = _no_words
    """What stands at the end of a row."""
    flag_of: Callable[[LogRow], str] = _no_words
    """The colour of the flag in front of a row."""
    shows_numbers: bool = True
    is_focused: bool = False
    is_searched: bool = False
    """What is selected while words are typed elsewhere is the hit one is at, and stands out of the others."""

    def paint(self, painter: QPainter, placed: PlacedRows, left: int, shift: int, room: QRectF) -> None:
        """The words begin at `left`, and are moved out of sight by `shift`."""
        painter.setFont(self.layouts.font)
        painter.setClipRect(QRectF(left, room.top(), room.width() - left, room.height()))
        for top, laid in placed:
            self._paint_row(painter, top, laid, left, shift, room.width())
        painter.setClipping(False)
        for top, laid in placed:
            self._paint_front(painter, top, laid, left)

    def badge_at(self, placed: PlacedRows, point: QPoint, width: float) -> LogRow | None:
        for top, laid in placed:
            words = self.badge_of(laid.row)
            if words and self._badge_room(top, words, width).contains(QPointF(point)):
                return laid.row
        return None

    def _paint_row(self, painter: QPainter, top: float, laid: LaidOut, left: int, shift: int, width: float) -> None:
        row, height = laid.row, laid.lines * self.layouts.line_height
        if row.mark is not None:
            room = QRectF(left, top, width - left, height)
            painter.fillRect(room, self.theme.color("warn_soft"))
            painter.setPen(self.theme.color("warn"))
            painter.drawText(room.adjusted(0, 0, -SPACE, 0), Qt.AlignmentFlag.AlignVCenter, say(row.mark))
            return
        parts = []
        if (part := self.selection.part_of(row)) is not None:
            look = self._selected_look()
            parts.append(selected(laid, part[0], part[1], look))
            if part[2]:
                self._paint_line_end(painter, top, laid, left - shift, look)
        painter.setPen(self.theme.color("text"))
        laid.layout.draw(painter, QPointF(left - shift, top), parts)
        if badge := self.badge_of(row):
            self._paint_badge(painter, badge, self._badge_room(top, badge, width))

    def _paint_line_end(self, painter: QPainter, top: float, laid: LaidOut, left: int, look: QTextCharFormat) -> None:
        line_height, lines = self.layouts.line_height, laid.layout.lineCount()
        edge = left + (laid.layout.lineAt(lines - 1).naturalTextWidth() if lines else 0)
        bottom = top + (laid.lines - 1) * line_height
        painter.fillRect(QRectF(edge, bottom, self.layouts.sign_width, line_height), look.background())

    def _paint_front(self, painter: QPainter, top: float, laid: LaidOut, left: int) -> None:
        row = laid.row
        if flag := self.flag_of(row):
            painter.fillRect(QRectF(0, top, HALF, laid.lines * self.layouts.line_height), self.theme.color(flag))
        if row.mark is not None or row.is_further or not self.shows_numbers:
            return
        words = _UNKNOWN_LINE if row.line is None else str(row.line)
        room = QRectF(0, top, left - SPACE, self.layouts.line_height)
        painter.setPen(self.theme.color("dim"))
        painter.drawText(room, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, words)

    def _selected_look(self) -> QTextCharFormat:
        look = QTextCharFormat()
        is_hit = self.is_searched and not self.is_focused
        ground = "accent" if is_hit else "selection" if self.is_focused else "selection_idle"
        look.setBackground(self.theme.color(ground))
        look.setForeground(self.theme.color("on_accent" if is_hit else "on_selection"))
        return look

    def _paint_badge(self, painter: QPainter, words: str, room: QRectF) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self.theme.color("hover"))
        painter.drawRoundedRect(room, HALF, HALF)
        painter.setPen(self.theme.color("dim"))
        painter.drawText(room, Qt.AlignmentFlag.AlignCenter, words)

    def _badge_room(self, top: float, words: str, width: float) -> QRectF:
        length = self.layouts.sign_width * (len(words) + 2)
        return QRectF(width - length - HALF, top, length, self.layouts.line_height)
