"""What the user chose: language, theme, profiles. Never a secret, never state."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from traindeck.domain.accounts.profiles import (
    ENDPOINTS,
    LAB,
    NO_PROFILE,
    Profile,
    Provider,
    Signature,
    cleaned_endpoint,
)
from traindeck.domain.errors import AppError, InvalidInput, LocalTrouble
from traindeck.domain.settings import BY_KEY, Setting, SettingValue, Value, value_of
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.files import alone_with, local_errors, write_whole

log = logging.getLogger(__name__)

SCHEMA = 1
_PATIENCE_S = 10


@dataclass(frozen=True, slots=True)
class Settings:
    current_profile: str = LAB
    profiles: tuple[Profile, ...] = ()
    favourites: tuple[tuple[str, str, str], ...] = ()  # profile, bucket, key
    chosen: Mapping[str, SettingValue] = field(default_factory=dict)
    """Those of `domain/settings.py` that are not as they come."""
    others: Mapping[str, Any] = field(default_factory=dict)
    """What stands in the file and means nothing to this program: it is of a newer one, or damaged, and stays."""
    cleaned: tuple[str, ...] = ()
    """The accounts whose endpoint had a user, a password or a query in the file, which go with the next change."""

    def value(self, setting: Setting[Value]) -> Value:
        return value_of(self.chosen, setting)

    def with_values(self, values: Mapping[str, SettingValue | None]) -> Settings:
        """None: as it comes, from now on."""
        chosen = {key: value for key, value in {**self.chosen, **values}.items() if value is not None}
        others = {key: value for key, value in self.others.items() if key not in values}
        return replace(self, chosen=chosen, others=others)


class SettingsFile:
    """The settings on disk; every change re-reads them, so that two programs do not undo each other."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> Settings:
        with local_errors(self._path):
            try:
                source = self._path.read_text(encoding="utf-8")
            except FileNotFoundError:
                return Settings()
        try:
            content = json.loads(source)
            schema = int(content.pop("schema"))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise LocalTrouble(
                text("The settings file “{path}” is damaged.", path=str(self._path)),
                text("Repair it, or move it to start with new settings. It does not contain keys or runs."),
                str(error),
            ) from error
        if schema > SCHEMA:
            raise LocalTrouble(
                text("The settings were written by a newer TrainDeck."),
                text("Update TrainDeck, or specify another folder with TRAINDECK_HOME."),
            )
        return _settings(content)

    def change(self, edit: Callable[[Settings], Settings]) -> Settings:
        busy = text("Another TrainDeck is using the settings.")
        hint = text("Close the one not responding, then try again. Nothing was changed.")
        with local_errors(self._path), alone_with(self._path, _PATIENCE_S, busy, hint):
            settings = edit(self.read())
            content = {"schema": SCHEMA, **asdict(settings)}
            del content["cleaned"]
            content |= {**content.pop("others"), **content.pop("chosen")}
            write_whole(self._path, json.dumps(content, indent=2, ensure_ascii=False).encode())
        return settings


def _settings(content: dict[str, Any]) -> Settings:
    entries = content.pop("profiles", ())
    cleaned = tuple(entry["name"] for entry in entries if _clean(entry))
    profiles = tuple(map(_profile, entries))
    favourites = tuple(tuple(entry) for entry in content.pop("favourites", ()))
    current = content.pop("current_profile", LAB)
    chosen: dict[str, SettingValue] = {}
    for key in [key for key in content if key in BY_KEY]:
        try:
            value = BY_KEY[key].checked(content[key])
        except InvalidInput as error:
            log.warning("the settings file: %s %s", error, error.hint.in_english())
            continue
        del content[key]
        if value != BY_KEY[key].default:
            chosen[key] = value
    return Settings(current, profiles, favourites, chosen, content, cleaned)


def _clean(entry: dict[str, Any]) -> bool:
    """Take passwords out of the endpoints, and return whether there were any."""
    found = {name: entry[name] for name in ENDPOINTS if isinstance(entry.get(name), str)}
    clean = {name: cleaned_endpoint(address) for name, address in found.items()}
    entry.update(clean)
    return clean != found


def _profile(entry: dict[str, Any]) -> Profile:
    kinds = {"provider": Provider(entry["provider"]), "signature": Signature(entry["signature"])}
    return Profile(**{**_known(Profile, entry), **kinds})


def _known(kind: type, content: dict[str, Any]) -> dict[str, Any]:
    """Without what a newer TrainDeck has added."""
    return {field.name: content[field.name] for field in fields(kind) if field.name in content}


class ProfileStore:
    """The profiles within the settings, as last read: asking for them costs nothing, changing them is awaited."""

    def __init__(self, file: SettingsFile, disk: BlockingCalls) -> None:
        self._file = file
        self._disk = disk
        self._settings = Settings()
        self.cleaned: tuple[str, ...] = ()
        """The accounts whose endpoint held a password or a query that reading took out of the file."""
        self.not_cleaned: AppError | None = None
        """Why it is still in the file."""

    async def read(self) -> None:
        """Another program may have changed them."""
        self._settings = await self._disk.run(lambda _: self._file.read())
        if self._settings.cleaned:
            self.cleaned = self._settings.cleaned
            try:
                await self._change(lambda settings: settings)
            except AppError as error:  # they are clean in memory
                log.warning("the settings file was not cleaned: %s %s", error, error.detail)
                self.not_cleaned = error

    def all(self) -> list[Profile]:
        return list(self._settings.profiles)

    def value(self, setting: Setting[Value]) -> Value:
        return self._settings.value(setting)

    @property
    def current(self) -> str:
        return self._settings.current_profile

    async def put(self, profile: Profile) -> None:
        def edit(settings: Settings) -> Settings:
            others = tuple(other for other in settings.profiles if other.name != profile.name)
            return replace(settings, profiles=(*others, profile))

        await self._change(edit)

    async def remove(self, name: str) -> None:
        def edit(settings: Settings) -> Settings:
            left = tuple(profile for profile in settings.profiles if profile.name != name)
            current = NO_PROFILE if settings.current_profile == name else settings.current_profile
            return replace(settings, profiles=left, current_profile=current)

        await self._change(edit)

    async def use(self, name: str) -> None:
        await self._change(lambda settings: replace(settings, current_profile=name))

    async def _change(self, edit: Callable[[Settings], Settings]) -> None:
        self._settings = await self._disk.run(lambda _: self._file.change(edit))
