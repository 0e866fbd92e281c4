"""What is worth a notice: each thing once, by the desktop or in the window, and only what the user wants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QObject, Signal

from traindeck.domain.settings import NOTICES
from traindeck.domain.texts import say
from traindeck.runtime.tasks import TaskScope
from traindeck.services.desktop.notifications import ClickedNotification, DesktopNotifications, Notification
from traindeck.viewmodels.shell.events import Events, notice_of
from traindeck.viewmodels.shell.journal import Happening, Topic
from traindeck.viewmodels.shell.notices import Notices
from traindeck.viewmodels.shell.preferences import Preferences
from traindeck.viewmodels.shell.telling import Teller, in_the_window, teller_of


class SystemNotices(QObject):
    """The events decide what is new, also over a restart; `telling` decides who tells it."""

    clicked = Signal(object)
    """The Topic of a notice that somebody clicked; None: it leads nowhere."""

    is_in_front: Callable[[], bool]
    """Whether the user works in the window this moment: it says so itself, as the other two."""
    is_in_sight: Callable[[Topic | None], bool]
    """Whether this is to be seen in it."""
    otherwise: Callable[[str, str, Topic | None], bool]
    """Another way to tell title and words where the desktop has no service for it; whether it surely does."""

    def __init__(
        self,
        events: Events,
        preferences: Preferences,
        desktop: DesktopNotifications,
        notices: Notices,
        scope: TaskScope,
    ) -> None:
        super().__init__()
        self.is_in_front = lambda: False
        self.is_in_sight = lambda _: False
        self.otherwise = lambda *_: False
        self._preferences = preferences
        self._desktop = desktop
        self._notices = notices
        self._told: dict[str, Happening] = {}
        events.news.connect(self._on_news)
        notices.cleared.connect(self._on_cleared)
        self._stop_listening = desktop.clicked.add(self._on_clicked)
        scope.start("show notifications", desktop.run)

    def close(self) -> None:
        self._stop_listening()

    def _on_news(self, fresh: Sequence[Happening]) -> None:
        for happening in fresh:
            setting = NOTICES.get(getattr(notice_of(happening), "value", ""))
            if setting is None:
                continue
            teller = teller_of(
                happening,
                is_wanted=self._preferences.value(setting),
                is_in_front=self.is_in_front(),
                is_in_sight=self.is_in_sight(happening.topic),
            )
            if teller is Teller.DESKTOP:
                self._show(happening)
            elif teller is Teller.WINDOW:
                self._notices.show(happening)

    def _show(self, happening: Happening) -> None:
        key = str(happening.number)
        self._told[key] = happening
        title, words = say(happening.title), say(happening.hint)
        answers = tuple((answer.id, say(answer.words)) for answer in happening.answers)
        self._desktop.show(Notification(key, title, words, partial(self._tell_otherwise, happening), answers))

    def _tell_otherwise(self, happening: Happening) -> None:
        is_told = self.otherwise(say(happening.title), say(happening.hint), happening.topic)
        if not is_told and in_the_window(happening) is Teller.WINDOW:
            self._notices.show(happening)

    def _on_cleared(self, name: str) -> None:
        for key in [key for key, happening in self._told.items() if happening.name == name]:
            del self._told[key]
            self._desktop.take_away(key)

    def _on_clicked(self, clicked: ClickedNotification) -> None:
        happening = self._told.pop(clicked.key, None)
        answers = happening.answers if happening is not None else ()
        answer = next((answer for answer in answers if answer.id == clicked.action), None)
        if answer is not None:
            answer.act()
        else:
            self.clicked.emit(happening.topic if happening is not None else None)
