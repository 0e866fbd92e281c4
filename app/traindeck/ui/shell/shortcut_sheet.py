"""All keys at a glance: those of the window, and those of the page in front."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QGridLayout, QLabel, QWidget

from traindeck.domain.texts import say
from traindeck.ui.kit.context_menu import keys_words
from traindeck.ui.kit.dialogs import closing
from traindeck.ui.kit.layouts import column_of, label, scrolling
from traindeck.ui.kit.theme import SPACE
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
            grid.addWidget(label(heading, "heading"), grid.rowCount(), 0, 1, 2)
            for command in source.all():
                if keys := keys_words(command.shortcut):
                    words = command.plain_title.rstrip("…")
                    self.lines.append((words, keys))
                    row = grid.rowCount()
                    grid.addWidget(QLabel(words), row, 0)
                    grid.addWidget(label(keys, "dim", copies=True), row, 1)
        grid.setRowStretch(grid.rowCount(), 1)
        area = scrolling(sheet)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setMinimumWidth(sheet.sizeHint().width() + 3 * SPACE)
        buttons, _ = closing(self, say("Close"))
        column_of((area, 1), buttons, inside=self, margins=2 * SPACE)
        self.resize(self.sizeHint().width(), min(parent.height() - 10 * SPACE, 70 * SPACE))
