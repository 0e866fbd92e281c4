"""Adapters of one account as a test makes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class HandMadeAdapters:
    storage: Any
    training: Any
    settings: Any
    objects: Any
    access: Any

    def close(self) -> None:
        """There is nothing to close."""
