"""The accounts, the transfers and the runs: what a command for jobs needs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, fields

from traindeck.assembly.data_core import DataCore, open_data_core
from traindeck.assembly.lab_link import LabLife
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.jobs.code_bundles import CodeBundles
from traindeck.services.jobs.run_watch import RunWatch
from traindeck.services.jobs.runs import RunService
from traindeck.services.jobs.submission import Submission
from traindeck.services.logs.run_logs import RunLogs
from traindeck.store.database import open_database
from traindeck.store.paths import Paths
from traindeck.store.runs import RunStore


@dataclass(frozen=True, slots=True)
class RunCore(DataCore):
    """What sends jobs, follows them, and keeps what is known of them."""

    records: RunStore
    submission: Submission
    run_service: RunService
    watch: RunWatch
    logs: RunLogs


@asynccontextmanager
async def open_run_core(
    paths: Paths, *, lab_life: LabLife = LabLife.BACKGROUND, somebody_helps: bool = False
) -> AsyncIterator[RunCore]:
    """`somebody_helps`: there is who can give new keys or mend the network, so work waits instead of failing."""
    async with AsyncExitStack() as owned:
        data = await owned.enter_async_context(open_data_core(paths, lab_life=lab_life, somebody_helps=somebody_helps))
        connections, disk = data.connections, data.disk
        writer = BlockingCalls(1, "records")
        owned.callback(writer.close)
        database = await writer.run(lambda _: open_database(paths.database))
        owned.enter_context(closing(database))
        records = RunStore(database, paths.database, writer)
        logs = RunLogs(records, paths.run_log, disk)
        bundles = CodeBundles(paths.bundles, disk)
        submission = Submission(records, connections, data.planes, bundles, paths.run, disk, data.profiles)
        watch = RunWatch(records, connections, logs, settle=submission.settle)
        submission.changed.add(watch.tell)
        run_service = RunService(records, connections, watch, data.transfers)
        shared = {field.name: getattr(data, field.name) for field in fields(DataCore)}
        yield RunCore(**shared, records=records, submission=submission, run_service=run_service, watch=watch, logs=logs)
