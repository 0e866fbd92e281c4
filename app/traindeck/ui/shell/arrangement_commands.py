"""The arrangements of the docks in the View menu: ours, those of the user, and how it was at first."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QDialog, QWidget

from traindeck.domain.errors import InvalidInput
from traindeck.domain.texts import say, text
from traindeck.ui.kit.cards import push_button
from traindeck.ui.kit.dialogs import DIALOG_MARGINS, agreed, asked_line, closing
from traindeck.ui.kit.layouts import column_of
from traindeck.ui.kit.tables import RowList
from traindeck.ui.kit.theme import SPACE
from traindeck.ui.shell.arrangements import Arrangements
from traindeck.ui.shell.main_window import MainWindow
from traindeck.viewmodels.ports import Tasks
from traindeck.viewmodels.shell.commands import Command, always

_LONGEST = 40
_OWN = "view.arrangement.own."


class ArrangementCommands(QObject):
    """Keeps those of the user among the commands of the window."""

    def __init__(self, window: MainWindow, tasks: Tasks) -> None:
        super().__init__(window)
        self._window = window
        self._tasks = tasks
        self._offered: list[str] = []
        window.arrangements.changed.connect(self._offer_own)

    def all(self) -> list[Command]:
        window, arrangements = self._window, self._window.arrangements
        ours = [one for one in arrangements.named.values() if one.title]
        return [
            Command(
                "view.maximize", say("Ma&ximize panel"), window.toggle_whole, shortcut="F11", menu="view", group=2,
                checked=lambda: arrangements.is_whole,
            ),
            *(
                _in_submenu(f"view.arrangement.{one.id}", one.title, partial(arrangements.apply, one.id))
                for one in ours
            ),
            *self._tail(),
        ]  # fmt: skip

    def _tail(self) -> list[Command]:
        arrangements = self._window.arrangements
        self._offered = arrangements.own()
        return [
            *(
                _in_submenu(_OWN + name, name.replace("&", "&&"), partial(arrangements.apply_own, name))
                for name in self._offered
            ),
            _in_submenu("view.arrangement.save", say("&Save as…"), self._ask_name),
            _in_submenu("view.arrangement.manage", say("&Manage…"), self._manage, lambda: bool(arrangements.own())),
            _in_submenu("view.reset_layout", say("&Reset"), self._window.reset_layout),
        ]

    def _offer_own(self) -> None:
        names, commands = self._window.arrangements.own(), self._window.commands
        if names != self._offered:
            fixed = ("view.arrangement.save", "view.arrangement.manage", "view.reset_layout")
            commands.remove([*(_OWN + name for name in self._offered), *fixed])
            commands.add(*self._tail())

    def _ask_name(self) -> None:
        self._tasks.start("save an arrangement", self._save)

    async def _save(self) -> None:
        arrangements = self._window.arrangements
        title, question = say("Save the arrangement"), say("Name")
        name = await asked_line(self._window, title, question, say("Save"), "", check_name)
        if name is None:
            return
        name = name.strip()
        if name in arrangements.own():
            ask = say("Replace the arrangement “{name}”?", name=name)
            if not await agreed(self._window, ask, "", say("Replace"), "primary"):
                return
        arrangements.save_as(name)

    def _manage(self) -> None:
        ArrangementsDialog(self._window.arrangements, self._tasks, self._window).open()


class ArrangementsDialog(QDialog):
    """Those of the user: rename or delete them."""

    def __init__(self, arrangements: Arrangements, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self._arrangements = arrangements
        self._tasks = tasks
        self.setWindowTitle(say("Arrangements"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumWidth(45 * SPACE)
        self.list = RowList()
        self.list.setAccessibleName(say("Your arrangements"))
        self.rename = push_button(say("&Rename…"), self._ask_rename)
        self.remove = push_button(say("&Delete…"), self._ask_remove, "danger")
        buttons, _ = closing(self, say("Close"), self.rename, self.remove)
        column_of(self.list, buttons, inside=self, margins=DIALOG_MARGINS, spacing=2 * SPACE)
        self.list.currentRowChanged.connect(self._on_row)
        arrangements.changed.connect(self._fill)
        self._fill()

    def _fill(self) -> None:
        names, row = self._arrangements.own(), self.list.currentRow()
        self.list.clear()
        self.list.addItems(names)
        self.list.setCurrentRow(min(max(0, row), len(names) - 1))
        self._on_row()

    def _on_row(self, *_: int) -> None:
        for button in (self.rename, self.remove):
            button.setEnabled(self.list.currentItem() is not None)

    def _ask_rename(self) -> None:
        self._tasks.start("rename an arrangement", partial(self._rename, self.list.currentItem().text()))

    async def _rename(self, name: str) -> None:
        taken = [other for other in self._arrangements.own() if other != name]

        def check(new: str) -> None:
            check_name(new, taken)

        new = await asked_line(self, say("Rename the arrangement"), say("Name"), say("Rename"), name, check)
        if new is not None:
            self._arrangements.rename(name, new.strip())

    def _ask_remove(self) -> None:
        self._tasks.start("delete an arrangement", partial(self._remove, self.list.currentItem().text()))

    async def _remove(self, name: str) -> None:
        if await agreed(self, say("Delete the arrangement “{name}”?", name=name), "", say("Delete")):
            self._arrangements.remove(name)


def check_name(name: str, taken: Collection[str] = ()) -> None:
    name = name.strip()
    if not name or len(name) > _LONGEST or not name.isprintable():
        raise InvalidInput(text("This name cannot be used."), text("Enter up to 40 characters."))
    if name in taken:
        raise InvalidInput(text("This name is already in use."), text("Enter another one."))


def full_screen_keys() -> str:
    """Those of the platform, where F11 is not among them: that is for a panel."""
    known = QKeySequence.keyBindings(QKeySequence.StandardKey.FullScreen)
    free = [keys.toString() for keys in known if keys.toString() != "F11"]
    return free[0] if free else "Shift+F11"


def _in_submenu(
    command_id: str, title: str, run: Callable[[], object], enabled: Callable[[], bool] = always
) -> Command:
    return Command(command_id, title, run, enabled, menu="view", group=2, submenu=say("&Arrangement"))
