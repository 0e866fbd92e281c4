"""How a file of one state of the code became another one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ChangeKind(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    RENAMED = "renamed"


@dataclass(frozen=True, slots=True)
class FileChange:
    kind: ChangeKind
    path: str
    before: str = ""
    """What a renamed file was called."""
