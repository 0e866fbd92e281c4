"""One window over the services: view-models, panels, pages and commands, wired together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, SignalInstance
from PySide6.QtWidgets import QApplication, QDialog, QWidget

from traindeck.assembly.core import Core
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import Text, say, text
from traindeck.domain.transfers.records import Order
from traindeck.runtime.resources import resource
from traindeck.runtime.tasks import TaskScope
from traindeck.services.storage.place_facts import PlaceService
from traindeck.store.settings import Settings
from traindeck.ui.accounts.profile_dialog import CredentialsDrop, ProfileDialog
from traindeck.ui.jobs.job_form_view import JobFormView
from traindeck.ui.jobs.run_list_view import RunListView
from traindeck.ui.jobs.run_page_view import RunPageView
from traindeck.ui.kit.dialogs import (
    CANCEL,
    Answer,
    asked,
    chosen_file,
    chosen_place,
    shown,
    until_closed,
)
from traindeck.ui.kit.property_dialog import PropertyDialogs
from traindeck.ui.kit.theme import Theme
from traindeck.ui.lab.lab_page_view import LabPageView
from traindeck.ui.logs.log_view import LogView
from traindeck.ui.previews.pictures import drawn_picture
from traindeck.ui.previews.preview_view import PreviewView, follow_with
from traindeck.ui.shell.frame_commands import About, frame_commands
from traindeck.ui.shell.main_window import MainWindow, Panel
from traindeck.ui.shell.menus import SPACER
from traindeck.ui.shell.welcome_page import WelcomePage
from traindeck.ui.storage.browser_tabs import BrowserTabs, Extension
from traindeck.ui.storage.browser_view import CONTEXT, BrowserView
from traindeck.ui.storage.bucket_view import BucketView
from traindeck.ui.storage.buckets import BucketParts, BucketSettingsDialogs
from traindeck.ui.storage.deleted_dialog import DeletedDialog
from traindeck.ui.storage.object_actions import ObjectActions
from traindeck.ui.storage.object_properties import ObjectPropertiesExtension
from traindeck.ui.storage.text_editor_dialog import TextEditorDialog
from traindeck.ui.transfers.bucket_commands import add_pack, add_verify
from traindeck.ui.transfers.sync_dialog import SyncDialog
from traindeck.ui.transfers.transfer_view import TransferView
from traindeck.viewmodels.accounts.accounts import Accounts, KeyNews, is_kept_here
from traindeck.viewmodels.accounts.profile_form import ProfileForm
from traindeck.viewmodels.jobs.job_form import JobForm
from traindeck.viewmodels.jobs.place_notes import PlaceNotes
from traindeck.viewmodels.jobs.run_list import RunList
from traindeck.viewmodels.jobs.run_page import RunPage
from traindeck.viewmodels.lab.lab_page import LabPage
from traindeck.viewmodels.logs.log_feed import LogFeed
from traindeck.viewmodels.ports import Loss, Way
from traindeck.viewmodels.previews.preview import Preview
from traindeck.viewmodels.shell.commands import Command, Commands
from traindeck.viewmodels.shell.notices import Notices
from traindeck.viewmodels.shell.preferences import Preferences, WindowState
from traindeck.viewmodels.shell.status import Status
from traindeck.viewmodels.storage.bucket_access import BucketAccess, PublicMarks
from traindeck.viewmodels.storage.bucket_settings import BucketService
from traindeck.viewmodels.storage.bucket_tree import BucketTree
from traindeck.viewmodels.storage.buckets import BucketRemovals, NewBucketForm
from traindeck.viewmodels.storage.deleting import DeletedObjects, News
from traindeck.viewmodels.storage.moving import CutObjects, Moving
from traindeck.viewmodels.storage.object_browser import ObjectBrowser
from traindeck.viewmodels.storage.object_sheet import BulkWork, ObjectSheet
from traindeck.viewmodels.storage.places import ChangedPlaces, Favourites
from traindeck.viewmodels.storage.text_editor import TextEditor
from traindeck.viewmodels.transfers.dragged_files import DraggedFiles
from traindeck.viewmodels.transfers.sync_form import SyncForm
from traindeck.viewmodels.transfers.transfer_list import TransferList

WELCOME = "welcome"
LAB_PAGE = "lab"
_RUN = "run."
_TOML = "TOML (*.toml)"
# The way to one's own account is always in sight.
_TOOLBAR = ("file.sample", "run.again", "run.stop", "run.log", SPACER, "view.palette", "account.connect")


@dataclass(frozen=True, slots=True)
class Models:
    """The view-models; they live as long as the program, windows come and go with the language."""

    notices: Notices
    layout: WindowState
    preferences: Preferences
    accounts: Accounts
    keys: KeyNews
    status: Status
    form: JobForm
    places: PlaceNotes
    runs: RunList
    log: LogFeed
    transfers: TransferList
    changes: ChangedPlaces
    buckets: BucketTree
    moving: Moving
    cut: CutObjects
    dragged: DraggedFiles
    marks: PublicMarks
    removals: BucketRemovals
    lab: LabPage
    favourites: Favourites
    preview: Preview
    bulk: BulkWork

    @classmethod
    def over(cls, core: Core, scope: TaskScope, notices: Notices, settings: Settings) -> Models:
        buckets = BucketTree(core.connections, core.transfers, core.disk, scope)
        buckets.deleting.told.connect(partial(_tell, notices))
        moving = Moving(core.transfers, scope)
        moving.touched.connect(buckets.was_touched)
        moving.arrived.connect(buckets.arrived)
        preferences = Preferences(core.settings, core.disk, scope, settings)
        form = JobForm(core.submission, core.choices, core.profiles, core.disk, scope)
        return cls(
            notices=notices,
            layout=WindowState(core.paths.home / "window.json", core.disk),
            preferences=preferences,
            accounts=Accounts(core.profiles, scope),
            keys=KeyNews(core.connections, notices),
            status=Status(core.profiles, core.run_service, core.watch, core.transfers.changed, scope),
            form=form,
            places=PlaceNotes(form, PlaceService(core.connections, core.planes), scope),
            runs=RunList(core.run_service, core.submission, core.watch, scope),
            log=LogFeed(core.logs, core.watch, core.disk, scope),
            transfers=TransferList(
                core.transfers, scope, rate_limit=settings.bytes_per_s, keep_rate=preferences.keep_rate
            ),
            changes=ChangedPlaces(core.transfers, scope),
            buckets=buckets,
            moving=moving,
            cut=CutObjects(),
            dragged=DraggedFiles(core.paths.dragged, core.planes, core.disk, scope),
            marks=PublicMarks(core.connections, buckets, scope),
            removals=BucketRemovals(core.connections, scope),
            lab=LabPage(core.lab_keeper, scope),
            favourites=Favourites(core.settings, core.disk, scope, settings),
            preview=Preview(core.planes, core.previews, scope, drawn_picture),
            bulk=BulkWork(core.connections, scope, notices),
        )

    def close(self) -> None:
        for model in (self.keys, self.status, self.runs, self.log, self.transfers, self.changes):
            model.close()


@dataclass(frozen=True, slots=True)
class OpenPages:
    """The tabs of a window and its open forms, for the window that takes its place."""

    # A run, a bucket, or the key of a page of which there is one.
    pages: tuple[Run | ObjectPath | str, ...] = (WELCOME,)
    current: int = 0
    syncs: tuple[SyncForm, ...] = ()
    """What was typed in dialogs that synchronize a folder."""


class Workspace:
    """The window of one language, and what its parts do to each other."""

    def __init__(
        self, core: Core, models: Models, scope: TaskScope, theme: Theme, request_quit: Callable[[], None]
    ) -> None:
        self._core = core
        self._models = models
        self._scope = scope
        self._theme = theme
        self._request_quit = request_quit
        self._is_open = True
        self._run_pages: dict[str, RunPage] = {}
        self._profile_names: tuple[str, ...] = ()
        self.commands = Commands()
        self.runs = RunListView(models.runs, theme, self._confirm)
        self.log = LogView(models.log, theme)
        self.form = JobFormView(models.form, models.places, theme)
        models.buckets.ask_with(self._choose)
        self.buckets = BucketView(models.buckets, theme, self._confirm)
        self.transfers = TransferView(models.transfers, theme, self._confirm)
        self.preview = PreviewView(models.preview, theme)
        self.bucket_parts = BucketParts(
            self.buckets,
            theme,
            scope,
            models.marks,
            models.removals,
            self._new_bucket,
            self._rights,
            self._confirm_loss,
        )

    def build(self) -> None:
        """The window around the panels; apart from them, so that a window in use can answer in between."""
        models = self._models
        self.window = MainWindow(
            theme=self._theme,
            commands=self.commands,
            notices=models.notices,
            status=models.status,
            state=models.layout,
            panels=self._panels(),
            on_close_request=self._request_quit,
            toolbar=_TOOLBAR,
        )
        self._drop = CredentialsDrop(self.window)
        self.properties = PropertyDialogs(self._theme, self._scope, self.window)
        self.settings = BucketSettingsDialogs(
            self.properties, self._bucket_desk, self._theme, self._scope, self.bucket_parts.pages
        )
        self._actions = ObjectActions(
            models.moving, models.cut, models.buckets, models.dragged, self._confirm, self._scope.start, self.window
        )
        self._actions.attach(self.buckets)
        self.browsers = BrowserTabs(
            self.window,
            self._browse,
            models.buckets,
            models.favourites,
            self._theme,
            self._confirm,
            self._extensions(),
        )
        self.browsers.show_marks(models.marks)
        self.bucket_parts.start(self.window, lambda: models.accounts.current, self.settings.show)
        self._add_commands()
        self._connect()

    def _panels(self) -> list[Panel]:
        left, right = Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea
        bottom = Qt.DockWidgetArea.BottomDockWidgetArea
        return [
            Panel("buckets", say("Buckets"), left, self.buckets),
            Panel("runs", say("Runs"), left, self.runs),
            Panel("log", say("Log"), bottom, self.log, raise_=True),
            Panel("transfers", say("Transfers"), bottom, self.transfers),
            Panel("job", say("Job"), right, self.form),
            Panel("preview", say("Preview"), right, self.preview, is_hidden=True),
        ]

    def _extensions(self) -> list[Extension]:
        """What adds to the tabs of buckets."""
        properties = ObjectPropertiesExtension(
            self.properties, self._sheet, self._models.bulk.of, self._theme, self._scope, self._confirm
        )
        look = follow_with(self._models.preview)
        return [
            self._actions.extend,
            self._add_sync,
            self._add_verify,
            self._add_pack,
            self._add_deleted,
            properties,
            self.settings.extend,
            self.bucket_parts.extend,
            look,
        ]

    def _sheet(self, profile: str, path: ObjectPath) -> ObjectSheet:
        return ObjectSheet(profile, path, self._core.connections, self._core.planes, self._core.disk)

    def _add_deleted(self, view: BrowserView, browser: ObjectBrowser) -> None:
        def show() -> None:
            place, deleting = browser.state.place, self._models.buckets.deleting
            deleted = DeletedObjects(browser.profile, place, self._core.planes, deleting, self._scope)
            DeletedDialog(deleted, self.window).open()

        view.commands.add(Command("object.deleted", say("Show deleted objects…"), show, menu=CONTEXT, group=4))

    def _add_sync(self, view: BrowserView, browser: ObjectBrowser) -> None:
        def sync() -> None:
            self._open_sync(SyncForm(browser.profile, browser.state.place, self._core.transfers, self._scope))

        view.commands.add(Command("object.sync", say("Synchronize this folder…"), sync, menu=CONTEXT, group=1))

    def _open_sync(self, form: SyncForm) -> None:
        SyncDialog(form, self._models.transfers, self._theme, self._confirm, self.window).show()

    def _bucket_desk(self, profile: str, bucket: str) -> BucketService:
        return BucketService(profile, bucket, self._core.connections, self._core.unfinished)

    def _show_settings(self, bucket: str) -> None:
        self.settings.show(self._models.accounts.current, bucket)

    def _add_verify(self, view: BrowserView, browser: ObjectBrowser) -> None:
        def begin(order: Order) -> None:
            async def check() -> None:
                await self._core.transfers.begin(order)

            self._scope.start(f"verify {order.source} {order.target}", check)
            self._show_dock("transfers")

        add_verify(view, browser, begin)

    def _add_pack(self, view: BrowserView, browser: ObjectBrowser) -> None:
        def begin(source: ObjectPath, target: ObjectPath) -> None:
            self._models.buckets.pack(source, target, self._confirm, browser.profile)
            self._show_dock("transfers")

        add_pack(view, browser, begin)

    def start(self, pages: OpenPages) -> None:
        """Show the window, then bring in what takes time."""
        for page in pages.pages:
            if isinstance(page, Run):
                self.open_run(page)
            elif isinstance(page, ObjectPath):
                self.open_bucket(page)
            elif page == LAB_PAGE:
                self.open_lab()
            else:
                self.open_welcome()
        self.window.tabs.setCurrentIndex(pages.current)
        self.window.show()
        for form in pages.syncs:
            self._open_sync(form)
        models = self._models
        models.status.load()
        models.form.start()
        models.runs.refresh()
        models.buckets.use_profile(models.accounts.current)

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
        self._is_open = False
        for key in self.window.open_tabs():
            self.window.close_tab(key)
        self._disconnect()
        self.browsers.forget_marks()
        # Each ends what it has under way; only taken away with the window, it would go on for a dialog that is gone.
        for dialog in self.window.findChildren(QDialog):
            dialog.done(QDialog.DialogCode.Rejected)
        self.window.hide()
        self.window.deleteLater()

    def open_pages(self) -> OpenPages:
        keys = self.window.open_tabs()
        syncs = tuple(dialog.form.again() for dialog in self.window.findChildren(SyncDialog) if dialog.isVisible())
        return OpenPages(tuple(self._shown_on(key) for key in keys), self.window.tabs.currentIndex(), syncs)

    def _shown_on(self, key: str) -> Run | ObjectPath | str:
        if key in self._run_pages:
            return self._run_pages[key].state.run
        return self.browsers.place_on(key) or key

    def open_welcome(self) -> None:
        self.window.open_tab(WELCOME, say("Welcome"), self._welcome)

    def open_lab(self) -> None:
        self.window.open_tab(LAB_PAGE, say("The Lab"), self._lab_page)

    def open_run(self, run: Run) -> None:
        self.window.open_tab(f"{_RUN}{run.id}", run.name, partial(self._run_page, run))

    def open_bucket(self, place: ObjectPath) -> None:
        self.browsers.open(self._models.accounts.current, place)

    def _browse(self, profile: str, place: ObjectPath, name: str) -> ObjectBrowser:
        core = self._core
        browser = ObjectBrowser(profile, place, core.listings, core.connections, core.index, self._scope, name)
        browser.bucket_names = self._models.buckets.bucket_names
        browser.make_folder = core.transfers.make_folder
        return browser

    def _new_bucket(self) -> NewBucketForm:
        form = NewBucketForm(self._models.accounts.current, self._core.connections, self._scope)
        form.made.connect(self._bucket_made)
        return form

    def _rights(self, profile: str, bucket: str) -> BucketAccess:
        return BucketAccess(profile, bucket, self._core.connections)

    def _bucket_made(self, _: str) -> None:
        self._models.buckets.refresh(None)

    def _bucket_removed(self, profile: str, bucket: str) -> None:
        self.browsers.close_bucket(profile, bucket)
        if profile == self._models.accounts.current:
            self._models.buckets.refresh(None)

    def _bucket_touched(self, profile: str, bucket: str) -> None:
        if profile == self._models.accounts.current:
            self._models.buckets.was_touched(ObjectPath(bucket))

    def _place_touched(self, profile: str, folder: ObjectPath) -> None:
        if profile == self._models.accounts.current:
            self._models.buckets.was_touched(folder)

    def _place_arrived(self, profile: str, folder: ObjectPath) -> None:
        if profile == self._models.accounts.current:
            self._models.buckets.arrived.emit(folder)

    def _welcome(self) -> QWidget:
        page = WelcomePage(self._theme)
        page.sample_wanted.connect(self.fill_in_sample)
        page.account_wanted.connect(self.connect_account)
        page.credentials_dropped.connect(self.connect_account)
        return page

    def _lab_page(self) -> QWidget:
        return LabPageView(self._models.lab, self._theme, self._confirm_loss)

    def _run_page(self, run: Run) -> QWidget:
        model = RunPage(run, self._models.runs, self._core.run_service, self._core.watch, self._scope)
        self._run_pages[f"{_RUN}{run.id}"] = model
        return RunPageView(model, self._theme, self._confirm)

    # what the parts do to each other

    def _news(self) -> list[tuple[SignalInstance, Callable[..., None]]]:
        """What the view-models tell this window, for as long as it is there."""
        models = self._models
        return [
            (models.form.submitted, self._follow),
            (models.runs.submitted, self._follow),
            (models.runs.opened, self.open_run),
            (models.runs.log_wanted, self.show_log),
            (models.runs.edit_wanted, self._edit),
            (models.runs.changed, self.commands.refresh),
            (models.form.changed, self.commands.refresh),
            (models.accounts.changed, self._account_changed),
            (models.lab.emptied, self._lab_emptied),
            (models.keys.paste_wanted, self.change_account),
            (models.keys.work_again, self._keys_work),
            (models.buckets.opened, self.open_bucket),
            (models.preview.wanted, self._toggle_preview),
            (models.preview.edit_wanted, self.edit_text),
            (models.removals.removed, self._bucket_removed),
            (models.removals.touched, self._bucket_touched),
            (models.changes.touched, self._place_touched),
            (models.changes.arrived, self._place_arrived),
        ]

    def _connect(self) -> None:
        for signal, slot in self._news():
            signal.connect(slot)
        self.window.tab_closed.connect(self._close_page)
        self.window.lab_wanted.connect(self.open_lab)
        self.buckets.settings_wanted.connect(self._show_settings)
        self._drop.dropped.connect(self.connect_account)

    def _disconnect(self) -> None:
        for signal, slot in self._news():
            signal.disconnect(slot)

    def _follow(self, run: Run) -> None:
        self._models.runs.select(run.id)
        self.show_log(run)
        self.open_run(run)

    def show_log(self, run: Run) -> None:
        self._models.log.show(run)
        self._show_dock("log")

    def _edit(self, run: Run) -> None:
        self._models.form.load_spec(run.spec, Path(run.spec.code_folder), run)
        self._show_dock("job")

    def _show_dock(self, name: str) -> None:
        """For work that may end after the window gave way to that of another language."""
        if self._is_open:
            self.window.show_dock(name)

    def _toggle_preview(self) -> None:
        """The keyboard stays in the list, to go on from row to row."""
        self.window.peek_dock("preview")

    def edit_text(self, profile: str, place: ObjectPath) -> None:
        work = "edit a text in the window"
        if not self._scope.is_running(work):
            editor = TextEditor(self._core.planes, self._scope, profile, place)
            editor.saved.connect(self._text_saved)
            dialog = TextEditorDialog(editor, self._theme, self.window)
            editor.load()

            async def show() -> None:
                await shown(dialog)
                editor.close()

            self._scope.start(work, show)

    def _text_saved(self, place: ObjectPath) -> None:
        self._models.buckets.touched.emit(place.parent)
        self._models.preview.saved(place)

    def _close_page(self, key: str) -> None:
        if model := self._run_pages.pop(key, None):
            model.close()
        self.browsers.closed(key)
        if self.browsers.is_empty:
            self._models.preview.choose("", None)

    # commands

    def _add_commands(self) -> None:
        models, form = self._models, self._models.form
        self.commands.add(
            Command("file.sample", say("&Sample project"), self.fill_in_sample, menu="file", group=0, icon="flask"),
            Command("file.new", say("&New job"), form.new, shortcut="Ctrl+N", menu="file", group=1),
            Command("file.open", say("&Open job file…"), self._open_job, shortcut="Ctrl+O", menu="file", group=1),
            Command("file.save", say("&Save job file…"), self._save_job, shortcut="Ctrl+S", menu="file", group=1),
            Command("run.submit", say("&Submit"), form.submit, shortcut="Ctrl+Return", menu="run", group=0),
            Command(
                "run.again",
                say("Run &again"),
                self._again,
                enabled=self._has_run,
                shortcut="R",
                menu="run",
                group=1,
                icon="again",
            ),
            Command(
                "run.edit",
                say("&Edit and run again"),
                self._edit_selected,
                enabled=self._has_run,
                shortcut="Shift+R",
                menu="run",
                group=1,
            ),
            Command(
                "run.check",
                say("&Check again whether it exists"),
                self._check_again,
                enabled=self._is_unconfirmed,
                menu="run",
                group=1,
            ),
            Command("run.stop", say("S&top"), self._stop, enabled=self._can_stop, menu="run", group=2, icon="stop"),
            Command(
                "run.log", say("Show &log"), self._selected_log, enabled=self._has_run, menu="run", group=2, icon="log"
            ),
            Command("run.open", say("&Open run"), self._open_selected, enabled=self._has_run, menu="run", group=2),
            Command("run.refresh", say("&Refresh"), self._refresh, shortcut="F5", menu="run", group=3),
            Command(
                "account.connect",
                say("&Connect your account…"),
                self.connect_account,
                menu="account",
                group=0,
                icon="account",
            ),
            Command(
                "account.change",
                say("&Keys and settings of this account…"),
                self._change_account,
                enabled=self._can_change_account,
                menu="account",
                group=2,
                icon="key",
            ),
            Command(
                "account.remove",
                say("&Remove this account…"),
                self._remove_account,
                enabled=self._can_change_account,
                menu="account",
                group=2,
            ),
            Command("bucket.new", say("New bucket…"), self.bucket_parts.make_bucket),
            Command("account.lab", say("The &Lab…"), self.open_lab, menu="account", group=3, icon="flask"),
            Command("help.welcome", say("&Welcome page"), self.open_welcome, menu="help", group=0),
            # All in one go: the menus are built anew each time.
            *frame_commands(self.window, models.preferences, self._request_quit, self._about),
            *self._account_commands(),
        )

    def _list_accounts(self) -> None:
        if self._profile_names != self._models.accounts.names:
            self.commands.remove(f"account.use.{name}" for name in self._profile_names)
            self.commands.add(*self._account_commands())
        else:
            self.commands.refresh()  # another one may be the current one

    def _account_commands(self) -> list[Command]:
        """One command an account, to switch to it."""
        self._profile_names = self._models.accounts.names
        return [
            Command(
                f"account.use.{name}",
                say("Lab on this computer") if name == "lab" else name,
                partial(self._models.accounts.use, name),
                checked=partial(self._is_current, name),
                menu="account",
                group=1,
            )
            for name in self._profile_names
        ]

    def _selected(self) -> Run | None:
        return self._models.runs.state.selected_run

    def _has_run(self) -> bool:
        return self._selected() is not None

    def _can_stop(self) -> bool:
        run = self._selected()
        return run is not None and run.state.can_stop

    def _is_unconfirmed(self) -> bool:
        run = self._selected()
        return run is not None and run.state is RunState.UNCONFIRMED

    def _check_again(self) -> None:
        if run := self._selected():
            self._models.runs.check_again(run.id)

    def _again(self) -> None:
        if run := self._selected():
            self._models.runs.rerun(run.id)

    def _edit_selected(self) -> None:
        if run := self._selected():
            self._models.runs.edit_again(run.id)

    def _stop(self) -> None:
        if run := self._selected():
            self._models.runs.stop([run.id], self._confirm)

    def _selected_log(self) -> None:
        if run := self._selected():
            self.show_log(run)

    def _open_selected(self) -> None:
        if run := self._selected():
            self.open_run(run)

    def _refresh(self) -> None:
        self._core.watch.wake()
        self._models.runs.refresh()
        self._models.buckets.refresh()

    # accounts

    def _is_current(self, name: str) -> bool:
        return self._models.accounts.current == name

    def _can_change_account(self) -> bool:
        return is_kept_here(self._models.accounts.current)

    def _account_changed(self) -> None:
        self._list_accounts()
        models = self._models
        models.form.refresh_profiles()
        models.form.choose_profile(models.accounts.current)
        models.buckets.use_profile(models.accounts.current)
        self.browsers.keep_only(models.accounts.current)
        models.status.load()

    def _lab_emptied(self) -> None:
        """Its buckets and jobs are gone: nothing of them may stay in sight."""
        models = self._models
        if models.accounts.is_lab:
            models.buckets.use_profile(models.accounts.current)
        for page in self._run_pages.values():
            page.read_outputs()
        self._core.watch.wake()
        models.runs.refresh()
        models.status.load()

    def connect_account(self, credentials: Path | None = None) -> None:
        form = ProfileForm(self._core.profiles, self._scope)
        if isinstance(credentials, Path):
            form.load(credentials)
        self._show_profile(form)

    def _change_account(self) -> None:
        self.change_account(self._models.accounts.current)

    def change_account(self, name: str) -> None:
        """Other keys or settings for an account that is there."""
        self._show_profile(ProfileForm(self._core.profiles, self._scope, self._core.profiles.get(name)))

    def _keys_work(self, name: str) -> None:
        """What was asked for in vain meanwhile is asked for again."""
        self._refresh()
        if self._models.form.state.profile == name:
            self._models.form.load_offer()

    def _show_profile(self, form: ProfileForm) -> None:
        form.added.connect(self._account_saved)
        dialog = ProfileDialog(form, self._theme, self.window)

        async def show() -> None:
            await shown(dialog)

        self._scope.start("connect an account", show)

    def _account_saved(self, _: str) -> None:
        self._models.accounts.look()
        self._refresh()

    def _remove_account(self) -> None:
        self._models.accounts.remove_current(self._confirm)

    # job files and the sample

    def fill_in_sample(self) -> None:
        async def fill_in() -> None:
            await self.prepare_sample()

        self._scope.start("prepare the sample", fill_in)

    async def prepare_sample(self) -> Path:
        """The sample in the form, its data in the Lab; the answer is the folder it is in."""
        spec, base = await self._core.sample.prepare()
        self._models.form.load_spec(spec, base)
        self._show_dock("job")
        self._models.buckets.refresh()
        return base

    def _open_job(self) -> None:
        async def choose() -> None:
            path = await chosen_file(self.window, say("Open job file"), _TOML)
            if path is not None:
                self._models.form.open_file(path)
                self._show_dock("job")

        self._scope.start("open a job file", choose)

    def _save_job(self) -> None:
        async def choose() -> None:
            path = await chosen_place(self.window, say("Save job file"), "job.toml", _TOML)
            if path is not None:
                self._models.form.save_file(path)

        self._scope.start("save a job file", choose)

    # small talk

    async def _confirm(self, question: Text, action: Text) -> bool:
        answer = Answer("yes", say(action), "danger")
        return await asked(self._asking, say(question), "", answer) == answer.id

    async def _choose(self, question: Text, facts: Sequence[Text], ways: Sequence[Way]) -> str:
        answers = [Answer(way.id, say(way.action), "primary" if way.is_advised else "") for way in ways]
        answer = await asked(self.window, say(question), "\n\n".join(say(fact) for fact in facts), *answers)
        return "" if answer == CANCEL else answer

    async def _confirm_loss(self, loss: Loss) -> bool:
        answer = Answer("yes", say(loss.action), "danger")
        facts = "\n\n".join(say(fact) for fact in loss.facts)
        typed = say(loss.typed) if loss.typed else ""
        return await asked(self._asking, say(loss.question), facts, answer, typed=typed) == answer.id

    @property
    def _asking(self) -> QWidget:
        """Where a question belongs: over the window, or over the dialog beside it that is being used."""
        active = QApplication.activeWindow()
        is_beside = isinstance(active, QDialog) and not active.isModal() and active.parent() is self.window
        return active if is_beside and active is not None else self.window

    def _about(self) -> None:
        About(self._theme, self.window).open()


def _tell(notices: Notices, news: News) -> None:
    notices.news(news.message, action=news.undo, words=text("Undo") if news.undo else None)


def make_theme(application: QApplication, chosen: str) -> Theme:
    return Theme(application, resource("icons"), chosen)
