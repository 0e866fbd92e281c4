"""Cells that are not just text: a chip for a state, a bar for progress."""

from __future__ import annotations

from PySide6.QtCore import QObject, QRect, QSize, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QApplication, QLabel, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from traindeck.ui.kit.table_models import BADGE_ROLE, SHARE_ROLE, TONE_ROLE
from traindeck.ui.kit.tables import Index
from traindeck.ui.kit.theme import HALF, ROW, SPACE, Theme, set_role
from traindeck.viewmodels.ports import Tone

# The ink, the background, and the chip that has them.
_LOOKS = {
    Tone.WAITING: ("link", "info_soft", "chip-info"),
    Tone.RUNNING: ("link", "info_soft", "chip-info"),
    Tone.GOOD: ("good", "good_soft", "chip-good"),
    Tone.BAD: ("bad", "bad_soft", "chip-bad"),
    Tone.DOUBTFUL: ("warn", "warn_soft", "chip-warn"),
    Tone.QUIET: ("dim", "hover", "chip"),
}


def paint_chip(painter: QPainter, theme: Theme, room: QRect, words: str, tone: Tone) -> int:
    """A word on the colour of what it means, at the left of `room` in the painter's font; how wide it became."""
    ink, paper, _ = _LOOKS[tone]
    metrics = painter.fontMetrics()
    height = min(room.height(), metrics.height() + HALF)
    width = min(room.width(), metrics.horizontalAdvance(words) + 2 * SPACE)
    chip = QRect(room.left(), room.center().y() - height // 2, width, height)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.color(paper))
    painter.drawRoundedRect(chip, height / 2, height / 2)
    painter.setPen(theme.color(ink))
    inside = chip.adjusted(SPACE - 1, 0, -SPACE + 1, 0)
    shown = metrics.elidedText(words, Qt.TextElideMode.ElideRight, inside.width() + 2)
    painter.drawText(inside, Qt.AlignmentFlag.AlignCenter, shown)
    painter.restore()
    return width


class _CellDelegate(QStyledItemDelegate):
    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(super().sizeHint(option, index).width() + 3 * SPACE, ROW)

    def _paint_ground(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        self.initStyleOption(option, index)
        option.text = ""
        style = option.widget.style() if option.widget else QApplication.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget)

    def _paint_chip(self, painter: QPainter, option: QStyleOptionViewItem, words: str, tone: Tone) -> None:
        paint_chip(painter, self._theme, option.rect.adjusted(HALF, 0, -HALF, 0), words, tone)


class EndElidedDelegate(QStyledItemDelegate):
    """Words that begin with what matters most, in a table that leaves out the middle."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        option.textElideMode = Qt.TextElideMode.ElideRight


class StateChipDelegate(_CellDelegate):
    """A word on the colour of what it means."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        words = str(index.data(Qt.ItemDataRole.DisplayRole))
        tone = index.data(TONE_ROLE)
        self._paint_ground(painter, option, index)
        self._paint_chip(painter, option, words, tone)


class ProgressDelegate(_CellDelegate):
    """A thin bar with short words beside it; long ones and a bad end stand alone, a badge on its colour."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        words = str(index.data(Qt.ItemDataRole.DisplayRole))
        tone, share = index.data(TONE_ROLE), index.data(SHARE_ROLE)
        self._paint_ground(painter, option, index)
        if index.data(BADGE_ROLE):
            self._paint_chip(painter, option, words, tone)
            return
        ink = _LOOKS[tone][0]
        metrics = option.fontMetrics
        room: QRect = option.rect.adjusted(SPACE, 0, -SPACE, 0)
        words_width = metrics.horizontalAdvance("100% ") + SPACE
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        beside = max(words_width, 6 * SPACE)
        if tone in (Tone.RUNNING, Tone.GOOD) and metrics.horizontalAdvance(words) <= beside - SPACE:
            height = HALF + 2
            bar = QRect(room.left(), room.center().y() - height // 2, room.width() - beside, height)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._theme.color("border"))
            painter.drawRoundedRect(bar, height / 2, height / 2)
            if share:
                painter.setBrush(self._theme.color(ink))
                done = QRect(bar.left(), bar.top(), max(height, round(bar.width() * share)), height)
                painter.drawRoundedRect(done, height / 2, height / 2)
            room.setLeft(bar.right() + SPACE)
        painter.setPen(self._theme.color("text" if ink == "link" else ink))
        shown = metrics.elidedText(words, Qt.TextElideMode.ElideRight, room.width())
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)
        painter.restore()


class StateChip(QLabel):
    """How something stands."""

    def show_state(self, tone: Tone, words: str) -> None:
        set_role(self, _LOOKS[tone][2])
        self.setText(words)
