"""Builds every service, top to bottom, and closes them in reverse order."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from functools import partial

from traindeck.assembly.data_core import open_data_core
from traindeck.assembly.lab_keeper import LabKeeper
from traindeck.assembly.lab_link import LabLife, LabLink
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.resources import resource
from traindeck.services.accounts.connections import Connections, load_adapters
from traindeck.services.accounts.key_checks import KeyChecks
from traindeck.services.accounts.profiles import ProfileService
from traindeck.services.accounts.secrets import KeyringSecrets
from traindeck.services.jobs.choices import JobChoices
from traindeck.services.jobs.code_bundles import CodeBundles
from traindeck.services.jobs.locks import RunLocks
from traindeck.services.jobs.run_watch import RunWatch
from traindeck.services.jobs.runs import RunService, end_lab_runs
from traindeck.services.jobs.sample_project import SampleProject
from traindeck.services.jobs.submission import Submission
from traindeck.services.logs.run_logs import RunLogs
from traindeck.services.storage.bucket_listing import BucketListings
from traindeck.services.storage.planes import Planes
from traindeck.services.storage.unfinished_uploads import UnfinishedUploads
from traindeck.services.transfers import Transfers
from traindeck.store.database import open_database
from traindeck.store.object_index import ObjectIndex, ObjectIndexes
from traindeck.store.paths import Paths
from traindeck.store.runs import RunStore
from traindeck.store.settings import SettingsFile


@dataclass(frozen=True, slots=True)
class Core:
    """Everything the window and the command line work with."""

    paths: Paths
    settings: SettingsFile
    records: RunStore
    connections: Connections
    profiles: ProfileService
    choices: JobChoices
    submission: Submission
    run_service: RunService
    watch: RunWatch
    logs: RunLogs
    planes: Planes
    transfers: Transfers
    unfinished: UnfinishedUploads
    listings: BucketListings[ObjectIndex]
    sample: SampleProject
    lab: LabLink
    lab_keeper: LabKeeper
    keyring: KeyringSecrets
    disk: BlockingCalls
    previews: BlockingCalls
    """For parsing and drawing what is looked into."""
    index: BlockingCalls
    """For what is known of buckets: sorting a million rows must not keep the disk's calls waiting."""


@asynccontextmanager
async def open_core(
    paths: Paths, *, lab_life: LabLife = LabLife.BACKGROUND, somebody_helps: bool = False
) -> AsyncIterator[Core]:
    """`somebody_helps`: there is who can give new keys or mend the network, so work waits instead of failing."""
    load_adapters()
    async with AsyncExitStack() as owned:

        def pool(workers: int, name: str) -> BlockingCalls:
            calls = BlockingCalls(workers, name)
            owned.callback(calls.close)
            return calls

        data = await owned.enter_async_context(open_data_core(paths, lab_life=lab_life, somebody_helps=somebody_helps))
        connections, planes, transfers, disk = data.connections, data.planes, data.transfers, data.disk
        writer = pool(1, "records")
        database: sqlite3.Connection = await writer.run(lambda _: open_database(paths.database))
        owned.enter_context(closing(database))
        records = RunStore(database, paths.database, writer)
        indexes = ObjectIndexes(paths.index)
        owned.callback(indexes.close)
        index = pool(3, "index")
        logs = RunLogs(records, paths.run_log, disk)
        bundles, locks = CodeBundles(paths.bundles, disk), RunLocks(paths.run, disk)
        submission = Submission(records, connections, planes, bundles, locks, data.profiles)
        watch = RunWatch(records, connections, logs, settle=submission.settle)
        submission.changed.add(watch.tell)
        run_service = RunService(records, connections, watch, transfers)
        end_runs = partial(end_lab_runs, records, run_service, watch)
        yield Core(
            paths=paths,
            settings=data.settings,
            records=records,
            connections=connections,
            profiles=ProfileService(data.profiles, data.secrets, connections, KeyChecks(data.service)),
            choices=JobChoices(connections),
            submission=submission,
            run_service=run_service,
            watch=watch,
            logs=logs,
            planes=planes,
            transfers=transfers,
            unfinished=UnfinishedUploads(planes, data.journal),
            listings=BucketListings(connections, indexes.open, index),
            sample=SampleProject(resource("sample", "digits"), paths.sample, connections, transfers, disk),
            lab=data.lab,
            lab_keeper=LabKeeper(paths.lab, data.lab, pool(2, "lab folder"), end_runs),
            keyring=data.keyring,
            disk=disk,
            previews=pool(2, "previews"),
            index=index,
        )
