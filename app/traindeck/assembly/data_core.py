"""The accounts with the services that move data: what a command for objects needs."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from traindeck.assembly.account_core import AccountCore, pool
from traindeck.runtime.own_program import CHECKS_PICTURES, own_program
from traindeck.services.storage.planes import Planes
from traindeck.services.transfers import Transfers
from traindeck.store.transfer_journal import TransferJournal

if TYPE_CHECKING:
    from traindeck.services.datasets.datasets import Datasets

# A script wants to know; the network's own short pauses are over by then.
PATIENCE_S = 30.0


class DataCore(AccountCore):
    """Accounts, the ways to their data, and the transfers."""

    async def _open(self, owned: AsyncExitStack) -> None:
        await super()._open(owned)
        self.journal = TransferJournal(self.paths.transfers, pool(owned, 1, "journal"))
        owned.callback(self.journal.close)
        patience_s = None if self._somebody_helps else PATIENCE_S
        self.planes = await owned.enter_async_context(Planes(self.connections))
        # Looking into files by the thousand must not keep the disk's other calls waiting.
        self.dataset_calls = pool(owned, 4, "datasets")
        calls, locks = pool(owned, 4, "transfers"), self.paths.transfer_locks
        self.transfers = await owned.enter_async_context(
            Transfers(self.connections, self.planes, self.journal, calls, locks, patience_s=patience_s)
        )

    @property
    def datasets(self) -> Datasets:
        """Few commands want any."""
        from traindeck.services.datasets.datasets import Datasets

        return Datasets(self.transfers, self.planes, self.dataset_calls, [*own_program(), CHECKS_PICTURES])
