"""Rows of a log laid out for painting; those in sight are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from PySide6.QtCore import QPointF
from PySide6.QtGui import QFont, QFontMetricsF, QTextCharFormat, QTextLayout, QTextOption

from traindeck.ui.logs.log_colours import LogColours
from traindeck.viewmodels.logs.log_rows import LogRow

_MOST_KEPT = 600
_NO_END = 1e7
TAB_COLUMNS = 8

Marked = Sequence[tuple[int, int, QTextCharFormat]]
"""Begin and end in the words, and how that part looks."""


def units(words: str) -> int:
    """Their length as Qt counts: what is beyond the first 65,536 characters, such as rare Chinese ones, is two."""
    return len(words) if words.isascii() else len(words) + sum(sign > "\uffff" for sign in words)


def characters(words: str, count: int) -> int:
    """So many units of Qt's are so many characters."""
    if words.isascii():
        return min(count, len(words))
    at = 0
    for place, sign in enumerate(words):
        if at >= count:
            return place
        at += 2 if sign > "\uffff" else 1
    return len(words)


@dataclass(slots=True)
class LaidOut:
    """One row; `lines` of them below each other where it is wrapped."""

    row: LogRow
    layout: QTextLayout
    lines: int
    width: float


class RowLayouts:
    """Made when they are first needed."""

    def __init__(self, font: QFont, marks: Callable[[LogRow], Marked]) -> None:
        self._marks = marks
        self._kept: dict[int, LaidOut] = {}
        self._wrap_width = 0.0
        self.colours: LogColours | None = None
        self.use_font(font)

    def use_font(self, font: QFont) -> None:
        self.font = font
        metrics = QFontMetricsF(font)
        self.ascent = metrics.ascent()
        self.line_height = max(1, ceil(metrics.lineSpacing()))
        self.sign_width = metrics.horizontalAdvance("0")
        self._option = QTextOption()
        self._option.setTabStopDistance(TAB_COLUMNS * self.sign_width)
        self.clear()

    def wrap_at(self, width: float) -> None:
        """0: lines are as long as they are."""
        if width != self._wrap_width:
            self._wrap_width = width
            mode = QTextOption.WrapMode.WrapAnywhere if width else QTextOption.WrapMode.NoWrap
            self._option.setWrapMode(mode)
            self.clear()

    def clear(self) -> None:
        self._kept.clear()

    def of(self, row: LogRow) -> LaidOut:
        kept = self._kept.get(row.number)
        if kept is None or kept.row is not row:
            kept = self._lay_out(row)
            if len(self._kept) >= _MOST_KEPT:
                for number in list(self._kept)[: _MOST_KEPT // 2]:
                    del self._kept[number]
            self._kept[row.number] = kept
        return kept

    def _lay_out(self, row: LogRow) -> LaidOut:
        words = row.words
        layout = QTextLayout(words, self.font)
        layout.setCacheEnabled(True)
        layout.setTextOption(self._option)
        formats = []
        if self.colours is not None:
            for span in row.spans:
                formats.append(_range(words, span.begin, span.end, self.colours.format_of(span.style)))
        formats += [_range(words, begin, end, look) for begin, end, look in self._marks(row)]
        if formats:
            layout.setFormats(formats)
        layout.beginLayout()
        count, width = 0, 0.0
        while (line := layout.createLine()).isValid():
            line.setLineWidth(self._wrap_width or _NO_END)
            line.setPosition(QPointF(0, count * self.line_height + self.ascent - line.ascent()))
            count, width = count + 1, max(width, line.naturalTextWidth())
        layout.endLayout()
        return LaidOut(row, layout, max(1, count), width)


def _range(words: str, begin: int, end: int, look: QTextCharFormat) -> QTextLayout.FormatRange:
    made = QTextLayout.FormatRange()
    made.start = units(words[:begin])
    made.length = units(words[begin:end])
    made.format = look
    return made


def unit_at(laid: LaidOut, x: float, line: int) -> int:
    """The place between two signs that is nearest to there."""
    if not laid.layout.lineCount():
        return 0
    shown = laid.layout.lineAt(min(max(0, line), laid.layout.lineCount() - 1))
    return int(shown.xToCursor(x))


def cursor_x(laid: LaidOut, unit: int) -> float:
    """Where the place in front of this sign is, in the first line."""
    x: Any = laid.layout.lineAt(0).cursorToX(unit)  # with the place, in some versions
    return float(x[0] if isinstance(x, tuple) else x)


def selected(laid: LaidOut, begin: int, end: int, look: QTextCharFormat) -> QTextLayout.FormatRange:
    made = QTextLayout.FormatRange()
    made.start, made.length, made.format = begin, end - begin, look
    return made
