"""The rooms of the window, and the view-models behind them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TypeVar

from PySide6.QtWidgets import QApplication, QDialog

from traindeck.assembly.account_core import use_in_lab
from traindeck.assembly.core import Core
from traindeck.domain.errors import AppError, NotFound
from traindeck.domain.jobs.availability import sold_out_at
from traindeck.domain.jobs.form.job_file import to_toml
from traindeck.domain.openings import JobFileOpening, Opening, PlaceOpening, RunOpening, parse
from traindeck.domain.settings import (
    EVENTS_KEPT,
    LINKS,
    LOGS_IN_PROJECT,
    PACK_ADVICE,
    PART_BYTES,
    RATE,
    REQUESTS,
    STORE_MD5,
    SettingValue,
    hang_wait,
)
from traindeck.domain.texts import text
from traindeck.domain.transfers.orders import Links, UsualRules
from traindeck.runtime.tasks import TaskScope
from traindeck.services.logs.project_copies import ProjectCopies
from traindeck.services.notices.hang_guard import HangGuard
from traindeck.services.scripts.fix_files import FixFiles
from traindeck.store.settings import Settings
from traindeck.ui.accounts.feature import AccountsFeature
from traindeck.ui.datasets.feature import DatasetsFeature
from traindeck.ui.jobs.costs.billing_feature import BillingFeature
from traindeck.ui.jobs.feature import JobsFeature
from traindeck.ui.jobs.runs.compare_feature import CompareFeature
from traindeck.ui.jobs.runs.hang_feature import HangFeature
from traindeck.ui.kit.dialogs import until_closed
from traindeck.ui.lab.feature import LabFeature
from traindeck.ui.logs.feature import LogFeature
from traindeck.ui.previews.feature import PreviewsFeature
from traindeck.ui.previews.pictures import drawn_picture
from traindeck.ui.scripts.feature import ScriptsFeature
from traindeck.ui.shell.clock_settings import has_clock_settings, open_clock_settings
from traindeck.ui.shell.desktop_feature import DesktopFeature, bring_to_front
from traindeck.ui.shell.events_feature import EventsFeature
from traindeck.ui.shell.feature import Feature, Shell
from traindeck.ui.shell.frame_feature import FrameFeature
from traindeck.ui.shell.problem_report_feature import ProblemReportFeature
from traindeck.ui.shell.settings_feature import SettingsFeature
from traindeck.ui.storage.feature import StorageFeature
from traindeck.ui.transfers.feature import TransfersFeature
from traindeck.viewmodels.accounts.account_news import AccountNews
from traindeck.viewmodels.accounts.accounts import Accounts, KeyNews
from traindeck.viewmodels.jobs.costs.budget_news import BudgetNews
from traindeck.viewmodels.jobs.costs.live_costs import LiveCosts
from traindeck.viewmodels.jobs.form.code_findings import CodeFindings
from traindeck.viewmodels.jobs.form.code_folder import CodeFolder
from traindeck.viewmodels.jobs.form.earlier_code import EarlierCode
from traindeck.viewmodels.jobs.form.form_choices import FormChoices
from traindeck.viewmodels.jobs.form.form_exchange import FormExchange
from traindeck.viewmodels.jobs.form.form_parts import FormParts
from traindeck.viewmodels.jobs.form.form_replacing import FormReplacing
from traindeck.viewmodels.jobs.form.form_scripts import FormScripts
from traindeck.viewmodels.jobs.form.form_templates import FormTemplates
from traindeck.viewmodels.jobs.form.form_text import FormText
from traindeck.viewmodels.jobs.form.job_form import JobForm
from traindeck.viewmodels.jobs.form.job_sending import JobSending
from traindeck.viewmodels.jobs.form.live_checks import LiveChecks
from traindeck.viewmodels.jobs.form.place_notes import PlaceNotes
from traindeck.viewmodels.jobs.form.script_parameters import ScriptParameters
from traindeck.viewmodels.jobs.form.warnings_asked import asking
from traindeck.viewmodels.jobs.runs.beside_asked import asking_beside
from traindeck.viewmodels.jobs.runs.code_keeping import CodeKeeping
from traindeck.viewmodels.jobs.runs.hang_news import HangNews
from traindeck.viewmodels.jobs.runs.nan_news import NanNews
from traindeck.viewmodels.jobs.runs.records_news import RecordsNews
from traindeck.viewmodels.jobs.runs.rule_news import RuleNews
from traindeck.viewmodels.jobs.runs.run_list import RunList
from traindeck.viewmodels.jobs.runs.run_news import RunNews
from traindeck.viewmodels.jobs.runs.sample_run import SampleRun
from traindeck.viewmodels.jobs.runs.selected_log import SelectedLog
from traindeck.viewmodels.lab.lab_page import LabPage
from traindeck.viewmodels.logs.log_appearance import LogAppearance
from traindeck.viewmodels.logs.log_feed import LogFeed, log_place
from traindeck.viewmodels.ports import Choose
from traindeck.viewmodels.previews.preview import Preview
from traindeck.viewmodels.readings.reading_feed import ReadingFeed
from traindeck.viewmodels.rooms import (
    AccountsRoom,
    BillingRoom,
    DatasetsRoom,
    JobsRoom,
    PreviewsRoom,
    StorageRoom,
    TransfersRoom,
)
from traindeck.viewmodels.scripts.script_fixes import ScriptFixes
from traindeck.viewmodels.shell.conditions import DiskRoom, Reachability
from traindeck.viewmodels.shell.events import Events
from traindeck.viewmodels.shell.journal import Journal, NewsKind, Subject, Topic
from traindeck.viewmodels.shell.notices import CLOCK, Mending, Notices
from traindeck.viewmodels.shell.preferences import Preferences
from traindeck.viewmodels.shell.problem_report import ProblemForm, gathered
from traindeck.viewmodels.shell.status import Status
from traindeck.viewmodels.shell.system_notices import SystemNotices
from traindeck.viewmodels.shell.webhook_notices import WebhookNotices
from traindeck.viewmodels.shell.window_state import WindowState
from traindeck.viewmodels.storage.bucket_access import PublicMarks
from traindeck.viewmodels.storage.bucket_tree import BucketTree, Folder
from traindeck.viewmodels.storage.buckets import BucketRemovals
from traindeck.viewmodels.storage.deleting import News
from traindeck.viewmodels.storage.moving import CutObjects, Moving
from traindeck.viewmodels.storage.object_sheet import BulkWork
from traindeck.viewmodels.storage.places import ChangedPlaces, Favourites
from traindeck.viewmodels.transfers.dragged_files import DraggedFiles
from traindeck.viewmodels.transfers.sync_form import SyncForm
from traindeck.viewmodels.transfers.transfer_list import TransferList
from traindeck.viewmodels.transfers.transfer_news import TransferNews

_LOG_TAIL_BYTES = 64 * 1024

Room = TypeVar("Room", bound=Feature)


class Models:
    """The view-models; they live as long as the program, windows come and go with the language."""

    def __init__(
        self,
        core: Core,
        scope: TaskScope,
        notices: Notices,
        layout: WindowState,
        settings: Settings,
        asked: Mapping[str, SettingValue],
        runs: RunList,
    ) -> None:
        """`runs` is there already: the list is what is looked for first."""
        self._core, self._scope = core, scope
        self.notices, self.layout = notices, layout
        self.preferences = Preferences(core.settings, core.disk, scope, settings, asked)
        self.preferences.recent.keep_with(layout.get("recent"), partial(layout.put, "recent"))
        rate, keep_rate = self.preferences.value(RATE), partial(self.preferences.choose, RATE)
        transfers = TransferList(core.transfers, scope, rate_limit=rate, keep_rate=keep_rate)
        self.transfers = TransfersRoom(transfers, core.transfers, scope)
        parts = _form_parts(core, runs, notices.journal, scope)
        self.readings = ReadingFeed(core.readings, core.phases, core.curves, core.resources, core.watch, runs, scope)
        runs.readings = self.readings
        look = LogAppearance(layout.get("log.look"), partial(layout.put, "log.look"))
        log = LogFeed(core.logs, core.watch, core.disk, scope, look=look)
        log.place_wanted = log_place(layout.get("place.log"))
        SelectedLog(runs, log)  # the log is its parent
        sample = SampleRun(core.sample, core.submission, parts.form, scope)
        self.jobs = JobsRoom(
            parts, runs, log, core.run_service, core.watch, core.sample, sample,
            CodeKeeping(core.run_service, notices.journal, scope), core.comparing, core.disk, scope,
        )  # fmt: skip
        self.storage = _storage(core, scope, notices, settings)
        preview = Preview(core.planes, core.previews, scope, drawn_picture)
        self.previews = PreviewsRoom(preview, core.planes, scope)
        self.datasets = DatasetsRoom(self.storage.buckets, core.datasets, notices.journal, scope)
        self.status = Status(core.profiles, core.run_service, core.watch, core.transfers.changed, scope)
        self.costs = LiveCosts(core.billing, core.records, core.watch, scope)
        self.costs.changed.connect(lambda: self.status.show_costs(self.costs.state))
        self.billing = BillingRoom(core.billing, core.choices, core.profiles, core.watch, layout, scope)
        accounts = Accounts(core.profiles, scope)
        accounts.changed.connect(self.status.load)
        accounts.changed.connect(lambda: self.costs.look_at(accounts.current))
        self.accounts = AccountsRoom(accounts, KeyNews(core.connections, notices), core.profiles, scope)
        self.lab = LabPage(core.lab_keeper, scope)
        self.disk_room = DiskRoom(notices, core.paths.home, core.disk, scope)
        self._reach = Reachability(notices)
        self._follow_troubles(core)
        kept = partial(self.preferences.value, EVENTS_KEPT)
        self.events = Events(core.events, notices.journal, scope, kept)
        self.system_notices = SystemNotices(self.events, self.preferences, core.notifications, notices, scope)
        self.hangs = HangNews(self._hang_guard(core), notices, scope)
        self.rules = RuleNews(core.rules, notices.journal, scope)
        nan_guard = core.nan_guard()
        nans = NanNews(nan_guard, notices.journal)
        scope.start("look for NaN", nan_guard.run)
        webhook = core.webhook(self.preferences.value)
        self.webhook_notices = WebhookNotices(self.events, self.preferences, webhook, scope)
        self.run_news = RunNews(core.watch, notices.journal, core.explaining.failure, scope)
        scope.start("tell what was not told", partial(self.run_news.catch_up, core.records, core.events))
        self._news = (
            self.system_notices,
            self.webhook_notices,
            self.run_news,
            self.hangs,
            self.rules,
            nans,
            RecordsNews(core.records, core.watch, notices, scope),
            BudgetNews(core.billing, core.watch, notices.journal, scope),
            TransferNews(core.transfers.changed, notices.journal),
            AccountNews(core.profiles, notices.journal),
        )
        self.preferences.changed.connect(partial(self._use_settings, core))
        self._use_settings(core)
        scope.start("look at logs for rules", core.rules.run)
        copies = ProjectCopies(core.records, core.logs, core.disk, partial(self.preferences.value, LOGS_IN_PROJECT))
        scope.start("copy logs to their projects", copies.run)

    def _hang_guard(self, core: Core) -> HangGuard:
        guard = core.hang_guard(partial(hang_wait, self.preferences.value))
        self._scope.start("look for runs that hang", guard.run)
        return guard

    def _use_settings(self, core: Core, *_: object) -> None:
        """At once, whatever changed."""
        value = self.preferences.value
        if self.transfers.list.rate_limit != value(RATE):
            self.transfers.list.limit_rate(value(RATE))
        core.transfers.usual = UsualRules(value(REQUESTS), value(PART_BYTES), value(STORE_MD5), Links(value(LINKS)))
        self.storage.buckets.offers_packing = value(PACK_ADVICE)
        use_in_lab(core.lab, value)

    def problem_form(self, crash: str = "") -> ProblemForm:
        """A report of what this program is at; `crash`: and of a mistake of ours."""
        core = self._core
        run = self.jobs.runs.state.selected_run

        async def form() -> str:
            return to_toml(self.jobs.form.state.spec)

        async def log_tail() -> str:
            return await core.disk.run(lambda _: core.logs.file(run.id).tail(_LOG_TAIL_BYTES)) if run else ""

        pieces: list[tuple[str, Callable[[], Awaitable[str]]]] = [
            ("events.txt", self.events.as_text), ("form.toml", form),
        ]  # fmt: skip
        pieces += [(f"run-{run.number}.log", log_tail)] if run else []
        name = self.accounts.accounts.current
        return ProblemForm(core.diagnosis, name, partial(gathered, pieces), self._scope, crash)

    def _follow_troubles(self, core: Core) -> None:
        """Whoever asks the services of an account says how that went."""
        reach, buckets = self._reach, self.storage.buckets

        def on_runs(profile: str) -> None:
            reach.told(profile, "runs", core.watch.trouble(profile))

        def on_buckets(folder: Folder) -> None:
            level = buckets.level(None)
            if folder is None and not level.is_loading:
                reach.told(buckets.state.profile, "buckets", level.trouble)

        def on_account() -> None:
            for name in self.accounts.accounts.names:
                if name != self.accounts.accounts.current:
                    reach.told(name, "buckets", None)

        def again() -> None:
            self.jobs.watch.wake()
            if buckets.level(None).trouble is not None:
                buckets.refresh()

        self._deaf = core.watch.connection_state.add(on_runs)
        buckets.level_changed.connect(on_buckets)
        self.accounts.accounts.changed.connect(on_account)
        reach.wanted.connect(again)
        mending = Mending(text("Try again"), again)
        if has_clock_settings():
            mending = Mending(text("Set the clock…"), open_clock_settings)
        self.notices.mends(CLOCK, mending)

    def ask_about_warnings(self, choose: Choose) -> None:
        """The window that is open now asks before a job is sent in spite of them."""
        self._core.submission.accept = asking(choose)
        self._core.submission.accept_beside = asking_beside(choose)

    def close(self) -> None:
        self._deaf()
        for model in (
            self.accounts.keys, self.status, self.costs, self.jobs.runs, self.jobs.log, self.transfers.list,
            self.storage.changes, self.readings,
        ):  # fmt: skip
            model.close()
        for news in self._news:
            news.close()


def _sold_out_at(runs: RunList, flavor: str, profile: str) -> datetime | None:
    """By the jobs that were sent lately."""
    return sold_out_at(runs.state.runs, flavor, profile)


def _form_parts(core: Core, runs: RunList, journal: Journal, scope: TaskScope) -> FormParts:
    """The form of a new job, and all that watches it."""
    form = JobForm(core.choices, core.profiles, core.disk, scope, read_prices=core.billing.table)
    checks = LiveChecks(form, core.load_checks, scope)
    written = FormText(form, core.disk, scope)
    code = CodeFolder(form, core.disk, scope, core.submission.limits_of)
    sources = FormScripts(form, core.submission, core.disk, core.paths.script_fixes / "tries")
    fixes = ScriptFixes(sources, FixFiles(core.paths.script_fixes), core.disk, journal, scope)
    return FormParts(
        form,
        PlaceNotes(form, core.places, scope),
        FormChoices(form, lambda: [run.spec for run in runs.state.runs], partial(_sold_out_at, runs)),
        checks,
        code,
        ScriptParameters(form, code, core.disk, scope),
        EarlierCode(form, checks, core.run_service.kept_code, scope),
        written,
        FormReplacing(form, written, journal),
        FormExchange(form, written, journal, core.disk, scope),
        FormTemplates(form, core.templates, scope),
        JobSending(form, written, core.submission, checks, scope),
        fixes,
        CodeFindings(checks, core.load_checks, fixes, core.disk, scope),
    )


def _storage(core: Core, scope: TaskScope, notices: Notices, settings: Settings) -> StorageRoom:
    buckets = BucketTree(core.connections, core.transfers, core.disk, scope)
    buckets.news.connect(partial(_tell, notices.journal))
    moving = Moving(core.transfers, scope)
    moving.touched.connect(buckets.was_touched)
    moving.arrived.connect(buckets.arrived)
    moving.news.connect(partial(_tell, notices.journal))
    return StorageRoom(
        buckets=buckets,
        moving=moving,
        cut=CutObjects(),
        dragged=DraggedFiles(core.paths.dragged, core.planes, core.disk, scope),
        marks=PublicMarks(core.connections, buckets, scope),
        removals=BucketRemovals(core.connections, scope),
        favourites=Favourites(core.settings, core.disk, scope, settings),
        bulk=BulkWork(core.connections, scope, notices.journal),
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

    # The folder of a bucket, or the key of a page.
    pages: tuple[object, ...] = ()
    current: int = 0
    syncs: tuple[SyncForm, ...] = ()
    """What was typed in dialogs that synchronize a folder."""


class Workspace:
    """The window of one language with all rooms in it."""

    def __init__(self, shell: Shell, models: Models) -> None:
        self._models = models
        self.shell = shell
        self.window = shell.window

    async def build(self) -> None:
        """Room by room, so that a window in use can answer in between."""
        models, shell = self._models, self.shell
        models.ask_about_warnings(shell.choose)
        self.jobs = await _added(shell, JobsFeature(shell, models.jobs, models.storage))
        await _added(
            shell, LogFeature(shell, models.jobs.log, self.jobs.show_code, models.rules, models.readings.track)
        )
        await _added(shell, HangFeature(shell, models.hangs, models.jobs.runs))
        await _added(shell, CompareFeature(shell, models.jobs))
        await _added(shell, ScriptsFeature(shell, models.jobs.parts.fixes))
        billing = await _added(shell, BillingFeature(shell, models.billing))
        self.storage = await _added(shell, StorageFeature(shell, models.storage, models.accounts.accounts))
        self._transfers = await _added(shell, TransfersFeature(shell, models.transfers, self.storage.active))
        await _added(shell, DatasetsFeature(shell, models.datasets, models.accounts.accounts, self.storage.active))
        await _added(shell, PreviewsFeature(shell, models.previews, models.storage, self.storage.active))
        self.accounts = await _added(shell, AccountsFeature(shell, models.accounts, models.jobs, models.storage))
        lab = await _added(shell, LabFeature(shell, models.lab, self._lab_emptied))
        await _added(shell, EventsFeature(shell, models.events))
        desktop = DesktopFeature(shell, models.system_notices, models.preferences, models.jobs.runs)
        self.desktop = await _added(shell, desktop)
        await _added(shell, SettingsFeature(shell, models.preferences))
        await _added(shell, ProblemReportFeature(shell, models.problem_form))
        sample, connect = models.jobs.sample_run, self.accounts.connect_account
        looks, status, notices = models.preferences, models.status, models.notices
        await _added(shell, FrameFeature(shell, looks, status, notices, sample, connect, lab.open, billing.open))
        shell.add_commands()

    async def reopen(self, pages: OpenPages) -> None:
        """The page in front at once, the others behind it, one after the other."""
        tabs = self.window.tabs
        if not pages.pages:
            tabs.say_if_empty()
            return
        self.shell.restore(pages.pages[pages.current])
        for place, page in enumerate(pages.pages):
            if place == pages.current:
                continue
            await asyncio.sleep(0)
            with tabs.opening_behind():
                self.shell.restore(page)
            tabs.tabBar().moveTab(tabs.count() - 1, min(place, tabs.count() - 1))
        if QApplication.focusWidget() in (None, tabs.tabBar()):
            self.window.give_page_keys()

    def start(self, syncs: Sequence[SyncForm] = ()) -> None:
        """Show the window, then bring in what takes time."""
        self.window.show()
        for form in syncs:
            self._transfers.open_sync(form)
        models = self._models
        models.status.load()
        models.costs.count()
        models.costs.look_at(models.accounts.accounts.current)
        models.jobs.form.start()
        models.jobs.runs.refresh()
        models.storage.buckets.use_profile(models.accounts.accounts.current)

    def take(self, openings: Sequence[str]) -> None:
        """What another start, the desktop or a web page wants opened: it is shown, and nothing is done with it."""
        bring_to_front(self.window)
        if openings:
            self.shell.tasks.start(f"open {openings}", partial(self._take, tuple(openings)))

    async def _take(self, openings: Sequence[str]) -> None:
        for one in openings:
            try:
                await self._open(parse(one))
            except AppError as error:
                self._models.notices.journal.tell(NewsKind.FAILED, error.title, error.hint, detail=error.detail)

    async def _open(self, opening: Opening) -> None:
        models, shell = self._models, self.shell
        match opening:
            case JobFileOpening(path):
                models.jobs.form.open_file(path)
                shell.show_dock("job")
            case RunOpening(run_id):
                run = await models.jobs.service.records.get(run_id)
                if run is None:
                    raise NotFound(
                        text("Run “{id}” does not exist on this computer.", id=run_id),
                        text("Open the link where the job was submitted."),
                    )
                self.jobs.open_run(run)
            case PlaceOpening(path):
                shell.jump(Topic(Subject.PLACE, str(path), models.accounts.accounts.current))

    def open_pages(self) -> OpenPages:
        keys = self.window.open_tabs()
        shown = tuple(self.shell.shown_on(key) for key in keys)
        return OpenPages(shown, self.window.tabs.currentIndex(), self._transfers.open_syncs())

    async def until_free(self, tell: Callable[[str], None]) -> None:
        """Until nothing that was typed would go with the window; `tell` gets the title of what it waits for."""
        while True:
            if not await self.storage.properties.may_go():
                for dialog in self.storage.properties.unsaved():
                    tell(dialog.windowTitle())
                    await until_closed(dialog)
                    break
                continue
            modal = [dialog for dialog in self.window.findChildren(QDialog) if dialog.isModal() and dialog.isVisible()]
            if not modal:
                return
            await until_closed(modal[0])

    def _lab_emptied(self) -> None:
        """Its buckets and jobs are gone: nothing of them may stay in sight."""
        models = self._models
        if models.accounts.accounts.is_lab:
            models.storage.buckets.use_profile(models.accounts.accounts.current)
        self.jobs.read_outputs()
        models.jobs.refresh()
        models.status.load()


async def _added(shell: Shell, room: Room) -> Room:
    shell.add(room)
    await asyncio.sleep(0)
    return room


def _tell(journal: Journal, news: News) -> None:
    journal.done(news.message, topic=news.topic, undo=news.undo, look=news.look)
