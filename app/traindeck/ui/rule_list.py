"""Rules to choose one from, to add to and to take away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QListWidget, QListWidgetItem, QPushButton, QVBoxLayout, QWidget

from traindeck.domain.texts import say
from traindeck.ui.theme import HALF, ROW, SPACE, Theme, set_role

_MOST_SHOWN = 6


class _Lines(QListWidget):
    delete_wanted = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.delete_wanted.emit()
        else:
            super().keyPressEvent(event)


class RuleList(QWidget):
    """One line for each rule; those with a mistake are marked."""

    picked = Signal(int)
    """-1: there is none."""
    add_wanted = Signal()
    remove_wanted = Signal(int)

    def __init__(self, theme: Theme, name: str, empty: str) -> None:
        super().__init__()
        self._theme = theme
        self.lines = _Lines()
        self.lines.setAccessibleName(name)
        self.lines.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.lines.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        set_role(self.lines, "rules")
        self.empty = QLabel(empty)
        self.empty.setWordWrap(True)
        set_role(self.empty, "dim")
        self.add, self.remove = QPushButton(say("Add rule")), QPushButton(say("Remove rule"))
        for button in (self.add, self.remove):
            button.setAutoDefault(False)
        buttons = QHBoxLayout()
        buttons.setSpacing(SPACE)
        buttons.addWidget(self.add)
        buttons.addWidget(self.remove)
        buttons.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(HALF + HALF)
        layout.addWidget(self.empty)
        layout.addWidget(self.lines)
        layout.addLayout(buttons)
        self.lines.currentRowChanged.connect(self.picked)
        self.lines.delete_wanted.connect(self._remove)
        self.add.clicked.connect(self.add_wanted)
        self.remove.clicked.connect(self._remove)
        self.show_rules((), {})

    @property
    def row(self) -> int:
        return self.lines.currentRow()

    def show_rules(self, lines: Sequence[str], wrong: Mapping[int, str], row: int | None = None) -> None:
        """`row` is the one to choose; without it the choice stays."""
        wanted = self.row if row is None else row
        self.lines.blockSignals(True)
        while self.lines.count() > len(lines):
            self.lines.takeItem(self.lines.count() - 1)
        for at, words in enumerate(lines):
            item = self.lines.item(at) if at < self.lines.count() else QListWidgetItem(self.lines)
            item.setText(words)
            item.setSizeHint(QSize(0, ROW))
            item.setToolTip(wrong.get(at, words))
            item.setForeground(self._theme.color("bad" if at in wrong else "text"))
        wanted = min(max(wanted, 0), len(lines) - 1)
        is_other = wanted != self.lines.currentRow() or row is not None
        self.lines.setCurrentRow(wanted)
        self.lines.blockSignals(False)
        self.lines.setFixedHeight(min(len(lines), _MOST_SHOWN) * ROW + 4)
        self.lines.setVisible(bool(lines))
        self.empty.setVisible(not lines)
        self.remove.setEnabled(bool(lines))
        if is_other:
            self.picked.emit(wanted)

    def _remove(self) -> None:
        if self.row >= 0:
            self.remove_wanted.emit(self.row)
