"""Language, theme and layout: what is chosen, and kept for the next start."""

from __future__ import annotations

import asyncio
import json
import logging
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from traindeck.domain import texts
from traindeck.domain.errors import AppError
from traindeck.runtime import language
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.files import local_errors, write_whole
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.store.settings import Settings, SettingsFile

SYSTEM, LIGHT, DARK = "", "light", "dark"


class Preferences(QObject):
    """What the user chose in the View menu; takes effect at once, and is kept."""

    theme_changed = Signal(str)
    language_changed = Signal()
    """Everything is said in another language from now on: the window must be built again."""

    until_free: Callable[[], Awaitable[None]] | None = None
    """Waits until the window may go; until then the language stays."""

    def __init__(self, file: SettingsFile, disk: BlockingCalls, scope: TaskScope, settings: Settings) -> None:
        super().__init__()
        self._file = file
        self._disk = disk
        self._scope = scope
        self._chosen: dict[str, Any] = {}
        self.theme = settings.theme
        self.language = self._wanted = settings.language or language.system_language()

    def choose_theme(self, theme: str) -> None:
        if theme != self.theme:
            self.theme = theme
            self.keep("theme", theme)
            self.theme_changed.emit(theme)

    def choose_language(self, chosen: str) -> None:
        if chosen == self._wanted:
            return
        self._wanted = chosen
        self.keep("language", chosen)
        self._scope.start("change the language", self._speak, Repeat.REPLACE)

    async def _speak(self) -> None:
        wanted = self._wanted
        if wanted == self.language:
            return  # changed back while the window was not free
        try:
            sentences = await self._disk.run(lambda _: language.catalogue(wanted))
        except Exception:
            self._wanted = self.language  # so that it can be chosen again
            raise
        if self.until_free is not None:
            await self.until_free()
        texts.speak(wanted, sentences)
        self.language = wanted
        self.language_changed.emit()

    def keep(self, setting: str, value: str | int) -> None:
        self._chosen[setting] = value
        chosen = dict(self._chosen)

        async def write() -> None:
            await self._disk.run(lambda _: self._file.change(lambda settings: replace(settings, **chosen)))

        self._scope.start("keep the preferences", write, Repeat.REPLACE)


log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WindowLayout:
    """As Qt gives it; only a window with the same docks can take `docks` back."""

    geometry: bytes
    docks: bytes


class WindowState:
    """The layout, and the small file it is kept in. Losing it costs the user a second: trouble is logged, not shown."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._version = 0
        self._layout: WindowLayout | None = None
        self._is_kept = True
        self._writing = asyncio.Lock()

    def read(self) -> None:
        """Take what the last start has kept: a small file, read before there is a window that could wait for it."""
        found = self._read()
        if found is not None and self._layout is None:  # what a window has told since is newer
            self._version, self._layout = found

    def load(self, version: int) -> WindowLayout | None:
        """None when there is none for this version of the window."""
        return self._layout if self._version == version else None

    def save(self, version: int, layout: WindowLayout) -> None:
        """For the next window; for the next start once `keep` has ended."""
        self._version, self._layout, self._is_kept = version, layout, False

    async def keep(self, disk: BlockingCalls) -> None:
        """Write down the newest; what is being written is ended first, so that the last one stays."""
        async with self._writing:
            while not self._is_kept and self._layout is not None:
                written = self._layout
                await disk.run(partial(self._write, self._version, written))
                self._is_kept = written is self._layout

    def _read(self) -> tuple[int, WindowLayout] | None:
        try:
            content = json.loads(self._path.read_text(encoding="utf-8"))
            geometry, docks = (b64decode(content[name], validate=True) for name in ("geometry", "docks"))
            return int(content["version"]), WindowLayout(geometry, docks)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.warning("the saved layout cannot be used: %s", error)
            return None

    def _write(self, version: int, layout: WindowLayout, _: CancelToken) -> None:
        geometry, docks = b64encode(layout.geometry).decode(), b64encode(layout.docks).decode()
        content = {"version": version, "geometry": geometry, "docks": docks}
        try:
            with local_errors(self._path):
                write_whole(self._path, json.dumps(content).encode())
        except AppError as error:
            log.warning("the layout was not saved: %s %s", error, error.detail)
