"""The accounts, the transfers and the runs: what a command for jobs needs."""

from __future__ import annotations

from contextlib import AsyncExitStack, closing

from traindeck.assembly.account_core import pool
from traindeck.assembly.data_core import DataCore
from traindeck.services.jobs.code_bundles import CodeBundles
from traindeck.services.jobs.run_watch import RunWatch
from traindeck.services.jobs.runs import RunService
from traindeck.services.jobs.submission import Submission
from traindeck.services.logs.run_logs import RunLogs
from traindeck.store.database import open_database
from traindeck.store.runs import RunStore


class RunCore(DataCore):
    """What sends jobs, follows them, and keeps what is known of them."""

    async def _open(self, owned: AsyncExitStack) -> None:
        await super()._open(owned)
        paths, connections = self.paths, self.connections
        writer = pool(owned, 1, "records")
        database = await writer.run(lambda _: open_database(paths.database))
        owned.enter_context(closing(database))
        self.records = RunStore(database, paths.database, writer)
        self.logs = RunLogs(self.records, paths.run_log, self.disk)
        bundles = CodeBundles(paths.bundles, self.disk)
        self.submission = Submission(self.records, connections, self.planes, bundles, paths.run, self.disk, self.book)
        self.watch = RunWatch(self.records, connections, self.logs, settle=self.submission.settle)
        self.submission.changed.add(self.watch.tell)
        self.run_service = RunService(self.records, connections, self.watch, self.transfers, bundles)
