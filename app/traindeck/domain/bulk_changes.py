"""Many objects at once: how much they are, and what became of changing them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from traindeck.domain.errors import AppError
from traindeck.domain.objects import ObjectPath


@dataclass(frozen=True, slots=True)
class Tally:
    """What a selection holds, counted down to the last folder."""

    objects: int = 0
    size_bytes: int = 0
    classes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Objects and bytes by storage class; one that the listing does not name is empty."""


@dataclass(frozen=True, slots=True)
class BulkReport:
    """How far changing many objects is, or how it ended."""

    changed: int = 0
    left_alone: int = 0
    """They were as wanted already."""
    failed: int = 0
    failures: tuple[tuple[ObjectPath, AppError], ...] = ()
    """The first of those that failed, and why."""

    @property
    def seen(self) -> int:
        return self.changed + self.left_alone + self.failed
