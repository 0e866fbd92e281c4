"""What stands in the menus, in both languages."""

from __future__ import annotations

from hands import Hands, plain, tell
from PySide6.QtWidgets import QMenu, QMenuBar


async def read_the_menus(hands: Hands) -> None:
    """What stands where, in both languages; then the palette is used by somebody outside."""
    tell("window", id=int(hands.window.winId()))
    for language in ("en", "zh_CN"):
        window = hands.window
        commands = [
            {"id": one.id, "menu": one.menu, "contexts": list(one.contexts), "keys": one.shortcut, "scope": one.scope}
            for one in window.commands.all()
        ]
        tell("menus", commands=commands, menus=_entries(window.menuBar()))
        hands.program.models.preferences.choose_language("zh_CN" if language == "en" else "en")
        await hands.until(lambda window=window: hands.window is not window and hands.window.is_painted)
    tell("window", id=int(hands.window.winId()))
    await hands.until(hands.window.isActiveWindow)
    await hands.until(lambda: hands.window.commands.all())
    tell("palette wanted")
    await hands.until(lambda: hands.program.theme.chosen == "dark")
    tell("done")


def _entries(menu: QMenuBar | QMenu, where: str = "") -> dict[str, list[str]]:
    """The entries of each menu below this one."""
    actions = [action for action in menu.actions() if not action.isSeparator()]
    found = {where: [action.text() for action in actions]}
    for action in actions:
        if isinstance(below := action.menu(), QMenu):
            found |= _entries(below, f"{where}/{plain(action.text())}")
    return found
