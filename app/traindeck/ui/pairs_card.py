"""A card with names and values to edit, what is wrong with them, and how much room they take."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from traindeck.domain.texts import Text, say, text
from traindeck.ui.cards import card, plain
from traindeck.ui.rows_editor import PairTable
from traindeck.ui.theme import Theme, set_role
from traindeck.viewmodels.form_values import Rows

Check = Callable[[str, str], Text | None]
"""What is wrong with this name and value."""


class PairsCard(QWidget):
    """Rows as typed; `values` is what they come to."""

    edited = Signal()

    def __init__(self, title: str, value_title: str, hint: str, check: Check, theme: Theme) -> None:
        super().__init__()
        self._check = check
        self._problem: Text | None = None
        self._rows: Rows = ()
        self.table = PairTable(theme, title, value_title)
        self.table.rows_edited.connect(self._on_edited)
        self.table.pasted.connect(self._on_pasted)
        self.problem_label = QLabel()
        self.problem_label.setWordWrap(True)
        set_role(self.problem_label, "error")
        self.problem_label.hide()
        self.note = plain("small")
        self.note.setText(hint)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(card(title, [self.table, self.problem_label, self.note]))

    @property
    def values(self) -> dict[str, str]:
        return {name.strip(): value.strip() for name, value in self._rows if name.strip()}

    @property
    def problem(self) -> Text | None:
        return self._problem

    def show_values(self, values: Mapping[str, str]) -> None:
        self._become(tuple(sorted(values.items())))

    def show_note(self, words: str) -> None:
        self.note.setText(words)

    def _on_edited(self, rows: Rows) -> None:
        self._become(rows)
        self.edited.emit()

    def _on_pasted(self, words: str) -> None:
        found = [line.partition("=") for line in words.replace(";", "\n").splitlines() if "=" in line]
        pasted = {name.strip(): value.strip() for name, _, value in found if name.strip()}
        if pasted:
            self._on_edited(tuple({**dict(self._rows), **pasted}.items()))

    def _become(self, rows: Rows) -> None:
        self._rows = rows
        wrong = self._wrong()
        self._problem = next(iter(wrong.values()), None)
        self.table.pairs.show(rows, wrong)
        self.problem_label.setText(say(self._problem) if self._problem else "")
        self.problem_label.setVisible(self._problem is not None)

    def _wrong(self) -> dict[str, Text]:
        found: dict[str, Text] = {}
        seen: set[str] = set()
        for name, value in self._rows:
            name = name.strip()
            problem = self._check(name, value.strip()) if name or value.strip() else None
            if name in seen:
                problem = text("The name “{name}” is there twice.", name=name)
            seen.add(name)
            if problem is not None:
                found.setdefault(name, problem)
        return found
