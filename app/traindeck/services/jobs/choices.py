"""Engines and specifications that an account offers: asked for, remembered for a while, and kept for times offline."""

from __future__ import annotations

import time
from dataclasses import replace

from traindeck.domain.errors import ServiceTrouble
from traindeck.domain.jobs.choices import Choices
from traindeck.runtime.clock import Clock, utc_now
from traindeck.services.accounts.connections import Connections
from traindeck.store.offers import OfferStore

_KEEP_S = 300.0


class JobChoices:
    """What the form offers."""

    def __init__(self, connections: Connections, store: OfferStore, clock: Clock = utc_now) -> None:
        self._connections = connections
        self._store = store
        self._clock = clock
        self._kept: dict[str, tuple[float, Choices]] = {}

    async def load(self, profile: str) -> Choices:
        """What the service offers now; where it does not respond, what it offered last, with the reason."""
        kept = self._kept.get(profile)
        if kept and time.monotonic() - kept[0] < _KEEP_S:
            return kept[1]
        service = self._connections.profile(profile).modelarts_url
        try:
            training = (await self._connections.open(profile)).training
            engines, flavors = tuple(await training.engines()), tuple(await training.flavors())
        except ServiceTrouble as trouble:
            known = await self._store.read(profile, service)
            if known is None:
                raise
            return replace(known, trouble=trouble.title)
        choices = Choices(engines, flavors, self._clock())
        self._kept[profile] = (time.monotonic(), choices)
        await self._store.write(profile, service, choices)
        return choices

    async def known(self, profile: str) -> Choices | None:
        """What it offered last, at once and without asking."""
        kept = self._kept.get(profile)
        return kept[1] if kept else await self._store.read(profile, self._connections.profile(profile).modelarts_url)
