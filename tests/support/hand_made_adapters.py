"""Adapters of one account as a test makes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from traindeck.services.jobs.modelarts.adapter import ModelArtsTraining
from traindeck.services.storage.sdk.access import ObsAccess
from traindeck.services.storage.sdk.buckets import ObsStorage


@dataclass(frozen=True)
class HandMadeAdapters:
    storage: ObsStorage
    training: ModelArtsTraining
    settings: Any
    objects: Any
    access: ObsAccess

    def close(self) -> None:
        """There is nothing to close."""
