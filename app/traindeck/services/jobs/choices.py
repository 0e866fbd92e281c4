"""Engines and specifications a profile offers, remembered for a while."""

from __future__ import annotations

import time

from traindeck.domain.jobs.choices import Choices
from traindeck.services.accounts.connections import Connections

_KEEP_S = 300.0


class JobChoices:
    """What the form offers."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._kept: dict[str, tuple[float, Choices]] = {}

    async def load(self, profile: str) -> Choices:
        kept = self._kept.get(profile)
        if kept and time.monotonic() - kept[0] < _KEEP_S:
            return kept[1]
        training = (await self._connections.open(profile)).training
        choices = Choices(tuple(await training.engines()), tuple(await training.flavors()))
        self._kept[profile] = (time.monotonic(), choices)
        return choices
