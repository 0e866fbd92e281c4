"""What belongs to the window itself: its own commands, the status bar, the page of welcome, about."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from PySide6.QtWidgets import QWidget

from traindeck.domain.texts import say
from traindeck.ui.shell.bars import StatusBar
from traindeck.ui.shell.feature import Feature, Shell
from traindeck.ui.shell.frame_commands import About, frame_commands
from traindeck.ui.shell.welcome_page import WelcomePage
from traindeck.viewmodels.shell.commands import Command
from traindeck.viewmodels.shell.preferences import Preferences
from traindeck.viewmodels.shell.status import Status

WELCOME = "welcome"


class FrameFeature(Feature):
    """The page of welcome leads to the rooms: what its buttons do is theirs."""

    def __init__(
        self,
        shell: Shell,
        preferences: Preferences,
        status: Status,
        sample: Callable[[], None],
        connect: Callable[..., None],
        lab: Callable[[], None],
    ) -> None:
        super().__init__(shell)
        self._preferences = preferences
        self._sample = sample
        self._connect = connect
        bar = StatusBar(status, shell.window)
        bar.lab_wanted.connect(lab)
        shell.window.setStatusBar(bar)

    def commands(self) -> Iterable[Command]:
        return [
            Command("help.welcome", say("&Welcome page"), self.open_welcome, menu="help", group=0),
            *frame_commands(self.shell.window, self._preferences, self.shell.request_quit, self._about),
        ]

    def open_welcome(self) -> None:
        self.shell.window.open_tab(WELCOME, say("Welcome"), self._welcome)

    def restore(self, page: object) -> bool:
        if page == WELCOME:
            self.open_welcome()
        return page == WELCOME

    def _welcome(self) -> QWidget:
        page = WelcomePage(self.shell.theme)
        page.sample_wanted.connect(self._sample)
        page.account_wanted.connect(self._connect)
        page.credentials_dropped.connect(self._connect)
        return page

    def _about(self) -> None:
        About(self.shell.theme, self.shell.window).open()
