"""What of a row looks otherwise: hits, words with a colour, links."""

from __future__ import annotations

import re
from typing import NamedTuple

from PySide6.QtGui import QColor, QTextCharFormat

from traindeck.ui.kit.theme import GROUND_COLORS, Theme
from traindeck.ui.logs.log_colours import readable
from traindeck.viewmodels.logs.log_feed import LogFeed
from traindeck.viewmodels.logs.log_rows import LogRow

_SOURCE = re.compile(r'File "([^"\n]+)", line (\d+)')
_PLACE = re.compile(r"obs://[a-z0-9][a-z0-9.-]{1,62}(?:/[^\s\"'<>|,;)\]]*)?")
_MOST_LINE = 4096


class LogLink(NamedTuple):
    """A place in a file of the run's code, or in a bucket."""

    begin: int
    end: int
    path: str
    line: int
    """0: no file of code."""


def links_in(words: str) -> list[LogLink]:
    words = words[:_MOST_LINE]
    found = [LogLink(*one.span(), one[1], int(one[2][:9])) for one in _SOURCE.finditer(words)]
    return found + [LogLink(*one.span(), one[0].rstrip("."), 0) for one in _PLACE.finditer(words)]


class RowMarks:
    """Later ones go over those before."""

    def __init__(self, feed: LogFeed, theme: Theme) -> None:
        self._feed, self._theme = feed, theme
        self.use_theme()

    def use_theme(self) -> None:
        is_dark = self._theme.color("sunken").lightness() < 128
        text = self._theme.color("text")
        self._grounds = [_on(QColor(pair[is_dark]), text) for pair in GROUND_COLORS]
        self._hit = _on(self._theme.color("warn_soft").darker(112), self._theme.color("text"))
        self._hit.setFontUnderline(True)
        self._link = QTextCharFormat()
        self._link.setForeground(self._theme.color("link"))
        self._link.setFontUnderline(True)

    def of(self, row: LogRow) -> list[tuple[int, int, QTextCharFormat]]:
        parts = [(link.begin, link.end, self._link) for link in links_in(row.words)]
        lower = row.words.lower()
        for place, wanted in enumerate(self._feed.look.state.highlights):
            word, at = wanted.lower(), -1
            while len(lower) == len(row.words) and (at := lower.find(word, at + 1)) >= 0:
                parts.append((at, at + len(word), self._grounds[place % len(self._grounds)]))
        return parts + [(begin, end, self._hit) for begin, end in self._feed.search.spans(row)]


def _on(ground: QColor, text: QColor) -> QTextCharFormat:
    look = QTextCharFormat()
    look.setBackground(ground)
    look.setForeground(readable(text, ground))
    return look
