"""A window around lists of objects, with the commands that act on them."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QMainWindow, QMenu, QSplitter

from traindeck.ui.kit.edits import REFRESH, edit_of
from traindeck.ui.kit.theme import Theme
from traindeck.ui.shell.edit_commands import edit_commands
from traindeck.ui.shell.menus import Menus
from traindeck.ui.storage.active_list import LIST, ROWS, ActiveList
from traindeck.ui.storage.list_commands import list_commands
from traindeck.ui.storage.object_list import ObjectList
from traindeck.viewmodels.shell.commands import Command, Commands


class ListHost(QMainWindow):
    """As the program's window has them; more commands come from the test."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.commands = Commands()
        self.menus = Menus(self, self.commands, theme, ())
        self.active = ActiveList(self.commands, theme)
        self.active.changed.connect(self.commands.refresh)
        self.splitter = QSplitter()
        self.setCentralWidget(self.splitter)
        self.commands.add(
            *edit_commands(), *list_commands(self.active), Command("view.refresh", "Refresh", _refresh, shortcut="F5")
        )

    def closeEvent(self, event: QCloseEvent) -> None:
        super().closeEvent(event)
        self.commands.remove([command.id for command in self.commands.all()])  # they hold on to what they act on

    def take(self, view: ObjectList, commands: Iterable[Command] = ()) -> None:
        self.splitter.addWidget(view)
        self.active.add(view)
        self.menus.give_keys(LIST, view)
        self.menus.give_keys(ROWS, view.rows)
        self.commands.add(*commands)

    def menu(self, view: ObjectList) -> QMenu:
        return self.active.menu(view)

    def offered(self, view: ObjectList) -> dict[str, bool]:
        """What its context menu holds, and whether that can be done."""
        menu = self.menu(view)
        found = {plain(action.text()): action.isEnabled() for action in menu.actions() if not action.isSeparator()}
        menu.deleteLater()
        return found


def _refresh() -> None:
    if (edit := edit_of(REFRESH)) is not None:
        edit.run()


def plain(entry: str) -> str:
    """An entry of a menu without its letter and its key."""
    return entry.partition("\t")[0].replace("&", "")
