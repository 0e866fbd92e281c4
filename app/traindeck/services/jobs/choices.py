"""Engines and specifications a profile offers, remembered for a while."""

from __future__ import annotations

import time
from dataclasses import dataclass

from traindeck.domain.jobs.job import Engine, Flavor
from traindeck.services.accounts.connections import Connections

_KEEP_S = 300.0


@dataclass(frozen=True, slots=True)
class Choices:
    engines: tuple[Engine, ...]
    flavors: tuple[Flavor, ...]


class JobChoices:
    """What the form offers."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._kept: dict[str, tuple[float, Choices]] = {}

    async def load(self, profile: str, *, fresh: bool = False) -> Choices:
        kept = self._kept.get(profile)
        if kept and not fresh and time.monotonic() - kept[0] < _KEEP_S:
            return kept[1]
        training = (await self._connections.open(profile)).training
        choices = Choices(tuple(await training.engines()), tuple(await training.flavors()))
        self._kept[profile] = (time.monotonic(), choices)
        return choices
