"""Menus, toolbar and shortcuts of the window, made from the commands."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QObject, QSize, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMainWindow, QMenu, QSizePolicy, QToolBar, QWidget

from traindeck.domain.texts import say
from traindeck.ui.kit.context_menu import in_groups, keys_of, keys_words, letter_entries
from traindeck.ui.kit.theme import Theme
from traindeck.viewmodels.shell.commands import Command, Commands, without_mnemonic

SPACER = "-"
TOOLBAR_HEIGHT = 36


def menu_titles() -> dict[str, str]:
    """The menu bar, from left to right; a menu without commands is not shown."""
    return {
        "file": say("&File"),
        "edit": say("&Edit"),
        "account": say("&Account"),
        "storage": say("&Storage"),
        "job": say("&Job"),
        "run": say("&Run"),
        "view": say("&View"),
        "help": say("&Help"),
    }


class Menus(QObject):
    """Keeps the window's actions true to the commands."""

    def __init__(self, window: QMainWindow, commands: Commands, theme: Theme, toolbar: Sequence[str]) -> None:
        super().__init__(window)
        self._window = window
        self._commands = commands
        self._theme = theme
        self._wanted = toolbar
        self._panels: list[tuple[str, QWidget]] = []
        self.actions: dict[str, QAction] = {}
        self._built: tuple[str, ...] | None = None
        self.toolbar = QToolBar(say("Toolbar"), window)
        self.toolbar.setObjectName("toolbar.main")
        self.toolbar.setMovable(False)
        self.toolbar.setIconSize(QSize(18, 18))
        self.toolbar.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.toolbar.setMinimumHeight(TOOLBAR_HEIGHT)  # also before there are commands in it
        self.toolbar.toggleViewAction().setEnabled(False)
        window.addToolBar(self.toolbar)
        commands.changed.connect(self._refresh)
        theme.changed.connect(self._paint)
        self._refresh()

    def give_keys(self, scope: str, panel: QWidget) -> None:
        """While the focus is in `panel`, the keys of the commands of this scope count."""
        entry = (scope, panel)
        self._panels.append(entry)

        def forget() -> None:
            self._panels = [other for other in self._panels if other is not entry]

        panel.destroyed.connect(forget)
        for command in self._commands.all():
            if command.scope == scope:
                panel.addAction(self.actions[command.id])

    def _refresh(self) -> None:
        ids = tuple(command.id for command in self._commands.all())
        if ids != self._built:
            self._build()
            self._built = ids
        for command in self._commands.all():
            # What depends on the focus or on a selected word changes without a word to us. So a key always gets
            # through, and is asked about when it comes; menus are asked when they open. This comes with every letter
            # that is typed into the form: nobody is asked who has no key, no button and no mark.
            is_button = command.id in self._wanted
            if is_button or command.shortcut or command.checked is not None:
                self._show(command, is_key_live=not is_button)

    def _show(self, command: Command, *, is_key_live: bool) -> None:
        action = self.actions[command.id]
        action.setEnabled(is_key_live or command.enabled())
        if command.checked is not None:
            action.setChecked(command.checked())

    def _build(self) -> None:
        for action in self.actions.values():
            action.setShortcuts([])  # until it is gone, its keys would be taken twice
            action.deleteLater()
        self.actions = {command.id: self._made(command) for command in self._commands.all()}
        bar = self._window.menuBar()
        bar.clear()
        if not self.actions:
            for title in menu_titles().values():
                bar.addMenu(title)  # the frame is in sight before its commands are there
        for menu_id, title in menu_titles().items():
            members = [command for command in self._commands.all() if command.menu == menu_id]
            if members:
                self._fill(bar.addMenu(title), in_groups(members))
        self._fill_toolbar()
        self._paint()

    def _made(self, command: Command) -> QAction:
        action = QAction(command.title, self._window)
        action.setObjectName(f"action.{command.id}")
        action.setIconVisibleInMenu(False)
        action.setAutoRepeat(False)  # a key held down means one thing once
        action.setMenuRole(QAction.MenuRole.NoRole)
        action.setShortcuts(keys_of(command.shortcut))
        action.setToolTip(self._tip(command))
        action.setIconText(without_mnemonic(command.title).rstrip("…"))
        action.setCheckable(command.checked is not None)
        action.triggered.connect(partial(_run, self._commands, command.id, action))
        if command.scope:
            action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            for scope, panel in self._panels:
                if scope == command.scope:
                    panel.addAction(action)
        else:
            self._window.addAction(action)  # its shortcut works without a menu, too
        return action

    def _fill(self, menu: QMenu, groups: list[list[Command]]) -> None:
        menu.setToolTipsVisible(True)
        submenus: dict[str, QMenu] = {}
        for group in groups:
            if menu.actions():
                menu.addSeparator()
            for command in group:
                place = menu
                if command.submenu:
                    place = submenus.get(command.submenu) or menu.addMenu(command.submenu)
                    place.setToolTipsVisible(True)
                    submenus[command.submenu] = place
                place.addAction(self.actions[command.id])
        for one in (menu, *submenus.values()):
            letter_entries(one)
        menu.aboutToShow.connect(partial(self._open, [command.id for group in groups for command in group]))
        menu.aboutToHide.connect(self._refresh)

    def _open(self, ids: Sequence[str]) -> None:
        """What can be done is asked when somebody looks, and why the rest cannot."""
        for command_id in ids:
            if command_id in self.actions:
                command = self._commands.get(command_id)
                self._show(command, is_key_live=False)
                self.actions[command_id].setToolTip(command.why_not() or self._tip(command))

    def _tip(self, command: Command) -> str:
        """Of what is a button; in a menu everything can be read."""
        if command.id not in self._wanted:
            return ""
        keys = keys_words(command.shortcut)
        return f"{command.plain_title} ({keys})" if keys else command.plain_title

    def _fill_toolbar(self) -> None:
        self.toolbar.clear()
        for command_id in self._wanted:
            if command_id == SPACER:
                spacer = QWidget(self.toolbar)
                spacer.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
                self.toolbar.addWidget(spacer)
            elif command_id in self.actions:
                self.toolbar.addAction(self.actions[command_id])

    def _paint(self) -> None:
        """In menus there are none, and each costs a drawing."""
        for command_id in self._wanted:
            if command_id in self.actions and (icon := self._commands.get(command_id).icon):
                self.actions[command_id].setIcon(self._theme.icon(icon))


def _run(commands: Commands, command_id: str, action: QAction, _checked: bool = False) -> None:
    commands.run(command_id)
    command = commands.get(command_id)
    if command.checked is not None:
        # Qt has turned it over by itself; what counts is what became of it.
        action.setChecked(command.checked())
