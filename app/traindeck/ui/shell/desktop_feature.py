"""The window and the desktop around it: notifications that lead here, and the icon in the notification area."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QMenu, QSystemTrayIcon, QWidget

from traindeck.domain.jobs.job import Run
from traindeck.domain.settings import TRAY
from traindeck.domain.texts import say
from traindeck.ui.shell.feature import Feature, Shell, Subscriptions
from traindeck.viewmodels.jobs.runs.run_list import RunList
from traindeck.viewmodels.jobs.runs.run_words import job_words, state_words
from traindeck.viewmodels.shell.journal import Subject, Topic
from traindeck.viewmodels.shell.preferences import Preferences
from traindeck.viewmodels.shell.system_notices import SystemNotices

_MOST_RUNS = 10
_OPENING = (QSystemTrayIcon.ActivationReason.Trigger, QSystemTrayIcon.ActivationReason.DoubleClick)


def bring_to_front(window: QWidget) -> None:
    """Whatever hides it; the desktop may only mark it as wanting attention."""
    if window.isMinimized():
        window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
    window.show()
    window.raise_()
    window.activateWindow()


class Tray(QObject):
    """The jobs that are active in its menu; a click brings the window."""

    def __init__(self, shell: Shell, runs: RunList, open_topic: Callable[[Topic | None], None]) -> None:
        super().__init__(shell.window)
        self._shell = shell
        self._runs = runs
        self._open = open_topic
        self._last: Topic | None = None
        self.menu = QMenu(shell.window)
        self.icon = QSystemTrayIcon(shell.theme.program_icon(), self)
        self.icon.setContextMenu(self.menu)
        self.icon.activated.connect(self._on_activated)
        self.icon.messageClicked.connect(lambda: open_topic(self._last))
        self.menu.aboutToShow.connect(self._fill)
        runs.changed.connect(self._refresh)
        self._refresh()
        self._fill()  # some desktops ask for the menu only once

    def say(self, title: str, words: str, topic: Topic | None) -> None:
        self._last = topic
        self.icon.showMessage(title, words, self._shell.theme.program_icon())

    def live_runs(self) -> list[Run]:
        return list(self._runs.state.live)

    def _refresh(self) -> None:
        count = len(self.live_runs())
        self.icon.setToolTip(say("TrainDeck · active jobs: {count}", count=count) if count else "TrainDeck")

    def _fill(self) -> None:
        self.menu.clear()
        live = self.live_runs()
        for run in live[:_MOST_RUNS]:
            words = say("{name} ({number}) · {state}", name=job_words(run), number=run.number, state=state_words(run))
            self._add(words.replace("&", "&&"), partial(self._open, Topic(Subject.RUN, run.id, run.profile)))
        if not live:
            self._add(say("No active jobs") if self._runs.state.is_known else say("Active jobs: –"), None)
        elif len(live) > _MOST_RUNS:
            self._add(say("{count} more", count=len(live) - _MOST_RUNS), partial(self._open, None))
        self.menu.addSeparator()
        self._add(say("Show TrainDeck"), partial(self._open, None))
        self._add(say("&Quit"), self._shell.request_quit)

    def _add(self, words: str, act: Callable[[], None] | None) -> None:
        action = QAction(words, self.menu)
        action.setEnabled(act is not None)
        if act is not None:
            action.triggered.connect(lambda: act())
        self.menu.addAction(action)

    def _on_activated(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason in _OPENING:
            self._open(None)


class DesktopFeature(Feature):
    """The icon is there where the desktop has a place for it and the user wants it."""

    def __init__(self, shell: Shell, notices: SystemNotices, preferences: Preferences, runs: RunList) -> None:
        super().__init__(shell)
        self._notices = notices
        self._preferences = preferences
        self._runs = runs
        self.tray: Tray | None = None
        notices.is_in_front = self._is_in_front
        notices.is_in_sight = self._is_in_sight
        notices.otherwise = self._say
        self._follow(TRAY.key)

    def news(self) -> Subscriptions:
        return [
            (self._notices.clicked, self.open),
            (self._preferences.changed, self._follow),
        ]

    def open(self, topic: Topic | None) -> None:
        """Bring the window to the front, at the right place."""
        bring_to_front(self.shell.window)
        if topic is not None:
            self.shell.jump(topic)

    def dispose(self) -> None:
        if self.tray is not None:
            self.tray.icon.hide()

    def _say(self, title: str, words: str, topic: Topic | None) -> bool:
        QApplication.alert(self.shell.window)
        if self.tray is None or not QSystemTrayIcon.supportsMessages():
            return False
        self.tray.say(title, words, topic)
        # On Linux most icons speak through the very service that is not there.
        return sys.platform != "linux"

    def _follow(self, key: str) -> None:
        if key != TRAY.key:
            return
        is_wanted = self._preferences.value(TRAY) and QSystemTrayIcon.isSystemTrayAvailable()
        if is_wanted and self.tray is None:
            self.tray = Tray(self.shell, self._runs, self.open)
        if self.tray is not None:
            self.tray.icon.setVisible(is_wanted)

    def _is_in_front(self) -> bool:
        """Also while it asks something."""
        return QApplication.activeWindow() is not None

    def _is_in_sight(self, topic: Topic | None) -> bool:
        if topic is None:
            return False
        if topic.subject in (Subject.RUN, Subject.LOG):
            is_selected = self._runs.state.selected == topic.name.partition(" ")[0]
            return is_selected and (self._is_seen("log") or self._is_page_of(self._runs.state.selected))
        if topic.subject is Subject.TRANSFER:
            return self._is_seen("transfers")
        return True  # there is a banner over it

    def _is_page_of(self, run_id: str) -> bool:
        """The page that follows the selected run, or its own."""
        return self.shell.window.current_tab() in ("run", f"run.{run_id}")

    def _is_seen(self, panel_id: str) -> bool:
        window = self.shell.window
        return panel_id in window.panels_made() and window.panel(panel_id).isVisible()
