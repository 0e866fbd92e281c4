"""How a file of a run's code became another one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ChangeKind(StrEnum):
    CHANGED = "changed"
    NEW = "new"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class CodeChange:
    """One file that is not as it was."""

    path: str
    kind: ChangeKind
