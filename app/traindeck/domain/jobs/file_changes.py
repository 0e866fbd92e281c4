"""Which files of two states of code differ."""

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
