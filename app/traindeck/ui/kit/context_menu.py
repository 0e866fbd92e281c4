"""The context menu and the keys of what has commands of its own: a bucket's tab, the tree of buckets."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from itertools import groupby
from operator import attrgetter

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QMenu, QWidget

from traindeck.ui.kit.theme import Theme
from traindeck.viewmodels.shell.commands import CONTEXT, Command, Commands


def keys_words(shortcut: str) -> str:
    """The keys as this system names them."""
    return QKeySequence(shortcut).toString(QKeySequence.SequenceFormat.NativeText)


def in_groups(commands: Commands, menu: str) -> list[list[Command]]:
    """Those of one menu; a line parts two groups."""
    group_of = attrgetter("group")
    members = sorted((command for command in commands.all() if command.menu == menu), key=group_of)
    return [list(group) for _, group in groupby(members, group_of)]


def context_menu(commands: Commands, theme: Theme, parent: QWidget) -> QMenu:
    """What can be done with what is selected."""
    menu = QMenu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    for group in in_groups(commands, CONTEXT):
        if menu.actions():
            menu.addSeparator()
        for command in group:
            # The key is shown, not registered: what shows the menu acts on it.
            keys = keys_words(command.shortcut)
            action = menu.addAction(f"{command.title}\t{keys}" if keys else command.title)
            if command.icon:
                action.setIcon(theme.icon(command.icon))
            action.setEnabled(command.enabled())
            action.triggered.connect(partial(commands.run, command.id))
    return menu


class Keys:
    """The shortcuts of `commands` wherever in `widget` one is; `own` are those the widget acts on by itself."""

    def __init__(
        self,
        commands: Commands,
        widget: QWidget,
        own: Collection[str] = (),
        context: Qt.ShortcutContext = Qt.ShortcutContext.WidgetWithChildrenShortcut,
    ) -> None:
        self._commands = commands
        self._widget = widget
        self._own = own
        self._context = context
        self._bound: dict[str, QShortcut] = {}
        commands.changed.connect(self._bind)
        self._bind()

    def _bind(self) -> None:
        wanted = {keys: command_id for keys, command_id in self._commands.shortcuts().items() if keys not in self._own}
        for keys in [keys for keys in self._bound if keys not in wanted]:
            self._bound.pop(keys).deleteLater()
        for keys, command_id in wanted.items():
            if keys not in self._bound:
                shortcut = self._bound[keys] = QShortcut(QKeySequence(keys), self._widget)
                shortcut.setContext(self._context)
                shortcut.activated.connect(partial(self._commands.run, command_id))
