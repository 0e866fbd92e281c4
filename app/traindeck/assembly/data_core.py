"""The accounts with the services that move data: what a command for objects needs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, fields

from traindeck.assembly.account_core import AccountCore, open_account_core
from traindeck.assembly.lab_link import LabLife
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.storage.planes import Planes
from traindeck.services.transfers import Transfers
from traindeck.store.paths import Paths
from traindeck.store.transfer_journal import TransferJournal

# A script wants to know; the network's own short pauses are over by then.
PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class DataCore(AccountCore):
    """Accounts, the ways to their data, and the transfers."""

    planes: Planes
    journal: TransferJournal
    transfers: Transfers


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

        accounts = await owned.enter_async_context(
            open_account_core(paths, lab_life=lab_life, somebody_helps=somebody_helps)
        )
        connections = accounts.connections
        journal = TransferJournal(paths.transfers, pool(1, "journal"))
        owned.callback(journal.close)
        patience_s = None if somebody_helps else PATIENCE_S
        planes = await owned.enter_async_context(Planes(connections))
        transfers = await owned.enter_async_context(
            Transfers(connections, planes, journal, pool(4, "transfers"), paths.transfer_locks, patience_s=patience_s)
        )
        shared = {field.name: getattr(accounts, field.name) for field in fields(AccountCore)}
        yield DataCore(**shared, planes=planes, journal=journal, transfers=transfers)
