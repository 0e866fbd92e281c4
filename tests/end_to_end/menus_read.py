"""What stands in the menus, in both languages."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from hands import Hands, plain, tell
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QMenu, QMenuBar

from traindeck.ui.kit.context_menu import keys_words
from traindeck.ui.shell.main_window import MainWindow
from traindeck.ui.shell.menus import menu_titles
from traindeck.ui.shell.shortcut_sheet import ShortcutSheet
from traindeck.viewmodels.shell.commands import Commands
from traindeck.viewmodels.shell.finding import Finder, command_entries


async def read_the_menus(hands: Hands) -> None:
    """What stands where, in both languages; then the palette is used by somebody outside."""
    tell("window", id=int(hands.window.winId()))
    for language in ("en", "zh_CN"):
        window = hands.window
        commands = [
            {"id": one.id, "menu": one.menu, "contexts": list(one.contexts), "keys": one.shortcut, "scope": one.scope}
            for one in window.commands.all()
        ]
        await asyncio.sleep(0)
        on_sheet = _on_sheet(window)
        await asyncio.sleep(0)  # the window answers between them
        in_bar = {
            action.objectName().removeprefix("action."): plain(action.text()) for action in _actions(window.menuBar())
        }
        tips = {
            action.objectName().removeprefix("action."): action.toolTip() for action in window.menus.toolbar.actions()
        }
        tell(
            "menus", commands=commands, menus=_entries(window.menuBar()), in_bar=in_bar, tips=tips,
            in_palette=_in_palette(window.commands), on_sheet=on_sheet,
        )  # fmt: skip
        hands.program.models.preferences.choose_language("zh_CN" if language == "en" else "en")
        await hands.until(lambda window=window: hands.window is not window and hands.window.is_painted)
    tell("window", id=int(hands.window.winId()))
    await hands.until(hands.window.isActiveWindow)
    await hands.until(lambda: hands.window.commands.all())
    tell("palette wanted")
    await hands.until(lambda: hands.program.theme.chosen == "dark")
    await (await hands.program.core.connections.open("lab")).storage.create_bucket("read")
    buckets = hands.panel("buckets")
    hands.program.models.storage.buckets.refresh()
    await hands.until(lambda: buckets.model.rowCount() == 1 and hands.window.isActiveWindow())
    buckets.rows.setFocus()
    await hands.until(buckets.rows.hasFocus)
    tell("menu key wanted")
    await hands.until(lambda: isinstance(QApplication.activePopupWidget(), QMenu))
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    tell("context menu", entries=[plain(action.text().partition("\t")[0]) for action in menu.actions()])
    await hands.press(Qt.Key.Key_Escape)
    await hands.until(lambda: QApplication.activePopupWidget() is None)
    tell("done")


def _actions(menu: QMenuBar | QMenu) -> Iterator[QAction]:
    for action in menu.actions():
        below = action.menu()
        if isinstance(below, QMenu):
            yield from _actions(below)
        elif not action.isSeparator():
            yield action


def _in_palette(commands: Commands) -> list[str]:
    """The ids of those that are found by what they are called."""
    finder = Finder(command_entries(commands, menu_titles()))
    titles = {one.id: one.plain_title.rstrip("…") for one in commands.all()}
    return [name for name, title in titles.items() if name in [entry.id for entry in finder.find(title)]]


def _on_sheet(window: MainWindow) -> list[str]:
    sheet = ShortcutSheet(window.commands, window)
    said = set(sheet.lines)
    sheet.deleteLater()
    every = window.commands.all()
    return [one.id for one in every if (one.plain_title.rstrip("…"), keys_words(one.shortcut)) in said]


def _entries(menu: QMenuBar | QMenu, where: str = "") -> dict[str, list[str]]:
    """The entries of each menu below this one."""
    actions = [action for action in menu.actions() if not action.isSeparator()]
    found = {where: [action.text() for action in actions]}
    for action in actions:
        if isinstance(below := action.menu(), QMenu):
            found |= _entries(below, f"{where}/{plain(action.text())}")
    return found
