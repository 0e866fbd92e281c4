"""Secrets for the time of one test."""

from __future__ import annotations

from traindeck.domain.accounts.keys import Credentials
from traindeck.domain.errors import AppError
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.accounts.secrets import Secrets


class MemorySecrets(Secrets):
    """Has a drawer instead of a keyring; `locked` makes it refuse."""

    def __init__(self, calls: BlockingCalls) -> None:
        super().__init__(calls)
        self.drawer: dict[str, Credentials] = {}
        self.locked: AppError | None = None

    async def backend(self) -> str:
        if self.locked:
            raise self.locked
        return "a drawer"

    async def read(self, profile: str) -> Credentials | None:
        return self._kept.get(profile) or self.drawer.get(profile)

    async def write(self, profile: str, credentials: Credentials) -> None:
        await self.backend()
        self.drawer[profile] = credentials
        self._kept.pop(profile, None)

    async def remove(self, profile: str) -> None:
        self._kept.pop(profile, None)
        self.drawer.pop(profile, None)
