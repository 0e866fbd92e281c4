"""Engines and specifications a profile offers, remembered for a while."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from traindeck.domain.jobs.choices import Choices
from traindeck.services.accounts.connections import Connections

if TYPE_CHECKING:
    from traindeck.services.jobs.modelarts.adapter import ModelArtsTraining

_KEEP_S = 300.0


class JobChoices:
    """What the form offers."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._kept: dict[str, tuple[float, Choices]] = {}

    async def load(self, profile: str, training: ModelArtsTraining | None = None) -> Choices:
        """`training`: the profile's own, where the caller has it open already."""
        kept = self._kept.get(profile)
        if kept and time.monotonic() - kept[0] < _KEEP_S:
            return kept[1]
        training = training or (await self._connections.open(profile)).training
        choices = Choices(tuple(await training.engines()), tuple(await training.flavors()))
        self._kept[profile] = (time.monotonic(), choices)
        return choices
