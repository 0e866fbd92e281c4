"""How one text differs from another: its lines beside each other, or one below the other where there is less room."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QSplitter, QStackedWidget

from traindeck.domain.diff_rows import changes_at, one_below_the_other, side_by_side
from traindeck.domain.texts import say
from traindeck.ui.kit.cards import EmptyPage
from traindeck.ui.kit.diff_text import DiffText
from traindeck.ui.kit.theme import SPACE, Theme

_BESIDE = 88 * SPACE
"""A page that is narrower shows the lines one below the other."""


class DifferenceView(QStackedWidget):
    room_changed = Signal(bool)
    """Whether there is room for both sides beside each other."""

    def __init__(self, theme: Theme, width: int = _BESIDE) -> None:
        """`width`: so wide the window around it has to be for both sides."""
        super().__init__()
        self._needed = width
        self._lines: Sequence[str] = ()
        self._changes: list[int] = []
        self._is_unified = False
        self._has_room = True
        self.left = DiffText("left", say("Lines before"), theme)
        self.right = DiffText("right", say("Lines after"), theme)
        self.both = DiffText("both", say("Lines that differ"), theme)
        self._join(self.left, self.right)
        self._join(self.right, self.left)
        self.beside = QSplitter()
        self.beside.setChildrenCollapsible(False)
        self.beside.addWidget(self.left)
        self.beside.addWidget(self.right)
        self.empty = EmptyPage("", "")
        for part in (self.empty, self.beside, self.both):
            self.addWidget(part)

    @property
    def has_room(self) -> bool:
        return self._has_room

    def show_lines(self, lines: Sequence[str]) -> None:
        """Of a unified diff, its first difference in sight."""
        self._lines = lines
        is_unified = self._is_unified or not self._has_room
        rows = one_below_the_other(lines) if is_unified else side_by_side(lines)
        self._changes = changes_at(rows)
        if is_unified:
            self.both.show_rows(rows)
        else:
            self.left.show_rows(rows)
            self.right.show_rows(rows)
        self.setCurrentWidget(self.both if is_unified else self.beside)
        if self._changes:
            self._go_to(self._changes[0])

    def say(self, title: str, hint: str) -> None:
        """In the place of lines."""
        self._lines, self._changes = (), []
        self.empty.say(title, hint)
        self.setCurrentWidget(self.empty)

    def unify(self, is_wanted: bool) -> None:
        self._is_unified = is_wanted
        self._show_again()

    def use_room(self, width: int) -> None:
        """So wide is what it stands in."""
        has_room = width >= self._needed
        if has_room != self._has_room:
            self._has_room = has_room
            self.room_changed.emit(has_room)
            self._show_again()

    def step(self, by: int) -> bool:
        """To the next difference; False: there is no further one."""
        shown = self.both if self.currentWidget() is self.both else self.left
        here = shown.current()
        further = [at for at in self._changes if (at > here if by > 0 else at < here)]
        if further:
            self._go_to(further[0] if by > 0 else further[-1])
        return bool(further)

    def _show_again(self) -> None:
        if self._lines:
            self.show_lines(self._lines)

    def _go_to(self, number: int) -> None:
        for part in (self.left, self.right, self.both):
            part.go_to(number)

    def _join(self, one: DiffText, other: DiffText) -> None:
        """They are scrolled together."""
        one.verticalScrollBar().valueChanged.connect(other.verticalScrollBar().setValue)
        one.horizontalScrollBar().valueChanged.connect(other.horizontalScrollBar().setValue)
