"""The services of one account as a test makes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from traindeck.domain.accounts.keys import Credentials
from traindeck.domain.accounts.profiles import Profile
from traindeck.domain.errors import KeysRefused
from traindeck.runtime.tasks import Listeners
from traindeck.services.accounts.connections import Connection
from traindeck.services.http.calls import Refused
from traindeck.services.storage.wire.data_plane import DataPlane


class HandMadeConnection(Connection):
    def __init__(
        self,
        profile: Profile,
        credentials: Credentials,
        plane: DataPlane,
        connect: Callable[[Profile, Credentials], Connection] | None = None,
        **services: Any,
    ) -> None:
        self.way, self.profile = (profile, credentials), profile
        self._connect = connect
        self.refused: Listeners[KeysRefused] = Listeners()
        self._plane = plane
        vars(self).update(services)

    def in_region(self, region: str) -> Connection:
        assert self._connect is not None
        return self._connect(replace(self.profile, region=region), self.way[1])

    def make_plane(self, refused: Refused) -> DataPlane:
        return self._plane
