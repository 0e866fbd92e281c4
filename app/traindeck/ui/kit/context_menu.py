"""Context menus, made from the commands that name them, and what all menus have in common."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import partial
from itertools import groupby
from operator import attrgetter

from PySide6.QtCore import QObject, QRectF, Qt
from PySide6.QtGui import QContextMenuEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QAbstractItemView, QApplication, QMenu, QWidget

from traindeck.ui.kit.theme import Theme
from traindeck.viewmodels.shell.commands import Command, Commands
from traindeck.viewmodels.shell.mnemonics import with_mnemonics


def keys_of(shortcut: str) -> list[QKeySequence]:
    """Return stands for Enter, too."""
    keys = [shortcut] if shortcut else []
    if shortcut.endswith("Return"):
        keys.append(shortcut.removesuffix("Return") + "Enter")
    return [QKeySequence(one) for one in keys]


def keys_words(shortcut: str) -> str:
    """The keys as this system names them."""
    return QKeySequence(shortcut).toString(QKeySequence.SequenceFormat.NativeText)


def in_groups(members: Iterable[Command]) -> list[list[Command]]:
    """Those of one menu; a line parts two groups."""
    group_of = attrgetter("group")
    return [list(group) for _, group in groupby(sorted(members, key=group_of), group_of)]


def letter_entries(menu: QMenu) -> None:
    """Give every entry a letter of its own."""
    entries = [action for action in menu.actions() if not action.isSeparator()]
    parts = [action.text().partition("\t") for action in entries]
    titles = with_mnemonics([title for title, _, _ in parts])
    for action, title, (_, tab, keys) in zip(entries, titles, parts, strict=True):
        action.setText(f"{title}{tab}{keys}")


def context_menu(commands: Commands, context: str, theme: Theme, parent: QWidget) -> QMenu:
    """What can be done with what is selected."""
    return menu_of((command for command in commands.all() if context in command.contexts), theme, parent)


def menu_of(members: Iterable[Command], theme: Theme, parent: QWidget) -> QMenu:
    """These commands, a line between two groups; it goes when it is closed."""
    menu = QMenu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    menu.setToolTipsVisible(True)
    for group in in_groups(members):
        if menu.actions():
            menu.addSeparator()
        for command in group:
            # The key is shown, not registered: it is that of the window's own action.
            keys = keys_words(command.shortcut)
            action = menu.addAction(f"{command.title}\t{keys}" if keys else command.title)
            if command.icon:
                action.setIcon(theme.icon(command.icon))
            action.setEnabled(command.enabled())
            action.setToolTip(command.why_not())
            if command.checked is not None:
                action.setCheckable(True)
                action.setChecked(command.checked())
            action.triggered.connect(partial(_run, command))
    letter_entries(menu)
    return menu


class MenuKey(QObject):
    """Shift+F10 opens the context menu of what has the keyboard, in every window; on X11 Qt leaves it out."""

    KEYS = "Shift+F10"

    def __init__(self, application: QApplication) -> None:
        super().__init__(application)
        if sys.platform.startswith("linux"):
            application.focusWindowChanged.connect(self._give)

    def _give(self, *_: object) -> None:
        window = QApplication.activeWindow()
        direct = Qt.FindChildOption.FindDirectChildrenOnly
        if window is not None and window.findChild(QShortcut, self.KEYS, direct) is None:
            shortcut = QShortcut(QKeySequence(self.KEYS), window, autoRepeat=False)
            shortcut.setObjectName(self.KEYS)
            shortcut.activated.connect(_open_at_focus)


def _open_at_focus() -> None:
    widget = QApplication.focusWidget()
    if widget is None:
        return
    if isinstance(widget, QAbstractItemView) and widget.currentIndex().isValid():
        widget.scrollTo(widget.currentIndex())
    place = QRectF(widget.inputMethodQuery(Qt.InputMethodQuery.ImCursorRectangle)).center().toPoint()
    wanted = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, place, widget.mapToGlobal(place))
    QApplication.sendEvent(widget, wanted)


def _run(command: Command, *_: bool) -> None:
    command.run_if_able()
