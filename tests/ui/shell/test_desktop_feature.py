"""The window and the desktop: what is in sight, what a notice brings to the front, and the menu of the icon."""

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QApplication, QSystemTrayIcon

from support.frame_bench import Frame, framed
from support.waiting import until
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.runtime.tasks import TaskScope
from traindeck.ui.shell.desktop_feature import DesktopFeature, Tray
from traindeck.ui.shell.feature import Feature, Shell
from traindeck.viewmodels.jobs.runs.run_list import RunList
from traindeck.viewmodels.shell.journal import Subject, Topic
from traindeck.viewmodels.shell.system_notices import SystemNotices


class Runs(QObject):
    changed = Signal()

    def __init__(self, *runs: Run, selected: str = "") -> None:
        super().__init__()
        self.state = live(*runs, selected=selected)


def live(*runs: Run, selected: str = "") -> SimpleNamespace:
    return SimpleNamespace(is_known=True, live=tuple(run for run in runs if not run.state.is_over), selected=selected)


class Notices(QObject):
    clicked = Signal(object)
    is_in_front: Any = None
    is_in_sight: Any = None
    otherwise: Any = None


class Jumps(Feature):
    def __init__(self, shell: Shell) -> None:
        super().__init__(shell)
        self.seen: list[Topic] = []

    def jump(self, topic: Topic) -> bool:
        self.seen.append(topic)
        return True


def a_run(number: int, state: RunState) -> Run:
    return Run(f"r{number}", number, f"a & b {number}", "lab", JobSpec(), state, datetime.now(UTC))


def shell_of(at: Frame, scope: TaskScope, quits: list[int]) -> Shell:
    return Shell(at.window, at.theme, scope, lambda: quits.append(1))


async def test_a_click_brings_the_window_to_the_thing(qapp: QApplication, tmp_path: Path) -> None:
    async with framed(qapp, tmp_path) as at:
        shell, notices = shell_of(at, at.scope, []), Notices()
        runs = Runs(a_run(1, RunState.RUNNING), selected="r1")
        told = cast("SystemNotices", notices)
        feature = DesktopFeature(shell, told, at.preferences, cast("RunList", runs))
        jumps = Jumps(shell)
        shell.add(feature)
        shell.add(jumps)
        assert feature.tray is None  # this screen has no place for one
        at.window.showMinimized()
        run, other = Topic(Subject.RUN, "r1"), Topic(Subject.RUN, "r2")
        await until(lambda: not notices.is_in_front())
        notices.clicked.emit(run)
        await until(at.window.isActiveWindow)
        assert not at.window.isMinimized()
        assert jumps.seen == [run]
        assert notices.is_in_front()
        at.window.show_dock("transfers")  # the first arrangement has the log there, some turns later
        assert not notices.is_in_sight(run), "selected, and nothing of it is to be seen"
        at.window.show_dock("log")
        assert notices.is_in_sight(run)
        assert not notices.is_in_sight(other)
        assert not notices.otherwise("title", "words", None), "nowhere to show it"
        transfer = Topic(Subject.TRANSFER, "4")
        assert not notices.is_in_sight(transfer)
        at.window.show_dock("transfers")
        assert notices.is_in_sight(transfer)


async def test_the_menu_of_the_icon_has_the_active_jobs(qapp: QApplication, tmp_path: Path) -> None:
    async with framed(qapp, tmp_path) as at:
        quits: list[int] = []
        opened: list[Topic | None] = []
        runs = Runs(a_run(2, RunState.RUNNING), a_run(1, RunState.COMPLETED))
        tray = Tray(shell_of(at, at.scope, quits), cast("RunList", runs), opened.append)
        titles = [action.text() for action in tray.menu.actions() if not action.isSeparator()]
        assert titles == ["a && b 2 (2) · Running", "Show TrainDeck", "&Quit"]
        assert tray.icon.toolTip() == "TrainDeck · active jobs: 1"
        tray.menu.actions()[0].trigger()
        tray.menu.actions()[-1].trigger()
        assert (opened, quits) == ([Topic(Subject.RUN, "r2", "lab")], [1])
        runs.state = live(*(a_run(n, RunState.RUNNING) for n in range(30)))
        runs.changed.emit()
        tray.menu.aboutToShow.emit()
        assert len(tray.menu.actions()) == 14
        tray.icon.activated.emit(QSystemTrayIcon.ActivationReason.Trigger)
        assert opened[-1] is None
        runs.state = live()
        tray.menu.aboutToShow.emit()
        assert not tray.menu.actions()[0].isEnabled() and tray.menu.actions()[0].text() == "No active jobs"
        runs.state.is_known = False
        tray.menu.aboutToShow.emit()
        assert tray.menu.actions()[0].text() == "Active jobs: –", "nothing was read yet"
