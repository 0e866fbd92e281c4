"""All keys at a glance: those of the window, and those of the page in front."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFrame,
    QGridLayout,
    QLabel,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from traindeck.domain.texts import say
from traindeck.ui.kit.theme import SPACE, set_role
from traindeck.viewmodels.shell.commands import Commands


class ShortcutSheet(QDialog):
    """Made from the commands themselves, so that none is forgotten."""

    def __init__(self, commands: Sequence[Commands], parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(say("Keyboard shortcuts"))
        sheet = QWidget()
        grid = QGridLayout(sheet)
        grid.setHorizontalSpacing(4 * SPACE)
        grid.setVerticalSpacing(SPACE)
        self.lines: list[tuple[str, str]] = []
        for source, heading in zip(commands, (say("Everywhere"), say("In the page in front")), strict=False):
            title = QLabel(heading)
            set_role(title, "heading")
            grid.addWidget(title, grid.rowCount(), 0, 1, 2)
            for command in source.all():
                if command.shortcut:
                    keys = QKeySequence(command.shortcut).toString(QKeySequence.SequenceFormat.NativeText)
                    self._add(grid, command.plain_title.rstrip("…"), keys)
        grid.setRowStretch(grid.rowCount(), 1)
        area = QScrollArea()
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidgetResizable(True)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(sheet)
        area.setMinimumWidth(sheet.sizeHint().width() + 3 * SPACE)
        buttons = QDialogButtonBox()
        buttons.addButton(say("Close"), QDialogButtonBox.ButtonRole.RejectRole)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(2 * SPACE, 2 * SPACE, 2 * SPACE, 2 * SPACE)
        layout.addWidget(area, 1)
        layout.addWidget(buttons)
        self.resize(self.sizeHint().width(), min(parent.height() - 10 * SPACE, 70 * SPACE))

    def _add(self, grid: QGridLayout, words: str, keys: str) -> None:
        row = grid.rowCount()
        label = QLabel(keys)
        set_role(label, "dim")
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        grid.addWidget(QLabel(words), row, 0)
        grid.addWidget(label, row, 1)
        self.lines.append((words, keys))
