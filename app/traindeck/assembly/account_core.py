"""The accounts of a home and the ways to their services: all that a listing needs, built in a moment."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from traindeck.assembly.app_log import log_to
from traindeck.assembly.lab_link import LabLife, LabLink
from traindeck.domain.accounts.keys import Credentials
from traindeck.domain.accounts.profiles import Profile
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.files import local_errors
from traindeck.services.accounts.connections import Connection, Connections, make_connection
from traindeck.services.accounts.secrets import KeyringSecrets, SessionSecrets
from traindeck.store.paths import Paths
from traindeck.store.settings import ProfileStore, SettingsFile

if TYPE_CHECKING:
    from traindeck.services.accounts.profiles import ProfileService
    from traindeck.services.storage.wire.data_plane import DataPlane


@dataclass(frozen=True, slots=True)
class AccountCore:
    """Accounts, their keys, and what they open."""

    paths: Paths
    settings: SettingsFile
    profiles: ProfileStore
    secrets: SessionSecrets
    keyring: KeyringSecrets
    connections: Connections
    lab: LabLink
    disk: BlockingCalls
    service: BlockingCalls

    def profile_service(self) -> ProfileService:
        """Adding, checking and removing accounts; loaded by those who do."""
        from traindeck.services.accounts.key_checks import KeyChecks
        from traindeck.services.accounts.profiles import ProfileService

        return ProfileService(self.profiles, self.secrets, self.connections, KeyChecks(self.service))

    @asynccontextmanager
    async def plane(self, profile: str) -> AsyncIterator[DataPlane]:
        """The data of an account, on the loop of whoever asks."""
        connection = await self.connections.open(profile)
        plane = connection.make_plane(connection.refused.tell)
        try:
            yield plane
        finally:
            await plane.close()


@asynccontextmanager
async def open_account_core(
    paths: Paths, *, lab_life: LabLife = LabLife.BACKGROUND, somebody_helps: bool = False
) -> AsyncIterator[AccountCore]:
    """`somebody_helps`: there is who can give new keys or mend the network, so work waits instead of failing."""
    async with AsyncExitStack() as owned:

        def pool(workers: int, name: str) -> BlockingCalls:
            calls = BlockingCalls(workers, name)
            owned.callback(calls.close)
            return calls

        with local_errors(paths.home):
            paths.make()
        owned.enter_context(log_to(paths.app_log))
        settings = SettingsFile(paths.settings)
        disk, service = pool(4, "disk"), pool(16, "service")
        lab = LabLink(paths.lab, lab_life, pool(2, "lab"))
        owned.push_async_callback(lab.close)
        profiles = ProfileStore(settings, disk)
        await profiles.read()
        keyring = KeyringSecrets(pool(1, "keyring"))
        secrets = SessionSecrets(keyring)

        async def make(profile: Profile, credentials: Credentials) -> Connection:
            return await make_connection(profile, credentials, service)

        connections = Connections(profiles, secrets, lab.address, make, waits_for_keys=somebody_helps)
        owned.callback(connections.close)
        yield AccountCore(paths, settings, profiles, secrets, keyring, connections, lab, disk, service)
