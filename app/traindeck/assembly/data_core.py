"""The services that move and list data, and no more: what a command for objects needs, it has in a moment."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from traindeck.assembly.app_log import log_to
from traindeck.assembly.lab_link import LabLife, LabLink
from traindeck.domain.accounts.keys import Credentials
from traindeck.domain.accounts.profiles import Profile
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.files import local_errors
from traindeck.services.accounts.connections import Connection, Connections, make_connection
from traindeck.services.accounts.secrets import KeyringSecrets, SessionSecrets
from traindeck.services.storage.planes import Planes
from traindeck.services.transfers import Transfers
from traindeck.store.paths import Paths
from traindeck.store.settings import ProfileStore, SettingsFile
from traindeck.store.transfer_journal import TransferJournal

# A script wants to know; the network's own short pauses are over by then.
PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class DataCore:
    """Accounts, the ways to their data, and the transfers."""

    paths: Paths
    settings: SettingsFile
    profiles: ProfileStore
    secrets: SessionSecrets
    keyring: KeyringSecrets
    connections: Connections
    planes: Planes
    journal: TransferJournal
    transfers: Transfers
    lab: LabLink
    disk: BlockingCalls
    service: BlockingCalls


@asynccontextmanager
async def open_data_core(
    paths: Paths, *, lab_life: LabLife = LabLife.BACKGROUND, somebody_helps: bool = False
) -> AsyncIterator[DataCore]:
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
        book = ProfileStore(settings, disk)
        await book.read()
        keyring = KeyringSecrets(pool(1, "keyring"))
        secrets = SessionSecrets(keyring)

        async def make(profile: Profile, credentials: Credentials) -> Connection:
            return await make_connection(profile, credentials, service)

        connections = Connections(book, secrets, lab.address, make, waits_for_keys=somebody_helps)
        owned.callback(connections.close)
        journal = TransferJournal(paths.transfers, pool(1, "journal"))
        owned.callback(journal.close)
        patience_s = None if somebody_helps else PATIENCE_S
        planes = await owned.enter_async_context(Planes(connections))
        transfers = await owned.enter_async_context(
            Transfers(connections, planes, journal, pool(4, "transfers"), paths.transfer_locks, patience_s=patience_s)
        )
        yield DataCore(
            paths=paths,
            settings=settings,
            profiles=book,
            secrets=secrets,
            keyring=keyring,
            connections=connections,
            planes=planes,
            journal=journal,
            transfers=transfers,
            lab=lab,
            disk=disk,
            service=service,
        )
