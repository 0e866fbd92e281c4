"""Adapters of one account as a test makes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from traindeck.services.ports import Access, ObjectStorage, TrainingBackend


@dataclass(frozen=True)
class HandMadeAdapters:
    storage: ObjectStorage
    training: TrainingBackend
    settings: Any
    objects: Any
    access: Access

    def close(self) -> None:
        """There is nothing to close."""
