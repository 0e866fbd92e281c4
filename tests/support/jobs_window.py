"""The window's rooms of jobs and of their costs over the small cloud of the panels: as commands, keys and dialogs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QApplication, QDialog, QFileDialog, QLineEdit, QPushButton, QWidget

from support.folder_cloud import FolderCloud, code_folder, digits_spec
from support.form_bench import billing_of, form_parts, prepare_data
from support.panel_bench import light_theme
from support.read_runs import reading_feed
from support.waiting import until
from traindeck.domain.jobs.job import LogChunk, Run
from traindeck.domain.readings.tracking import TrackedNumber
from traindeck.runtime.resources import resource
from traindeck.services.jobs.comparing import RunComparing
from traindeck.services.jobs.sample_project import SampleProject
from traindeck.ui.jobs.costs.billing_feature import BillingFeature
from traindeck.ui.jobs.feature import JobsFeature
from traindeck.ui.jobs.form.job_form_view import JobFormView
from traindeck.ui.jobs.runs.compare_feature import CompareFeature
from traindeck.ui.jobs.runs.run_list_view import RunListView
from traindeck.ui.logs.feature import LogFeature
from traindeck.ui.logs.log_view import LogView
from traindeck.ui.scripts.feature import ScriptsFeature
from traindeck.ui.shell.feature import Shell
from traindeck.ui.shell.main_window import MainWindow, Panel
from traindeck.viewmodels.jobs.form.job_form import JobForm
from traindeck.viewmodels.jobs.runs.code_keeping import CodeKeeping
from traindeck.viewmodels.jobs.runs.rule_news import RuleNews
from traindeck.viewmodels.jobs.runs.sample_run import SampleRun
from traindeck.viewmodels.logs.log_feed import LogFeed
from traindeck.viewmodels.rooms import BillingRoom, JobsRoom
from traindeck.viewmodels.shell.commands import Commands
from traindeck.viewmodels.shell.notices import Notices
from traindeck.viewmodels.shell.window_state import WindowState

_AREA = Qt.DockWidgetArea
_PANELS = (
    Panel("runs", "Runs", _AREA.LeftDockWidgetArea),
    Panel("log", "Log", _AREA.BottomDockWidgetArea),
    Panel("job", "Job", _AREA.RightDockWidgetArea),
    Panel("charts", "Charts", _AREA.BottomDockWidgetArea),
)

Kind = TypeVar("Kind", bound=QWidget)


class _Buckets(QObject):
    """What the room of jobs asks of that of storage."""

    refreshed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.buckets = self

    def refresh(self) -> None:
        self.refreshed.emit()


class JobsWindow:
    """What a person sees and does there."""

    def __init__(self, cloud: FolderCloud, room: JobsRoom, shell: Shell, notices: Notices, folder: Path) -> None:
        self.cloud, self.room, self.shell, self.notices, self.folder = cloud, room, shell, notices, folder
        self.window = shell.window
        self.form, self.parts = room.form, room.parts

    @property
    def runs(self) -> RunListView:
        view = self.window.panel("runs")
        assert isinstance(view, RunListView)
        return view

    @property
    def job(self) -> JobFormView:
        view = self.window.panel("job")
        assert isinstance(view, JobFormView)
        return view

    @property
    def page(self) -> QWidget:
        page = self.window.tabs.currentWidget()
        assert page is not None
        return page

    def told(self) -> list[str]:
        return [str(one.title) for one in self.notices.journal.entries]

    def do(self, command: str) -> None:
        """From a menu, its key or the palette."""
        assert self.shell.commands.run(command), f"{command}: {self.shell.commands.get(command).why_not()}"

    async def dialog(self, kind: type[Kind]) -> Kind:
        """One that has the keyboard: until then a key goes nowhere."""

        def seen() -> list[Any]:
            return [one for one in self.window.findChildren(kind) if one.isVisible() and one.isActiveWindow()]

        await until(seen)
        found: Kind = seen()[0]
        return found

    async def choose_file(self, path: Path) -> None:
        """Type it into the dialog that asks for a file, and press its button."""
        dialog = await self.dialog(QFileDialog)
        edit = dialog.findChild(QLineEdit, "fileNameEdit")
        assert edit is not None
        # Without the keyboard there, Qt keeps a file that is selected beside the one that is named.
        edit.setFocus()
        await until(edit.hasFocus)
        edit.setText(str(path))
        QFileDialog.accept(dialog)
        await until(lambda: not dialog.isVisible())

    def press(self, dialog: QDialog, words: str) -> None:
        button = next(one for one in dialog.findChildren(QPushButton) if one.text().replace("&", "") == words)
        assert button.isEnabled()
        button.click()


@asynccontextmanager
async def jobs_window(
    qapp: QApplication, folder: Path, before: Callable[[FolderCloud], Any] | None = None, *, reads: bool = False
) -> AsyncIterator[JobsWindow]:
    """`before`: what is in the cloud when the window opens; `reads`: logs are read for progress and failures."""
    async with FolderCloud(folder) as cloud:
        code = code_folder(folder / "code")
        prepare_data(cloud)
        if before is not None:
            await before(cloud)
        notices, state = Notices(), WindowState(folder / "window.json")
        billing = billing_of(cloud)
        form = JobForm(cloud.choices, cloud.profiles, cloud.disk, cloud.scope, code, read_prices=billing.table)
        runs = cloud.run_list()
        readings = reading_feed(cloud, runs) if reads else None

        def track(run: Run, number: TrackedNumber) -> None:
            assert readings is not None, f"no log is read here to track {number}"
            readings.track(run, number)

        parts = form_parts(cloud, form, journal=notices.journal, runs=lambda: runs.state.runs)
        log = LogFeed(cloud.logs, cloud.watch, cloud.disk, cloud.scope)
        sample = SampleProject(
            resource("sample", "digits"), cloud.paths.home / "sample", cloud.connections, cloud.transfers, cloud.disk
        )
        room = JobsRoom(
            parts, runs, log, cloud.service, cloud.watch, sample,
            SampleRun(sample, cloud.submission, form, cloud.scope),
            CodeKeeping(cloud.service, notices.journal, cloud.scope),
            RunComparing(cloud.records, cloud.connections, cloud.service.bundles), cloud.disk, cloud.scope,
        )  # fmt: skip
        costs = BillingRoom(billing, cloud.choices, cloud.profiles, cloud.watch, state, cloud.scope)
        with light_theme(qapp) as theme:
            window = MainWindow(
                theme=theme, commands=Commands(), notices=notices, state=state, panels=_PANELS,
                on_close_request=lambda: None,
            )  # fmt: skip
            shell = Shell(window, theme, cloud.scope, lambda: None)
            storage: Any = _Buckets()
            jobs = JobsFeature(shell, room, storage)
            rules = RuleNews(cloud.rules(), notices.journal, cloud.scope)
            logs = LogFeature(shell, log, jobs.show_code, rules, track)
            features = (
                jobs,
                logs,
                CompareFeature(shell, room),
                BillingFeature(shell, costs),
                ScriptsFeature(shell, parts.fixes),
            )
            for feature in features:
                shell.add(feature)
            shell.add_commands()
            window.resize(1280, 800)
            window.show()
            window.activateWindow()
            form.start()
            runs.refresh()
            await until(lambda: runs.state.is_known and window.isActiveWindow())
            try:
                yield JobsWindow(cloud, room, shell, notices, folder)
            finally:
                shell.dispose()
                rules.close()
                if readings is not None:
                    readings.close()
                runs.close()
                log.close()


async def log_with(at: JobsWindow, *lines: str) -> LogView:
    """The log of a run that was submitted there."""
    run = await at.cloud.submission.submit(digits_spec(), code_folder(at.folder / "job"))
    content = "".join(f"{line}\n" for line in lines).encode()
    await at.cloud.logs.take(run.id, "worker-0", LogChunk(content, len(content)))
    at.room.log.show(run)
    at.shell.window.show_dock("log")
    view = at.shell.window.panel("log")
    assert isinstance(view, LogView)
    await until(lambda: at.room.log.lines.rows == len(lines) and view.isVisible() and bool(view.pane.rows_in_sight()))
    return view
