"""The room of the settings: its page, and each setting in the palette."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from traindeck.domain.settings import SETTINGS
from traindeck.domain.texts import say
from traindeck.ui.shell.feature import Feature, Shell
from traindeck.viewmodels.shell.commands import Command
from traindeck.viewmodels.shell.finding import PaletteEntry
from traindeck.viewmodels.shell.preferences import Preferences

_PAGE = "settings"


class SettingsFeature(Feature):
    def __init__(self, shell: Shell, preferences: Preferences) -> None:
        super().__init__(shell)
        self._preferences = preferences

    def commands(self) -> Iterable[Command]:
        yield Command(
            "file.settings", say("Se&ttings"), self.open, shortcut="Ctrl+,", menu="file", group=95, icon="form"
        )

    def offers(self) -> Iterable[PaletteEntry]:
        for setting in SETTINGS:
            act = partial(self.open, setting.key)
            also = f"{setting.key} {say(setting.help)}"
            yield PaletteEntry(f"settings.{setting.key}", say(setting.title), act, say("Setting"), "form", also=also)

    def open(self, key: str = "") -> None:
        """`key`: at this setting."""
        from traindeck.ui.shell.settings_page import SettingsPage  # seldom seen

        shell, rules = self.shell, partial(self.shell.commands.run, "log.rules")
        make = partial(SettingsPage, self._preferences, shell.theme, shell.tasks, rules)
        page = shell.window.open_tab(_PAGE, say("Settings"), make)
        self.shell.window.give_page_keys()
        self.shell.tasks.start("read the settings", self._preferences.load)
        if key and isinstance(page, SettingsPage):
            page.show_setting(key)

    def restore(self, page: object) -> bool:
        if page == _PAGE:
            self.open()
        return page == _PAGE
