"""Engines and specifications that an account offers: asked for, remembered for a while, and kept for times offline."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from traindeck.domain.errors import ServiceTrouble
from traindeck.domain.jobs.choices import Choices
from traindeck.runtime.clock import Clock, utc_now
from traindeck.services.accounts.connections import Connections
from traindeck.store.offers import OfferStore

if TYPE_CHECKING:
    from traindeck.services.jobs.modelarts.adapter import ModelArtsTraining

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
        try:
            return await self.load_now(profile)
        except ServiceTrouble as trouble:
            known = await self._store.read(profile, self._service_of(profile))
            if known is None:
                raise
            return replace(known, trouble=trouble.title)

    async def load_now(self, profile: str, training: ModelArtsTraining | None = None, *, anew: bool = False) -> Choices:
        """What the service offers; `training`: the profile's own, where the caller has it open already.

        `anew`: asked again, whatever it said a moment ago.
        """
        kept = self._kept.get(profile)
        if kept and not anew and time.monotonic() - kept[0] < _KEEP_S:
            return kept[1]
        training = training or (await self._connections.open(profile)).training
        choices = Choices(tuple(await training.engines()), tuple(await training.flavors()), self._clock())
        self._kept[profile] = (time.monotonic(), choices)
        await self._store.write(profile, self._service_of(profile), choices)
        return choices

    async def known(self, profile: str) -> Choices | None:
        """What it offered last, at once and without asking."""
        kept = self._kept.get(profile)
        return kept[1] if kept else await self._store.read(profile, self._service_of(profile))

    def _service_of(self, profile: str) -> str:
        return self._connections.profile(profile).modelarts_url
