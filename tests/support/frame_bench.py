"""A whole frame on real view-models, with plain widgets where the panels go."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import (
    QApplication,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from support.qt_support import until
from support.waiting import fail_with
from traindeck.domain.accounts.profiles import LAB, Profile, Provider
from traindeck.domain.errors import AppError
from traindeck.domain.jobs.job import Run
from traindeck.domain.texts import say
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.tasks import Listeners, TaskScope
from traindeck.services.jobs.run_watch import WatchedAccount
from traindeck.services.transfers import Transfer
from traindeck.store.settings import Settings, SettingsFile
from traindeck.ui.kit.theme import Theme
from traindeck.ui.shell.arrangement_commands import ArrangementCommands
from traindeck.ui.shell.bars import StatusBar
from traindeck.ui.shell.edit_commands import edit_commands
from traindeck.ui.shell.frame_feature import frame_commands
from traindeck.ui.shell.main_window import MainWindow, Panel
from traindeck.ui.shell.toasts import Toasts
from traindeck.viewmodels.jobs.runs.sample_run import SampleRun
from traindeck.viewmodels.shell.commands import Command, Commands
from traindeck.viewmodels.shell.notices import Notices
from traindeck.viewmodels.shell.preferences import Preferences
from traindeck.viewmodels.shell.status import Status
from traindeck.viewmodels.shell.window_state import WindowState

ICONS = Path(__file__).parents[2] / "resources" / "icons"
LEFT, RIGHT, BOTTOM = (
    Qt.DockWidgetArea.LeftDockWidgetArea,
    Qt.DockWidgetArea.RightDockWidgetArea,
    Qt.DockWidgetArea.BottomDockWidgetArea,
)


class PressedSample(SampleRun):
    """The sample without what would run it; `pressed` is told instead."""

    def __init__(self, pressed: Callable[[], object] = lambda: None) -> None:
        nobody: Any = None
        super().__init__(nobody, nobody, nobody, nobody)
        self._pressed = pressed

    def start(self) -> None:
        self._pressed()


@dataclass
class Services:
    """The account, the runs and their news, as the status bar asks for them."""

    profiles: list[Profile] = field(default_factory=lambda: [Profile(LAB, Provider.LAB, "lab")])
    current: str = LAB
    runs: list[Run] = field(default_factory=list)
    accounts: dict[str, WatchedAccount] = field(default_factory=lambda: defaultdict(WatchedAccount))
    troubles: dict[str, AppError] = field(default_factory=dict)
    changed: Listeners[Run] = field(default_factory=Listeners)
    gone: Listeners[str] = field(default_factory=Listeners)
    connection_state: Listeners[str] = field(default_factory=Listeners)
    moved: Listeners[Transfer] = field(default_factory=Listeners)

    def all(self) -> list[Profile]:
        return self.profiles

    @property
    def records(self) -> SimpleNamespace:
        async def live() -> list[Run]:
            return [run for run in self.runs if not run.state.is_over]

        return SimpleNamespace(live=live)

    def trouble(self, profile: str) -> AppError | None:
        return self.troubles.get(profile)


@dataclass
class Frame:
    window: MainWindow
    theme: Theme
    commands: Commands
    notices: Notices
    status: Status
    services: Services
    preferences: Preferences
    asked_to_close: list[int]
    toasts: Toasts
    scope: TaskScope


_PANELS = (
    ("runs", "Runs", LEFT),
    ("buckets", "Buckets", LEFT),
    ("log", "Log", BOTTOM),
    ("transfers", "Transfers", BOTTOM),
    ("form", "Job", RIGHT),
)


def fill(window: MainWindow) -> None:
    def tree(*names: str) -> QTreeWidget:
        widget = QTreeWidget()
        widget.setHeaderHidden(True)
        for name in names:
            widget.addTopLevelItem(QTreeWidgetItem([name]))
        return widget

    def log() -> QPlainTextEdit:
        pane = QPlainTextEdit("epoch 1 loss 2.31\nepoch 2 loss 1.02")
        pane.setReadOnly(True)
        return pane

    window.provide("buckets", lambda: tree("traindeck-lab", "datasets"))
    window.provide("runs", lambda: tree("digits-1 Running"))
    window.provide("log", log)
    window.provide("transfers", lambda: tree("digits.txt"))
    window.provide("form", QLineEdit)


@contextmanager
def frame(
    qapp: QApplication,
    scope: TaskScope,
    home: Path,
    *,
    theme: str = "light",
    state: WindowState | None = None,
) -> Iterator[Frame]:
    looks = Theme(qapp, ICONS, theme)
    commands, notices, services, asked = Commands(), Notices(), Services(), list[int]()
    stand_in: Any = services  # of each it asks for one thing alone
    status = Status(stand_in, stand_in, stand_in, services.moved, scope)
    disk = BlockingCalls(1, "disk")
    settings = Settings(chosen={"language": "en", "theme": theme} if theme else {"language": "en"})
    preferences = Preferences(SettingsFile(home / "settings.json"), disk, scope, settings)
    preferences.theme_changed.connect(looks.choose)
    window = MainWindow(
        theme=looks,
        commands=commands,
        notices=notices,
        state=state or WindowState(home / "window.json"),
        panels=[Panel(name, say(title), area) for name, title, area in _PANELS],
        on_close_request=lambda: asked.append(1),
        toolbar=("job.new", "-", "view.palette", "account.add"),
    )
    fill(window)
    bar = StatusBar(status, window)
    window.setStatusBar(bar)
    toasts = Toasts(notices, looks, lambda _: None, window, bar)
    commands.add(
        Command("job.new", say("&New job"), _nothing, shortcut="Ctrl+N", menu="file", icon="plus"),
        Command("account.add", say("&Connect your account"), _nothing, menu="account", icon="key"),
        Command("run.again", say("Run &again"), _nothing, shortcut="R", menu="run", icon="again"),
        *edit_commands(),
        *ArrangementCommands(window, scope).all(),
        *frame_commands(window, preferences, lambda: asked.append(1)),
    )
    try:
        yield Frame(window, looks, commands, notices, status, services, preferences, asked, toasts, scope)
    finally:
        status.close()
        disk.close()
        looks.close()
        window.hide()
        window.deleteLater()


@asynccontextmanager
async def framed(qapp: QApplication, home: Path, *, state: WindowState | None = None) -> AsyncIterator[Frame]:
    """The same with a scope of its own; a task that fails there fails the test."""
    async with TaskScope(fail_with) as scope:
        with frame(qapp, scope, home, state=state) as at:
            yield at


@asynccontextmanager
async def active_frame(qapp: QApplication, home: Path) -> AsyncIterator[Frame]:
    """The same in sight, with the keyboard in it."""
    async with framed(qapp, home) as at:
        at.window.show()
        at.window.activateWindow()
        await until(at.window.isActiveWindow)
        yield at


def _nothing() -> None:
    pass


def texts_cut(root: QWidget) -> list[str]:
    """Buttons and one-line labels that got less room than they ask for, once all have got theirs."""
    QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)
    cut = []
    for widget in root.findChildren(QWidget):
        if isinstance(widget, QPushButton | QLabel) and widget.isVisible() and widget.text():
            if isinstance(widget, QLabel) and widget.wordWrap():
                lacks = widget.height() < widget.heightForWidth(widget.width())
            else:
                lacks = widget.width() < widget.minimumSizeHint().width()
            if lacks:
                cut.append(widget.text())
    return cut
