"""Where the hour went: one bar, a piece for each phase of a run."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from traindeck.domain.jobs.job import duration_words
from traindeck.domain.readings.phases import PHASE_WORDS, PhaseTime
from traindeck.domain.texts import say
from traindeck.ui.kit.cards import plain
from traindeck.ui.kit.layouts import column_of
from traindeck.ui.kit.theme import HALF, SPACE, Theme

_INKS = {
    "queue": "border_strong", "code": "accent", "data": "warn", "packages": "dim", "training": "good", "upload": "link",
}  # fmt: skip
_HEIGHT = 14
_LEAST = 3.0


class PhaseBar(QWidget):
    """With the same in words below it."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._times: Sequence[PhaseTime] = ()
        self.words = plain("dim")
        self.bar = _Bar(self)
        column_of(self.bar, self.words, inside=self, margins=0, spacing=HALF)
        theme.changed.connect(self.bar.update)

    def show_times(self, times: Sequence[PhaseTime]) -> None:
        if times == self._times:
            return
        self._times = times
        parts = [f"{say(PHASE_WORDS[one.name])} {_words(one.seconds)}{'' if one.is_over else ' …'}" for one in times]
        self.words.setText(" · ".join(parts))
        self.bar.setAccessibleDescription(self.words.text())
        self.bar.update()

    def paint_on(self, painter: QPainter, room: QRectF) -> None:
        total = sum(one.seconds for one in self._times) or 1.0
        # Each can be seen, and all have room.
        free = max(0.0, room.width() - (_LEAST + 1) * len(self._times))
        left = room.left()
        for one in self._times:
            width = _LEAST + free * one.seconds / total
            painter.fillRect(QRectF(left, room.top(), width, room.height()), self._theme.color(_INKS[one.name]))
            left += width + 1


def _words(seconds: float) -> str:
    return duration_words(seconds) if seconds >= 10 else f"{seconds:.1f} s"


class _Bar(QWidget):
    def __init__(self, owner: PhaseBar) -> None:
        super().__init__()
        self._owner = owner
        self.setAccessibleName(say("Where the time went"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    def sizeHint(self) -> QSize:
        return QSize(20 * SPACE, _HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self._owner.paint_on(painter, QRectF(self.rect()))
        painter.end()
