"""Language and theme: what is chosen, and choosing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from PySide6.QtCore import QObject, Signal

from traindeck.runtime import language
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.store.settings import Settings, SettingsFile

SYSTEM, LIGHT, DARK = "", "light", "dark"


class Preferences(QObject):
    """What the user chose in the View menu; takes effect at once, and is kept."""

    theme_changed = Signal(str)
    language_changed = Signal()
    """Everything is said in another language from now on: the window must be built again."""

    def __init__(self, file: SettingsFile, disk: BlockingCalls, scope: TaskScope, settings: Settings) -> None:
        super().__init__()
        self._file = file
        self._disk = disk
        self._scope = scope
        self._chosen: dict[str, Any] = {}
        self.theme = settings.theme
        self.language = settings.language or language.system_language()

    def choose_theme(self, theme: str) -> None:
        if theme != self.theme:
            self.theme = theme
            self._keep("theme", theme)
            self.theme_changed.emit(theme)

    def choose_language(self, chosen: str) -> None:
        if chosen != self.language:
            language.speak(chosen)
            self.language = chosen
            self._keep("language", chosen)
            self.language_changed.emit()

    def keep_rate(self, bytes_per_s: int) -> None:
        """How fast all transfers together may be, at the next start too."""
        self._keep("bytes_per_s", bytes_per_s)

    def _keep(self, setting: str, value: str | int) -> None:
        self._chosen[setting] = value
        chosen = dict(self._chosen)

        async def write() -> None:
            await self._disk.run(lambda _: self._file.change(lambda settings: replace(settings, **chosen)))

        self._scope.start("keep the preferences", write, Repeat.REPLACE)
