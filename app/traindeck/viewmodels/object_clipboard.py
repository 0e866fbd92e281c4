"""Objects on the clipboard and on their way under the mouse: whose they are, which, and whether they were cut."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from traindeck.domain.objects import ObjectPath

OBJECTS = "application/x-traindeck-objects"
"""The MIME type; another window of this program understands it too."""


@dataclass(frozen=True, slots=True)
class Carried:
    """What is carried from one place to another."""

    profile: str
    paths: tuple[ObjectPath, ...]
    is_cut: bool = False

    def to_bytes(self) -> bytes:
        places = [[path.bucket, path.key] for path in self.paths]
        return json.dumps({"profile": self.profile, "cut": self.is_cut, "places": places}).encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> Carried | None:
        """None: somebody else's, or another version's."""
        try:
            values = json.loads(content)
            paths = tuple(ObjectPath(str(bucket), str(key)) for bucket, key in values["places"])
            return cls(str(values["profile"]), paths, values["cut"] is True)
        except (ValueError, TypeError, KeyError):
            return None

    def to_text(self) -> str:
        return "\n".join(str(path) for path in self.paths)


class CutObjects(QObject):
    """What was cut and not yet pasted, to be shown dimmed."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._profile = ""
        self._paths: frozenset[ObjectPath] = frozenset()

    def put(self, profile: str, paths: Iterable[ObjectPath]) -> None:
        before, self._paths = self._paths, frozenset(paths)
        self._profile = profile
        if before != self._paths:
            self.changed.emit()

    def clear(self) -> None:
        self.put("", ())

    def has(self, profile: str, path: ObjectPath) -> bool:
        return path in self._paths and profile == self._profile

    def __bool__(self) -> bool:
        return bool(self._paths)
