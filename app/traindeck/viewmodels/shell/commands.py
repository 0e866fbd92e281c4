"""What the user can ask for: one list feeds menus, context menus, shortcuts, the palette and the shortcut sheet."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from traindeck.domain.texts import Text, say


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
    menu: str = ""  # id of the menu
    group: int = 0  # a line parts two groups of a menu
    checked: Callable[[], bool] | None = None
    submenu: str = ""  # title of the submenu it stands in
    icon: str = ""
    needs: Text | Callable[[], Text] | None = None
    """What must be done first; said where it cannot be done now."""
    scope: str = ""
    """Its key counts only while the panel of this name has the focus; empty: in the whole window."""
    contexts: tuple[str, ...] = ()
    """The context menus it stands in."""

    @property
    def plain_title(self) -> str:
        """Without mnemonics; Chinese menus put theirs in brackets at the end."""
        title = without_mnemonic(self.title)
        return say("{label}: {value}", label=without_mnemonic(self.submenu), value=title) if self.submenu else title

    def run_if_able(self) -> bool:
        """Do it if it can be done now; a shortcut may come when it cannot."""
        is_able = self.enabled()
        if is_able:
            self.run()
        return is_able

    def why_not(self) -> str:
        """Empty when it can be done now, or nothing is known about it."""
        if self.needs is None or self.enabled():
            return ""
        return say(self.needs if isinstance(self.needs, Text) else self.needs())


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
            if taken := self._taken(command):
                raise ValueError(f"{command.shortcut} is taken by {taken}")
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

    def run(self, command_id: str) -> bool:
        command = self._commands.get(command_id)
        return command is not None and command.run_if_able()

    def _taken(self, command: Command) -> str:
        """The command that has this key in the same panel; a key of the whole window is one of every panel."""
        for other in self._commands.values() if command.shortcut else ():
            is_met = other.scope == command.scope or not (other.scope and command.scope)
            if is_met and other.shortcut == command.shortcut:
                return other.id
        return ""
