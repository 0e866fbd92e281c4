"""The colours a program asked for, as far as they can be read on the ground they stand on."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QTextCharFormat

from traindeck.ui.kit.theme import TERMINAL_COLORS, Theme
from traindeck.viewmodels.logs.log_rows import Style

LEAST_CONTRAST = 4.5
_STEPS = 24
_CUBE = (0, 95, 135, 175, 215, 255)
_TRUE_COLOUR = 1 << 24


def colour_of(code: int) -> QColor:
    """As the program asked for it."""
    if code & _TRUE_COLOUR:
        return QColor(code >> 16 & 255, code >> 8 & 255, code & 255)
    if code < 16:
        return QColor(TERMINAL_COLORS[code])
    if code < 232:
        code -= 16
        return QColor(_CUBE[code // 36], _CUBE[code // 6 % 6], _CUBE[code % 6])
    grey = 8 + 10 * (code - 232)
    return QColor(grey, grey, grey)


def contrast(one: QColor, other: QColor) -> float:
    """As WCAG counts it: 1 for the same colour, 21 for black on white."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: QColor) -> float:
    parts = (colour.redF(), colour.greenF(), colour.blueF())
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def readable(colour: QColor, ground: QColor) -> QColor:
    """The same hue, as much lighter or darker as it takes to be read there."""
    towards = QColor(Qt.GlobalColor.white) if _luminance(ground) < 0.18 else QColor(Qt.GlobalColor.black)
    for step in range(_STEPS + 1):
        mixed = _mixed(colour, towards, step / _STEPS)
        if contrast(mixed, ground) >= LEAST_CONTRAST:
            return mixed
    return towards


def _mixed(one: QColor, other: QColor, share: float) -> QColor:
    return QColor(
        round(one.red() + (other.red() - one.red()) * share),
        round(one.green() + (other.green() - one.green()) * share),
        round(one.blue() + (other.blue() - one.blue()) * share),
    )


class LogColours:
    """Formats for one theme."""

    def __init__(self, theme: Theme) -> None:
        self._ground, self._text = theme.color("sunken"), theme.color("text")
        self.format_of = lru_cache(maxsize=1024)(self._format)

    def _format(self, style: Style) -> QTextCharFormat:
        made = QTextCharFormat()
        fore = None if style.fore is None else colour_of(style.fore)
        back = None if style.back is None else colour_of(style.back)
        if style.is_inverse:
            fore, back = back or self._ground, fore or self._text
        ground = back or self._ground
        shade = fore or self._text
        if style.is_dim:
            shade = _mixed(shade, ground, 0.35)
        made.setForeground(readable(shade, ground))
        if back is not None:
            made.setBackground(back)
        if style.is_bold:
            made.setFontWeight(QFont.Weight.Bold)
        made.setFontItalic(style.is_italic)
        made.setFontUnderline(style.is_underlined)
        return made
