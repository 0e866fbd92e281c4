"""The rooms of the window, and the view-models behind them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from PySide6.QtWidgets import QDialog, QWidget

from traindeck.assembly.core import Core
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.runtime.tasks import TaskScope
from traindeck.services.storage.place_facts import PlaceService
from traindeck.store.settings import Settings
from traindeck.ui.accounts.feature import AccountsFeature
from traindeck.ui.jobs.feature import JobsFeature
from traindeck.ui.jobs.job_form_view import JobFormView
from traindeck.ui.jobs.run_list_view import RunListView
from traindeck.ui.kit.dialogs import until_closed
from traindeck.ui.kit.property_dialog import PropertyDialogs
from traindeck.ui.lab.feature import LabFeature
from traindeck.ui.logs.log_view import LogView
from traindeck.ui.previews.feature import PreviewsFeature
from traindeck.ui.previews.pictures import drawn_picture
from traindeck.ui.previews.preview_view import PreviewView
from traindeck.ui.shell.feature import Feature, Shell
from traindeck.ui.shell.frame_feature import WELCOME, FrameFeature
from traindeck.ui.storage.browser_tabs import BrowserTabs
from traindeck.ui.storage.bucket_view import BucketView
from traindeck.ui.storage.buckets import BucketSettingsDialogs
from traindeck.ui.storage.feature import StorageFeature
from traindeck.ui.transfers.feature import TransfersFeature
from traindeck.ui.transfers.sync_dialog import SyncDialog
from traindeck.ui.transfers.transfer_view import TransferView
from traindeck.viewmodels.accounts.accounts import Accounts, KeyNews
from traindeck.viewmodels.jobs.job_form import JobForm
from traindeck.viewmodels.jobs.place_notes import PlaceNotes
from traindeck.viewmodels.jobs.run_list import RunList
from traindeck.viewmodels.lab.lab_page import LabPage
from traindeck.viewmodels.logs.log_feed import LogFeed
from traindeck.viewmodels.previews.preview import Preview
from traindeck.viewmodels.rooms import (
    AccountsRoom,
    JobsRoom,
    PreviewsRoom,
    StorageRoom,
    TransfersRoom,
)
from traindeck.viewmodels.shell.notices import Notices
from traindeck.viewmodels.shell.preferences import Preferences, WindowState
from traindeck.viewmodels.shell.status import Status
from traindeck.viewmodels.storage.bucket_access import PublicMarks
from traindeck.viewmodels.storage.bucket_tree import BucketTree
from traindeck.viewmodels.storage.buckets import BucketRemovals
from traindeck.viewmodels.storage.deleting import News
from traindeck.viewmodels.storage.moving import CutObjects, Moving
from traindeck.viewmodels.storage.object_sheet import BulkWork
from traindeck.viewmodels.storage.places import ChangedPlaces, Favourites
from traindeck.viewmodels.transfers.dragged_files import DraggedFiles
from traindeck.viewmodels.transfers.sync_form import SyncForm
from traindeck.viewmodels.transfers.transfer_list import TransferList

PanelWidget = TypeVar("PanelWidget", bound=QWidget)
Room = TypeVar("Room", bound=Feature)


@dataclass(frozen=True, slots=True)
class Models:
    """The view-models; they live as long as the program, windows come and go with the language."""

    notices: Notices
    layout: WindowState
    preferences: Preferences
    status: Status
    accounts_room: AccountsRoom
    jobs: JobsRoom
    storage: StorageRoom
    transfers_room: TransfersRoom
    previews: PreviewsRoom
    lab: LabPage

    @classmethod
    def over(
        cls,
        core: Core,
        scope: TaskScope,
        notices: Notices,
        layout: WindowState,
        settings: Settings,
        runs: RunList,
    ) -> Models:
        """`runs` is there already: the list is what is looked for first."""
        preferences = Preferences(core.settings, core.disk, scope, settings)
        form = JobForm(core.submission, core.choices, core.profiles, core.disk, scope)
        places = PlaceNotes(form, PlaceService(core.connections, core.planes), scope)
        log = LogFeed(core.logs, core.watch, core.disk, scope)
        transfers = TransferList(
            core.transfers, scope, rate_limit=settings.bytes_per_s, keep_rate=preferences.keep_rate
        )
        preview = Preview(core.planes, core.previews, scope, drawn_picture)
        accounts = Accounts(core.profiles, scope)
        status = Status(core.profiles, core.run_service, core.watch, core.transfers.changed, scope)
        accounts.changed.connect(status.load)
        return cls(
            notices,
            layout,
            preferences,
            status,
            AccountsRoom(accounts, KeyNews(core.connections, notices), core.profiles, scope),
            JobsRoom(form, places, runs, log, core.run_service, core.watch, core.sample, scope),
            _storage(core, scope, notices, settings),
            TransfersRoom(transfers, core.transfers, scope),
            PreviewsRoom(preview, core.planes, scope),
            LabPage(core.lab_keeper, scope),
        )

    # by their own names, as those who use the program as a person would ask for them

    @property
    def accounts(self) -> Accounts:
        return self.accounts_room.accounts

    @property
    def form(self) -> JobForm:
        return self.jobs.form

    @property
    def runs(self) -> RunList:
        return self.jobs.runs

    @property
    def log(self) -> LogFeed:
        return self.jobs.log

    @property
    def buckets(self) -> BucketTree:
        return self.storage.buckets

    @property
    def removals(self) -> BucketRemovals:
        return self.storage.removals

    @property
    def transfers(self) -> TransferList:
        return self.transfers_room.list

    def close(self) -> None:
        for model in (
            self.accounts_room.keys, self.status, self.runs, self.log, self.transfers, self.storage.changes,
        ):  # fmt: skip
            model.close()


def _storage(core: Core, scope: TaskScope, notices: Notices, settings: Settings) -> StorageRoom:
    buckets = BucketTree(core.connections, core.transfers, core.disk, scope)
    buckets.deleting.news.connect(partial(_tell, notices))
    moving = Moving(core.transfers, scope)
    moving.touched.connect(buckets.was_touched)
    moving.arrived.connect(buckets.arrived)
    return StorageRoom(
        buckets=buckets,
        moving=moving,
        cut=CutObjects(),
        dragged=DraggedFiles(core.paths.dragged, core.planes, core.disk, scope),
        marks=PublicMarks(core.connections, buckets, scope),
        removals=BucketRemovals(core.connections, scope),
        favourites=Favourites(core.settings, core.disk, scope, settings),
        bulk=BulkWork(core.connections, scope, notices),
        changes=ChangedPlaces(core.transfers, scope),
        connections=core.connections,
        planes=core.planes,
        transfers=core.transfers,
        unfinished=core.unfinished,
        listings=core.listings,
        index=core.index,
        disk=core.disk,
        scope=scope,
    )


@dataclass(frozen=True, slots=True)
class OpenPages:
    """The tabs of a window and its open forms, for the window that takes its place."""

    # A run, a bucket, or the key of a page of which there is one.
    pages: tuple[object, ...] = (WELCOME,)
    current: int = 0
    syncs: tuple[SyncForm, ...] = ()
    """What was typed in dialogs that synchronize a folder."""


class Workspace:
    """The window of one language with all rooms in it."""

    def __init__(self, shell: Shell, models: Models) -> None:
        self._models = models
        self.shell = shell
        self.window = shell.window
        self.commands = shell.commands

    async def build(self) -> None:
        """Room by room, so that a window in use can answer in between."""
        models, shell = self._models, self.shell
        self.jobs = await _added(shell, lambda: JobsFeature(shell, models.jobs, models.storage))
        self.storage = await _added(shell, lambda: StorageFeature(shell, models.storage, models.accounts))
        self._transfers = await _added(shell, lambda: TransfersFeature(shell, models.transfers_room))
        await _added(shell, lambda: PreviewsFeature(shell, models.previews, models.storage))
        accounts = await _added(
            shell, lambda: AccountsFeature(shell, models.accounts_room, models.jobs, models.storage)
        )
        lab = await _added(shell, lambda: LabFeature(shell, models.lab, self._lab_emptied))
        await _added(
            shell,
            lambda: FrameFeature(
                shell,
                models.preferences,
                models.status,
                self.jobs.fill_in_sample,
                accounts.connect_account,
                lab.open,
            ),
        )
        self.connect_account = accounts.connect_account
        shell.add_commands()

    def start(self, pages: OpenPages) -> None:
        """Show the window, then bring in what takes time."""
        for page in pages.pages:
            self.shell.restore(page)
        self.window.tabs.setCurrentIndex(pages.current)
        self.window.show()
        for form in pages.syncs:
            self._transfers.open_sync(form)
        models = self._models
        models.status.load()
        models.form.start()
        models.runs.refresh()
        models.buckets.use_profile(models.accounts.current)

    @staticmethod
    def first_pages() -> OpenPages:
        return OpenPages()

    def open_pages(self) -> OpenPages:
        keys = self.window.open_tabs()
        syncs = tuple(dialog.form.again() for dialog in self.window.findChildren(SyncDialog) if dialog.isVisible())
        return OpenPages(tuple(self.shell.shown_on(key) for key in keys), self.window.tabs.currentIndex(), syncs)

    async def until_free(self, tell: Callable[[str], None]) -> None:
        """Until nothing that was typed would go with the window; `tell` gets the title of what it waits for."""
        while True:
            if not await self.properties.may_go():
                for dialog in self.properties.unsaved():
                    tell(dialog.windowTitle())
                    await until_closed(dialog)
                    break
                continue
            modal = [dialog for dialog in self.window.findChildren(QDialog) if dialog.isModal() and dialog.isVisible()]
            if not modal:
                return
            await until_closed(modal[0])

    def dispose(self) -> None:
        """Take the window down; the view-models go on."""
        self.shell.dispose()

    def _lab_emptied(self) -> None:
        """Its buckets and jobs are gone: nothing of them may stay in sight."""
        models = self._models
        if models.accounts.is_lab:
            models.buckets.use_profile(models.accounts.current)
        self.jobs.read_outputs()
        models.jobs.refresh()
        models.status.load()

    # by their own names, as those who use the window as a person would look for them

    @property
    def runs(self) -> RunListView:
        return self._panel("runs", RunListView)

    @property
    def log(self) -> LogView:
        return self._panel("log", LogView)

    @property
    def form(self) -> JobFormView:
        return self._panel("job", JobFormView)

    @property
    def buckets(self) -> BucketView:
        return self._panel("buckets", BucketView)

    @property
    def transfers(self) -> TransferView:
        return self._panel("transfers", TransferView)

    @property
    def preview(self) -> PreviewView:
        return self._panel("preview", PreviewView)

    @property
    def browsers(self) -> BrowserTabs:
        return self.storage.browsers

    @property
    def settings(self) -> BucketSettingsDialogs:
        return self.storage.settings

    @property
    def properties(self) -> PropertyDialogs:
        return self.storage.properties

    def open_bucket(self, place: ObjectPath) -> None:
        self.storage.open_bucket(place)

    async def prepare_sample(self) -> Path:
        return await self.jobs.prepare_sample()

    def _panel(self, panel_id: str, kind: type[PanelWidget]) -> PanelWidget:
        panel = self.window.panel(panel_id)
        assert isinstance(panel, kind)
        return panel


async def _added(shell: Shell, make: Callable[[], Room]) -> Room:
    room = make()
    shell.add(room)
    await asyncio.sleep(0)
    return room


def _tell(notices: Notices, news: News) -> None:
    notices.news(news.message, action=news.undo, words=text("Undo") if news.undo else None)
