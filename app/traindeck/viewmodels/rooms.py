"""The view-models of each room of the window, and how it makes more of them; they outlive the windows they are in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import SignalInstance

from traindeck.domain.accounts.profiles import is_region
from traindeck.domain.jobs.job import Run
from traindeck.domain.jobs.run_table import exported
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.files import local_errors, write_whole
from traindeck.runtime.tasks import TaskScope
from traindeck.services.accounts.connections import Connections
from traindeck.services.accounts.profiles import ProfileService
from traindeck.services.datasets.datasets import Datasets
from traindeck.services.datasets.loaders import save_loader
from traindeck.services.jobs.billing import Billing
from traindeck.services.jobs.choices import JobChoices
from traindeck.services.jobs.comparing import RunComparing
from traindeck.services.jobs.run_watch import RunWatch
from traindeck.services.jobs.runs import RunService
from traindeck.services.jobs.sample_project import SampleProject
from traindeck.services.storage.bucket_listing import BucketListings
from traindeck.services.storage.planes import Planes
from traindeck.services.storage.unfinished_uploads import UnfinishedUploads
from traindeck.services.transfers import Transfers
from traindeck.viewmodels.accounts.accounts import Accounts, KeyNews
from traindeck.viewmodels.accounts.profile_form import ProfileForm
from traindeck.viewmodels.datasets.dataset_look import DatasetReportPage
from traindeck.viewmodels.datasets.mini_form import MiniForm
from traindeck.viewmodels.jobs.costs.billing_page import BillingPage, BillingPlaces
from traindeck.viewmodels.jobs.form.form_parts import FormParts
from traindeck.viewmodels.jobs.form.job_form import JobForm
from traindeck.viewmodels.jobs.runs.code_keeping import CodeKeeping
from traindeck.viewmodels.jobs.runs.run_list import RunList
from traindeck.viewmodels.jobs.runs.run_page import RunPage
from traindeck.viewmodels.jobs.runs.sample_run import SampleRun
from traindeck.viewmodels.logs.log_feed import LogFeed
from traindeck.viewmodels.previews.preview import Preview
from traindeck.viewmodels.shell.journal import Journal, Subject, Topic
from traindeck.viewmodels.shell.window_state import WindowState
from traindeck.viewmodels.storage.bucket_access import BucketAccess, PublicMarks
from traindeck.viewmodels.storage.bucket_tree import BucketTree
from traindeck.viewmodels.storage.buckets import BucketRemovals, BucketService, NewBucketForm
from traindeck.viewmodels.storage.deleting import DeletedObjects, News
from traindeck.viewmodels.storage.moving import CutObjects, Moving
from traindeck.viewmodels.storage.object_browser import ObjectBrowser
from traindeck.viewmodels.storage.object_sheet import BulkWork, ObjectSheet
from traindeck.viewmodels.storage.places import ChangedPlaces, Favourites
from traindeck.viewmodels.storage.text_editor import TextEditor
from traindeck.viewmodels.transfers.dragged_files import DraggedFiles
from traindeck.viewmodels.transfers.sync_form import SyncForm
from traindeck.viewmodels.transfers.transfer_list import TransferList


@dataclass(frozen=True, slots=True)
class JobsRoom:
    """Runs, the form for new ones, and their logs."""

    parts: FormParts
    runs: RunList
    log: LogFeed
    service: RunService
    watch: RunWatch
    sample: SampleProject
    sample_run: SampleRun
    code: CodeKeeping
    comparing: RunComparing
    disk: BlockingCalls
    scope: TaskScope

    def __post_init__(self) -> None:
        self.runs.gone.connect(self.form.forget_run)

    @property
    def form(self) -> JobForm:
        return self.parts.form

    async def export(self, runs: Sequence[Run], file: Path) -> None:
        """As the ending of its name says; what was there is replaced, for the dialog has asked."""
        measured = await self.service.records.measured(runs)
        content = exported(measured, file.suffix.lower(), self.runs.clock())
        await self.disk.run(lambda _: _write(file, content))

    def page(self, pinned: str = "") -> RunPage:
        """For the run of this id; without one for whichever is selected."""
        return RunPage(self.runs, self.service, self.watch, self.scope, pinned)

    def refresh(self) -> None:
        self.watch.wake()
        self.runs.refresh()


@dataclass(frozen=True, slots=True)
class BillingRoom:
    """What jobs cost."""

    billing: Billing
    choices: JobChoices
    profiles: ProfileService
    watch: RunWatch
    layout: WindowState
    scope: TaskScope

    def page(self) -> BillingPage:
        """For the accounts and regions that were chosen last, as far as they are there."""
        page = BillingPage(self.billing, self.choices, self.profiles, self.watch, self.scope)
        kept = self.layout.get(_PLACES)
        if isinstance(kept, dict):
            known = set(page.accounts())
            accounts = [name for name in _words_in(kept.get("accounts")) if name in known]
            regions = [name for name in _words_in(kept.get("regions")) if not name or is_region(name)]
            if accounts and regions:
                page.choose(BillingPlaces(tuple(accounts), tuple(regions)))
        return page

    def keep_places(self, places: BillingPlaces) -> None:
        self.layout.put(_PLACES, {"accounts": list(places.accounts), "regions": list(places.regions)})


_PLACES = "billing"


def _words_in(kept: object) -> list[str]:
    """What the file says may be anything."""
    return [one for one in kept if isinstance(one, str)] if isinstance(kept, list) else []


@dataclass(frozen=True, slots=True)
class StorageRoom:
    """Buckets and what is in them."""

    buckets: BucketTree
    moving: Moving
    cut: CutObjects
    dragged: DraggedFiles
    marks: PublicMarks
    removals: BucketRemovals
    favourites: Favourites
    bulk: BulkWork
    changes: ChangedPlaces
    connections: Connections
    planes: Planes
    transfers: Transfers
    unfinished: UnfinishedUploads
    listings: BucketListings
    index: BlockingCalls
    disk: BlockingCalls
    scope: TaskScope

    def browse(self, profile: str, place: ObjectPath, name: str) -> ObjectBrowser:
        """What a tab shows; `name` is its own."""
        browser = ObjectBrowser(profile, place, self.listings, self.connections, self.index, self.scope, name)
        browser.bucket_names = self.buckets.bucket_names
        browser.make_folder = self.transfers.make_folder
        browser.news.connect(self.buckets.news)
        return browser

    def new_bucket(self, profile: str, made: Callable[[str], None]) -> NewBucketForm:
        form = NewBucketForm(profile, self.connections, self.scope)
        form.made.connect(made)
        return form

    def rights(self, profile: str, bucket: str) -> BucketAccess:
        return BucketAccess(profile, bucket, self.connections)

    def settings(self, profile: str, bucket: str) -> BucketService:
        return BucketService(profile, bucket, self.connections, self.unfinished)

    def sheet(self, profile: str, path: ObjectPath) -> ObjectSheet:
        return ObjectSheet(profile, path, self.connections, self.planes, self.disk)

    def deleted(self, profile: str, place: ObjectPath) -> DeletedObjects:
        return DeletedObjects(profile, place, self.planes, self.buckets.deleting, self.scope)


@dataclass(frozen=True, slots=True)
class TransfersRoom:
    """What is on its way."""

    list: TransferList
    transfers: Transfers
    scope: TaskScope

    def sync(self, profile: str, place: ObjectPath) -> SyncForm:
        return SyncForm(profile, place, self.transfers, self.scope)


@dataclass(frozen=True, slots=True)
class DatasetsRoom:
    """Small copies and reports of datasets."""

    buckets: BucketTree
    datasets: Datasets
    journal: Journal
    scope: TaskScope

    @property
    def look_wanted(self) -> SignalInstance:
        """A folder was dropped, and is to be looked at before it is uploaded."""
        return self.buckets.look_wanted

    def mini(self, profile: str, source: str) -> MiniForm:
        return MiniForm(source, profile, self.datasets, self.scope, self._tell)

    def report(self, profile: str, place: str) -> DatasetReportPage:
        return DatasetReportPage(place, profile, self.datasets, self.scope)

    async def save_loader(self, framework: str, place: Path) -> None:
        """The dialog that asked for the place has asked about a file that is there, too."""
        await self.datasets.disk.run(lambda _: save_loader(framework, place))
        self.journal.done(text("Saved the loader as {file}.", file=str(place)), topic=Topic(Subject.FILE, str(place)))

    def _tell(self, news: News) -> None:
        self.journal.done(news.message, topic=news.topic)


@dataclass(frozen=True, slots=True)
class PreviewsRoom:
    """Looking into objects, and changing texts in place."""

    preview: Preview
    planes: Planes
    scope: TaskScope

    def editor(self, profile: str, place: ObjectPath) -> TextEditor:
        return TextEditor(self.planes, self.scope, profile, place)


@dataclass(frozen=True, slots=True)
class AccountsRoom:
    """Which account is used, and its keys."""

    accounts: Accounts
    keys: KeyNews
    service: ProfileService
    scope: TaskScope

    def form(self, name: str = "") -> ProfileForm:
        """For a new account, or other keys and settings for one that is there."""
        return ProfileForm(self.service, self.scope, self.service.get(name) if name else None)


def _write(file: Path, content: str) -> None:
    with local_errors(file):
        write_whole(file, content.encode())
