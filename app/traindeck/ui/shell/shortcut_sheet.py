"""All keys at a glance, in the order of the menus, in two columns; a field looks for one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QGridLayout, QLabel, QLineEdit, QVBoxLayout, QWidget

from traindeck.domain.texts import say
from traindeck.ui.kit.context_menu import keys_words
from traindeck.ui.kit.dialogs import closing
from traindeck.ui.kit.layouts import column_of, label, row_of, scrolling
from traindeck.ui.kit.theme import HALF, SPACE
from traindeck.ui.shell.menus import menu_titles
from traindeck.viewmodels.shell.commands import Command, Commands, without_mnemonic


@dataclass(frozen=True, slots=True)
class _Line:
    words: str
    keys: str
    widgets: tuple[QWidget, QWidget]


class ShortcutSheet(QDialog):
    """Made from the commands themselves, so that none is forgotten."""

    def __init__(self, commands: Commands, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(say("Keyboard shortcuts"))
        self.search = QLineEdit()
        self.search.setPlaceholderText(say("Search for a command or a key"))
        self.search.setAccessibleName(say("Search for a command or a key"))
        self.search.setClearButtonEnabled(True)
        self._groups: list[tuple[QWidget, list[_Line]]] = []
        for menu, title in menu_titles().items():
            if lines := [_line(one.plain_title, one.shortcut) for one in commands.all() if _is_in(one, menu)]:
                self._groups.append((_group(without_mnemonic(title), lines), lines))
        self.none = label(say("No matching shortcut."), "dim")
        self.none.hide()
        sheet = QWidget()
        column_of(self.none, row_of(*_columns(self._groups), spacing=5 * SPACE), 1, inside=sheet)
        area = scrolling(sheet)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setMinimumWidth(sheet.sizeHint().width() + 3 * SPACE)
        buttons, _ = closing(self, say("Close"))
        column_of(self.search, (area, 1), buttons, inside=self, margins=2 * SPACE, spacing=SPACE)
        self.search.textChanged.connect(self._filter)
        self.search.setFocus()
        self.resize(self.sizeHint().width(), min(parent.height() - 10 * SPACE, 80 * SPACE))

    @property
    def lines(self) -> list[tuple[str, str]]:
        """Those in sight."""
        every = (line for group, lines in self._groups for line in lines if not group.isHidden())
        return [(line.words, line.keys) for line in every if not line.widgets[0].isHidden()]

    def _filter(self, typed: str) -> None:
        words = typed.casefold().split()
        for group, lines in self._groups:
            for line in lines:
                said = f"{line.words} {line.keys}".casefold()
                for widget in line.widgets:
                    widget.setVisible(all(word in said for word in words))
            group.setVisible(any(not line.widgets[0].isHidden() for line in lines))
        self.none.setVisible(not self.lines)


def _is_in(command: Command, menu: str) -> bool:
    return command.menu == menu and bool(command.shortcut)


def _line(title: str, shortcut: str) -> _Line:
    words, keys = title.rstrip("…"), keys_words(shortcut)
    return _Line(words, keys, (QLabel(words), label(keys, "key")))


def _group(title: str, lines: Sequence[_Line]) -> QWidget:
    box = QWidget()
    grid = QGridLayout(box)
    grid.setContentsMargins(0, 0, 0, 2 * SPACE)
    grid.setHorizontalSpacing(3 * SPACE)
    grid.setVerticalSpacing(HALF)
    grid.addWidget(label(title, "heading"), 0, 0, 1, 2)
    for row, line in enumerate(lines, start=1):
        grid.addWidget(line.widgets[0], row, 0)
        grid.addWidget(line.widgets[1], row, 1, Qt.AlignmentFlag.AlignRight)
    grid.setColumnStretch(0, 1)
    return box


def _columns(groups: Sequence[tuple[QWidget, list[_Line]]]) -> list[QVBoxLayout]:
    """Two of nearly the same height; a group is never torn."""
    half = sum(len(lines) + 2 for _, lines in groups) / 2
    left: list[QWidget] = []
    height = 0
    for group, lines in groups:
        if height + (len(lines) + 2) / 2 > half:
            break
        left.append(group)
        height += len(lines) + 2
    right = [group for group, _ in groups[len(left) :]]
    return [column_of(*left, 1, spacing=0), column_of(*right, 1, spacing=0)]
