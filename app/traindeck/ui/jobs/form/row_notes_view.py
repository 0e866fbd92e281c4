"""What is said of the rows of a field, a line each, with the ways out of what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from traindeck.domain.texts import Text, say
from traindeck.ui.kit.cards import ElidedButton
from traindeck.ui.kit.layouts import column_of, take_out
from traindeck.ui.kit.property_page import sentence
from traindeck.ui.kit.theme import HALF, SPACE, set_role
from traindeck.viewmodels.ports import Tone

_ROLES = {Tone.QUIET: "small", Tone.DOUBTFUL: "warn", Tone.BAD: "error"}


class RowRemedy(Protocol):
    """One way out."""

    @property
    def words(self) -> Text: ...


class RowNote(Protocol):
    """What is said; `row` is the name of the row it is about."""

    @property
    def row(self) -> str: ...
    @property
    def words(self) -> Text: ...
    @property
    def tone(self) -> Tone: ...
    @property
    def remedies(self) -> Sequence[RowRemedy]: ...


class RowNotesView(QWidget):
    """Below the field; gone while there is nothing to say."""

    def __init__(self, take: Callable[[Any, Any], None]) -> None:
        super().__init__()
        self._take = take
        self._notes: list[RowNote] = []
        self._lines: list[QWidget] = []
        self._column = column_of(inside=self, margins=0, spacing=HALF)
        self.hide()

    def show_notes(self, notes: Sequence[RowNote]) -> None:
        if list(notes) == self._notes:
            return
        self._notes = list(notes)
        take_out(self._lines)
        for note in self._notes:
            self._add(note)
        self.setVisible(bool(self._notes))

    def _add(self, note: RowNote) -> None:
        words = say("{row}: {problem}", row=note.row, problem=note.words) if note.row else say(note.words)
        said = sentence(words, _ROLES[note.tone])
        said.setMinimumWidth(4 * SPACE)  # the longest name must not decide how wide the form is
        self._column.addWidget(said)
        self._lines.append(said)
        for remedy in note.remedies:
            button = ElidedButton(say(remedy.words))
            set_role(button, "link")
            button.clicked.connect(partial(self._go, note, remedy))
            self._column.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)
            self._lines.append(button)

    def _go(self, note: RowNote, remedy: RowRemedy, *_: bool) -> None:
        self._take(note, remedy)
