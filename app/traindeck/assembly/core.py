"""Builds every service, top to bottom, and closes them in reverse order."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from functools import partial

from traindeck.assembly.app_log import log_to
from traindeck.assembly.lab_keeper import LabKeeper
from traindeck.assembly.lab_link import LabLife, LabLink
from traindeck.domain.profiles import Profile
from traindeck.domain.secret import Credentials
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.platform_files import local_errors
from traindeck.runtime.resources import resource
from traindeck.services.bucket_listing import BucketListings
from traindeck.services.code_bundles import CodeBundles
from traindeck.services.connections import Connection, Connections
from traindeck.services.job_choices import JobChoices
from traindeck.services.key_checks import KeyChecks
from traindeck.services.lab_runs import end_lab_runs
from traindeck.services.make_connection import make_connection
from traindeck.services.planes import Planes
from traindeck.services.profile_desk import ProfileDesk
from traindeck.services.run_desk import RunDesk
from traindeck.services.run_locks import RunLocks
from traindeck.services.run_logs import RunLogs
from traindeck.services.run_watch import RunWatch
from traindeck.services.sample_project import SampleProject
from traindeck.services.secrets import KeyringSecrets, SessionSecrets
from traindeck.services.submission import Submission
from traindeck.services.transfers import Transfers
from traindeck.services.unfinished_uploads import UnfinishedUploads
from traindeck.store.database import open_database
from traindeck.store.object_index import ObjectIndex
from traindeck.store.object_indexes import ObjectIndexes
from traindeck.store.paths import Paths
from traindeck.store.runs import RunStore
from traindeck.store.settings import ProfileShelf, SettingsFile
from traindeck.store.transfer_journal import TransferJournal

# A script wants to know; the network's own short pauses are over by then.
PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class Core:
    """Everything the window and the command line work with."""

    paths: Paths
    settings: SettingsFile
    records: RunStore
    connections: Connections
    profiles: ProfileDesk
    choices: JobChoices
    submission: Submission
    desk: RunDesk
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
    index: BlockingCalls
    """For what is known of buckets: sorting a million rows must not keep the disk's calls waiting."""


@asynccontextmanager
async def open_core(
    paths: Paths, *, lab_life: LabLife = LabLife.BACKGROUND, somebody_helps: bool = False
) -> AsyncIterator[Core]:
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
        writer = pool(1, "records")
        database: sqlite3.Connection = await writer.run(lambda _: open_database(paths.database))
        owned.enter_context(closing(database))
        records = RunStore(database, paths.database, writer)

        disk, service, keyring = pool(4, "disk"), pool(16, "service"), pool(1, "keyring")
        indexes = ObjectIndexes(paths.index)
        owned.callback(indexes.close)
        index = pool(3, "index")
        lab = LabLink(paths.lab, lab_life, pool(2, "lab"))
        owned.push_async_callback(lab.close)
        book = ProfileShelf(settings, disk)
        await book.read()
        keyring_secrets = KeyringSecrets(keyring)
        secrets = SessionSecrets(keyring_secrets)

        async def make(profile: Profile, credentials: Credentials) -> Connection:
            return await make_connection(profile, credentials, service)

        connections = Connections(book, secrets, lab.address, make, waits_for_keys=somebody_helps)
        owned.callback(connections.close)
        logs = RunLogs(records, paths.run_log, disk)
        journal = TransferJournal(paths.transfers, pool(1, "journal"))
        owned.callback(journal.close)
        patience_s = None if somebody_helps else PATIENCE_S
        planes = await owned.enter_async_context(Planes(connections))
        transfers = await owned.enter_async_context(
            Transfers(connections, planes, journal, pool(4, "transfers"), paths.transfer_locks, patience_s=patience_s)
        )
        bundles, locks = CodeBundles(paths.bundles, disk), RunLocks(paths.run, disk)
        submission = Submission(records, connections, planes, bundles, locks, book)
        watch = RunWatch(records, connections, logs, settle=submission.settle)
        submission.changed.add(watch.tell)
        desk = RunDesk(records, connections, watch, transfers)
        end_runs = partial(end_lab_runs, records, desk, watch)
        yield Core(
            paths=paths,
            settings=settings,
            records=records,
            connections=connections,
            profiles=ProfileDesk(book, secrets, connections, KeyChecks(service)),
            choices=JobChoices(connections),
            submission=submission,
            desk=desk,
            watch=watch,
            logs=logs,
            planes=planes,
            transfers=transfers,
            unfinished=UnfinishedUploads(planes, journal),
            listings=BucketListings(connections, indexes.open, index),
            sample=SampleProject(resource("sample", "digits"), paths.sample, connections, transfers, disk),
            lab=lab,
            lab_keeper=LabKeeper(paths.lab, lab, pool(2, "lab folder"), end_runs),
            keyring=keyring_secrets,
            disk=disk,
            index=index,
        )
