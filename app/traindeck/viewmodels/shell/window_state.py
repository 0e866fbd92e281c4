"""How the window was left: small values by name, in a file that is written soon after each of them changes."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from traindeck.domain.errors import AppError
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.files import local_errors, write_whole
from traindeck.runtime.tasks import TaskScope

log = logging.getLogger(__name__)

_SOON_S = 1.0
_LARGEST = 4_000_000


class WindowState:
    """Losing it costs the user a minute: trouble is logged, not shown."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._values: dict[str, Any] = {}
        self._is_kept = True
        self._writing = asyncio.Lock()
        self._keep_soon: Callable[[], object] | None = None

    def read(self) -> None:
        """Take what the last start has kept: a small file, read before there is a window that could wait for it."""
        self._values = self._read() | self._values  # what a window has told since is newer

    def get(self, name: str) -> Any:
        """None where nothing is known; what comes from the file may be anything that JSON has."""
        return self._values.get(name)

    def put(self, name: str, value: Any) -> None:
        """For the next window at once; None takes it away."""
        if self._values.get(name) == value:
            return
        self._values[name] = value
        self._is_kept = False
        if self._keep_soon is not None:
            self._keep_soon()

    def keep_with(self, disk: BlockingCalls, scope: TaskScope) -> None:
        """From now on a change is on disk within moments, so that a crash costs no more."""

        async def soon() -> None:
            await asyncio.sleep(_SOON_S)
            await self.keep(disk)

        self._keep_soon = partial(scope.start, "keep how the window is", soon)
        if not self._is_kept:
            self._keep_soon()

    async def keep(self, disk: BlockingCalls) -> None:
        """Write down the newest; what is being written is ended first, so that the last one stays."""
        async with self._writing:
            while not self._is_kept:
                self._is_kept = True
                content = {name: value for name, value in self._values.items() if value is not None}
                try:
                    await disk.run(partial(self._write, json.dumps(content)))
                except BaseException:
                    self._is_kept = False
                    raise

    def _read(self) -> dict[str, Any]:
        try:
            if self._path.stat().st_size > _LARGEST:
                raise ValueError("too large")
            content = json.loads(self._path.read_text(encoding="utf-8"))
            if not isinstance(content, dict):
                raise ValueError("not a table")
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            log.warning("how the window was left cannot be read: %s", error)
            return {}
        return content

    def _write(self, content: str, _: CancelToken) -> None:
        try:
            with local_errors(self._path):
                write_whole(self._path, content.encode())
        except AppError as error:
            log.warning("how the window was left is not kept: %s %s", error, error.detail)
