"""Builds every service of the window, top to bottom, and closes them in reverse order."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

from traindeck.assembly.lab_keeper import LabKeeper
from traindeck.assembly.lab_link import LabLife, LabLink
from traindeck.assembly.run_core import open_run_core
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.resources import resource
from traindeck.services.accounts.connections import Connections
from traindeck.services.accounts.profiles import ProfileService
from traindeck.services.accounts.secrets import KeyringSecrets
from traindeck.services.jobs.choices import JobChoices
from traindeck.services.jobs.run_watch import RunWatch
from traindeck.services.jobs.runs import RunService, end_lab_runs
from traindeck.services.jobs.sample_project import SampleProject
from traindeck.services.jobs.submission import Submission
from traindeck.services.logs.run_logs import RunLogs
from traindeck.services.storage.bucket_listing import BucketListings
from traindeck.services.storage.planes import Planes
from traindeck.services.storage.unfinished_uploads import UnfinishedUploads
from traindeck.services.transfers import Transfers
from traindeck.store.object_index import ObjectIndexes
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
    listings: BucketListings
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
    async with AsyncExitStack() as owned:

        def pool(workers: int, name: str) -> BlockingCalls:
            calls = BlockingCalls(workers, name)
            owned.callback(calls.close)
            return calls

        runs = await owned.enter_async_context(open_run_core(paths, lab_life=lab_life, somebody_helps=somebody_helps))
        connections, transfers, disk = runs.connections, runs.transfers, runs.disk
        indexes = ObjectIndexes(paths.index)
        owned.callback(indexes.close)
        index = pool(3, "index")
        end_runs = partial(end_lab_runs, runs.records, runs.run_service, runs.watch)
        yield Core(
            paths=paths,
            settings=runs.settings,
            records=runs.records,
            connections=connections,
            profiles=runs.profile_service(),
            choices=JobChoices(connections),
            submission=runs.submission,
            run_service=runs.run_service,
            watch=runs.watch,
            logs=runs.logs,
            planes=runs.planes,
            transfers=transfers,
            unfinished=UnfinishedUploads(runs.planes, runs.journal),
            listings=BucketListings(connections, indexes.open, index),
            sample=SampleProject(resource("sample", "digits"), paths.sample, connections, transfers, disk),
            lab=runs.lab,
            lab_keeper=LabKeeper(paths.lab, runs.lab, pool(2, "lab folder"), end_runs),
            keyring=runs.keyring,
            disk=disk,
            previews=pool(2, "previews"),
            index=index,
        )
