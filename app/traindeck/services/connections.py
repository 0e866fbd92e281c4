"""From a profile to the services behind it."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from traindeck.domain.errors import AccessRefused, AppError, NotFound
from traindeck.domain.profiles import LAB, Profile, Provider
from traindeck.domain.secret import Credentials
from traindeck.domain.texts import text
from traindeck.services.data_ports import DataPlane
from traindeck.services.environment import ENVIRONMENT, environment_profile
from traindeck.services.ports import ObjectStorage, ProfileBook, SecretStore, TrainingBackend


@dataclass(frozen=True, slots=True)
class LabAddress:
    """Where the running Lab is and what opens it."""

    profile: Profile
    credentials: Credentials
    instance: str


@dataclass(frozen=True, slots=True)
class Connection:
    profile: Profile
    storage: ObjectStorage
    training: TrainingBackend
    make_plane: Callable[[], DataPlane]
    """What moves data; used and closed by whoever makes one, on one loop."""

    def close(self) -> None:
        self.storage.close()
        self.training.close()


OpenLab = Callable[[], Awaitable[LabAddress]]
MakeConnection = Callable[[Profile, Credentials], Awaitable[Connection]]


class Connections:
    """Opens each profile once and keeps it until its keys or addresses change."""

    def __init__(self, book: ProfileBook, secrets: SecretStore, open_lab: OpenLab, make: MakeConnection) -> None:
        self._book = book
        self._secrets = secrets
        self._open_lab = open_lab
        self._make = make
        self._open: dict[str, tuple[Profile, Credentials, Connection]] = {}
        # Those who ask at once share one connection, or the one error of making it.
        self._opening: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._failed: dict[str, tuple[Profile, Credentials, AppError]] = {}

    def profile(self, name: str) -> Profile:
        """The profile of that name; the Lab's is always there."""
        if name == LAB:
            return Profile(LAB, Provider.LAB, "lab")
        if name == ENVIRONMENT and (found := environment_profile()) is not None:
            return found
        for profile in self._book.all():
            if profile.name == name:
                return profile
        raise NotFound(
            text("There is no profile “{name}”.", name=name),
            text("“traindeck profile list” shows the names; “traindeck profile add {name}” adds it.", name=name),
        )

    async def open(self, name: str) -> Connection:
        profile, credentials = await self._way_in(name)
        opening = self._opening[name]
        has_company = opening.locked()
        async with opening:
            known = self._open.get(name)
            if known and known[:2] == (profile, credentials):
                return known[2]
            failed = self._failed.pop(name, None)
            if has_company and failed and failed[:2] == (profile, credentials):
                self._failed[name] = failed
                raise failed[2]
            try:
                connection = await self._make(profile, credentials)
            except AppError as error:
                self._failed[name] = (profile, credentials, error)
                raise
            self.forget(name)
            # The maker may have found the project id; the key stays what the book says.
            self._open[name] = (profile, credentials, connection)
            return connection

    def forget(self, name: str) -> None:
        """Close the way to a profile; asking for it again opens a new one."""
        known = self._open.pop(name, None)
        if known:
            known[2].close()

    def close(self) -> None:
        for name in list(self._open):
            self.forget(name)

    async def _way_in(self, name: str) -> tuple[Profile, Credentials]:
        if name == LAB:
            address = await self._open_lab()
            return address.profile, address.credentials
        profile = self.profile(name)
        credentials = await self._secrets.read(name)
        if credentials is None:
            raise AccessRefused(
                text("The keys of “{name}” are not in the keyring.", name=name),
                text("Add them again: “traindeck profile add {name}” or Connect your account.", name=name),
            )
        return replace(profile, key_hint=profile.key_hint or credentials.hint), credentials
