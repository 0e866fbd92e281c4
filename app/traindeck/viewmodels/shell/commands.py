"""What the user can ask for: one list feeds menus, context menus, shortcuts, the palette and the shortcut sheet."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

CONTEXT = "context"
"""The menu of a command that belongs into the context menu of what is shown."""


def always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Command:
    """One thing to ask for; `id` is English and stable."""

    id: str
    title: str  # translated; may hold a mnemonic (&) for its menu
    run: Callable[[], object]
    enabled: Callable[[], bool] = always
    shortcut: str = ""
    menu: str = ""  # id of the menu; empty: palette only
    group: int = 0  # a line parts two groups of a menu
    checked: Callable[[], bool] | None = None
    submenu: str = ""  # title of the submenu it stands in
    icon: str = ""
    scope: str = ""
    """Its key counts only while the panel of this name has the focus; empty: in the whole window."""

    @property
    def plain_title(self) -> str:
        """Without mnemonics; Chinese menus put theirs in brackets at the end."""
        title = without_mnemonic(self.title)
        return f"{without_mnemonic(self.submenu)}: {title}" if self.submenu else title


def without_mnemonic(title: str) -> str:
    at = title.find("(&")
    if at >= 0 and title[at + 3 : at + 4] == ")":
        title = title[:at] + title[at + 4 :]
    return title.replace("&&", "\0").replace("&", "").replace("\0", "&")


class Commands(QObject):
    """All commands of the window, in the order they were added."""

    changed = Signal()
    """A command came or went, or what is enabled may have changed."""

    def __init__(self) -> None:
        super().__init__()
        self._commands: dict[str, Command] = {}

    def add(self, *commands: Command) -> None:
        for command in commands:
            if command.id in self._commands:
                raise ValueError(f"two commands are called {command.id}")
            if command.shortcut and not command.scope and command.shortcut in self.shortcuts():
                raise ValueError(f"{command.shortcut} is taken by {self.shortcuts()[command.shortcut]}")
            self._commands[command.id] = command
        self.changed.emit()

    def remove(self, ids: Iterable[str]) -> None:
        for command_id in ids:
            del self._commands[command_id]
        self.changed.emit()

    def refresh(self) -> None:
        """Something happened that may enable or disable commands."""
        self.changed.emit()

    def all(self) -> list[Command]:
        return list(self._commands.values())

    def get(self, command_id: str) -> Command:
        return self._commands[command_id]

    def shortcuts(self) -> dict[str, str]:
        """Those of the whole window."""
        here = (command for command in self._commands.values() if command.shortcut and not command.scope)
        return {command.shortcut: command.id for command in here}

    def run(self, command_id: str) -> bool:
        """Do it if it can be done now; a shortcut may come when it cannot."""
        command = self._commands.get(command_id)
        if command is None or not command.enabled():
            return False
        command.run()
        return True


def matching(commands: Iterable[Command], typed: str) -> list[Command]:
    """For the palette: every typed word occurs; titles that begin so first."""
    words = typed.casefold().split()
    found = []
    for place, command in enumerate(commands):
        title = command.plain_title.casefold()
        said = f"{title} {command.id.replace('.', ' ')}"
        if all(word in said for word in words):
            found.append((_distance(title, words), place, command))
    return [command for _, _, command in sorted(found, key=lambda row: row[:2])]


def _distance(title: str, words: list[str]) -> int:
    if not words or title.startswith(words[0]):
        return 0
    if f" {words[0]}" in title:
        return 1
    return 2 if words[0] in title else 3
