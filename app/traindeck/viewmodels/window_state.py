"""Where the window and its docks were, kept from one start to the next."""

from __future__ import annotations

import base64
import binascii
import json
import logging
from dataclasses import dataclass
from pathlib import Path

from traindeck.domain.errors import AppError
from traindeck.runtime.platform_files import local_errors, write_whole

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Layout:
    """As Qt gives it; only a window with the same docks can take `docks` back."""

    geometry: bytes
    docks: bytes


class WindowState:
    """The layout in a small file. Losing it costs the user a second, so trouble with it is logged, not shown."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self, version: int) -> Layout | None:
        """None when there is none for this version of the window."""
        try:
            content = json.loads(self._path.read_text(encoding="utf-8"))
            if content["version"] != version:
                return None
            return Layout(_bytes(content["geometry"]), _bytes(content["docks"]))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            log.warning("the saved layout cannot be used: %s", error)
            return None

    def save(self, version: int, layout: Layout) -> None:
        content = {"version": version, "geometry": _word(layout.geometry), "docks": _word(layout.docks)}
        try:
            with local_errors(self._path):
                write_whole(self._path, json.dumps(content).encode())
        except AppError as error:
            log.warning("the layout was not saved: %s %s", error, error.detail)


def _word(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def _bytes(word: str) -> bytes:
    try:
        return base64.b64decode(word, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error
