"""Builds every service of the window, top to bottom, and closes them in reverse order."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial

from traindeck.assembly.account_core import pool
from traindeck.assembly.lab_keeper import LabKeeper
from traindeck.assembly.run_core import RunCore
from traindeck.runtime.resources import resource
from traindeck.services.desktop.notifications import DesktopNotifications
from traindeck.services.jobs.runs import end_lab_runs, own_runs
from traindeck.services.jobs.sample_project import SampleProject
from traindeck.services.storage.bucket_listing import BucketListings
from traindeck.services.storage.unfinished_uploads import UnfinishedUploads
from traindeck.store.object_index import ObjectIndexes


class Core(RunCore):
    """Everything the window and the command line work with."""

    async def _open(self, owned: AsyncExitStack) -> None:
        await super()._open(owned)
        paths, connections = self.paths, self.connections
        self.profiles = self.profile_service()
        self.unfinished = UnfinishedUploads(self.planes, self.journal)
        indexes = ObjectIndexes(paths.index)
        owned.callback(indexes.close)
        # For what is known of buckets: sorting a million rows must not keep the disk's calls waiting.
        self.index = pool(owned, 3, "index")
        self.listings = BucketListings(connections, indexes.open, self.index)
        self.sample = SampleProject(resource("sample", "digits"), paths.sample, connections, self.transfers, self.disk)
        end_runs = partial(end_lab_runs, self.records, self.run_service, self.watch)
        own = partial(own_runs, self.records, self.submission.begun)
        calls = pool(owned, 2, "lab folder")
        self.lab_keeper = LabKeeper(paths.lab, self.lab, calls, end_runs, own, self.run_service.stop)
        owned.push_async_callback(self.lab_keeper.leave)
        self.notifications = DesktopNotifications()
        # For parsing and drawing what is looked into.
        self.previews = pool(owned, 2, "previews")
