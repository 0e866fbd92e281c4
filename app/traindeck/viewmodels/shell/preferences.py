"""The settings: what is chosen, and kept for the next start."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from traindeck.domain import texts
from traindeck.domain.errors import InvalidInput
from traindeck.domain.settings import (
    BY_KEY,
    LANGUAGE,
    MOST_FILE_BYTES,
    THEME,
    AnySetting,
    Setting,
    SettingValue,
    Value,
    from_toml,
    to_toml,
    value_of,
)
from traindeck.domain.texts import text
from traindeck.runtime import language
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.files import local_errors, write_whole
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.store.settings import Settings, SettingsFile
from traindeck.viewmodels.shell.recent import Recent

SYSTEM, LIGHT, DARK = "", "light", "dark"


class Preferences(QObject):
    """What the user chose, of all settings there are; takes effect at once, and is kept."""

    changed = Signal(str)
    """The key of a setting that has another value now."""
    theme_changed = Signal(str)
    language_changed = Signal()
    """Everything is said in another language from now on: the window must be built again."""

    until_free: Callable[[], Awaitable[None]] | None = None
    """Waits until the window may go; until then the language stays."""

    def __init__(
        self,
        file: SettingsFile,
        disk: BlockingCalls,
        scope: TaskScope,
        settings: Settings,
        asked: Mapping[str, SettingValue] | None = None,
    ) -> None:
        """`asked`: what was asked for at the start of this program, and is not to be kept."""
        super().__init__()
        self._file = file
        self._disk = disk
        self._scope = scope
        self.recent = Recent()
        """What was chosen in the palette, also by windows before this one."""
        self._settings = settings
        self._asked = dict(asked or {})
        self._due: dict[str, SettingValue | None] = {}
        self.language = self.value(LANGUAGE) or language.system_language()

    # what holds

    def value(self, setting: Setting[Value]) -> Value:
        return value_of({**self._settings.chosen, **self._asked}, setting)

    def _value(self, key: str) -> SettingValue:
        return {**self._settings.chosen, **self._asked}.get(key, BY_KEY[key].default)

    def is_chosen(self, key: str) -> bool:
        """Not as it comes."""
        return key in self._settings.chosen or key in self._asked

    def is_damaged(self, key: str) -> bool:
        """What the file holds for it cannot be used; it stays there until another value is chosen."""
        return key in self._settings.others

    @property
    def theme(self) -> str:
        return self.value(THEME)

    # what is chosen

    def choose(self, setting: AnySetting, value: SettingValue) -> None:
        """Raises InvalidInput for a value that cannot be."""
        if setting.checked(value) != self._value(setting.key) or self.is_damaged(setting.key):
            self._choose({setting.key: None if value == setting.default else value})

    def reset(self, key: str) -> None:
        if self.is_chosen(key) or self.is_damaged(key):
            self._choose({key: None})

    def choose_theme(self, theme: str) -> None:
        self.choose(THEME, theme)

    def choose_language(self, chosen: str) -> None:
        self.choose(LANGUAGE, chosen)
        if self.value(LANGUAGE) not in ("", self.language):  # also once more, when the last try failed
            self._scope.start("change the language", self._speak, Repeat.REPLACE)

    async def load(self) -> None:
        """Another program may have changed them."""
        settings = await self._disk.run(lambda _: self._file.read())
        self._take(settings.with_values(self._due))

    async def save_copy(self, place: Path) -> None:
        content = to_toml(self._settings.chosen).encode()

        def write(_: object) -> None:
            with local_errors(place):
                write_whole(place, content)

        await self._disk.run(write)

    async def take_copy(self, place: Path) -> int:
        """Use what a file says; the answer is how many settings are in it."""

        def read(_: object) -> str:
            with local_errors(place), place.open("rb") as file:
                content = file.read(MOST_FILE_BYTES + 1)
            if len(content) > MOST_FILE_BYTES:
                raise _not_settings(place)
            try:
                return content.decode()
            except UnicodeDecodeError as error:
                raise _not_settings(place) from error

        values = from_toml(await self._disk.run(read))
        self._choose({key: None if value == BY_KEY[key].default else value for key, value in values.items()})
        return len(values)

    def _choose(self, values: Mapping[str, SettingValue | None]) -> None:
        self._due.update(values)
        self._scope.start("keep the preferences", self._keep, Repeat.REPLACE)
        asked = {key: value for key, value in self._asked.items() if key not in values}
        self._take(self._settings.with_values(values), asked)

    def _take(self, settings: Settings, asked: dict[str, SettingValue] | None = None) -> None:
        before = {key: (self._value(key), self.is_chosen(key), self.is_damaged(key)) for key in BY_KEY}
        self._settings, self._asked = settings, self._asked if asked is None else asked
        for key, (value, was_chosen, was_damaged) in before.items():
            if value != self._value(key):
                self._tell(key)
            elif (was_chosen, was_damaged) != (self.is_chosen(key), self.is_damaged(key)):
                self.changed.emit(key)

    def _tell(self, key: str) -> None:
        self.changed.emit(key)
        if key == THEME.key:
            self.theme_changed.emit(self.theme)
        elif key == LANGUAGE.key:
            self._scope.start("change the language", self._speak, Repeat.REPLACE)

    async def _speak(self) -> None:
        wanted = self.value(LANGUAGE) or language.system_language()
        if wanted == self.language:
            return  # changed back while the window was not free
        sentences = await self._disk.run(lambda _: language.catalogue(wanted))
        if self.until_free is not None:
            await self.until_free()
        texts.speak(wanted, sentences)
        self.language = wanted
        self.language_changed.emit()

    async def _keep(self) -> None:
        """Only what was chosen here: another program may have changed the rest since."""
        due = dict(self._due)
        settings = await self._disk.run(lambda _: self._file.change(lambda kept: kept.with_values(due)))
        self._due = {key: value for key, value in self._due.items() if key not in due or due[key] != value}
        self._take(settings.with_values(self._due))


def _not_settings(place: Path) -> InvalidInput:
    return InvalidInput(
        text("“{file}” is not a settings file.", file=str(place)),
        text("Select a file written by Export. Nothing was changed."),
    )
