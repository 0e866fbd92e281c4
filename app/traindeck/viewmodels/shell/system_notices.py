"""What the operating system tells while the window is not looked at: each thing once, and only what the user wants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QObject, Signal

from traindeck.domain.events import KeptEvent
from traindeck.domain.settings import NOTICES
from traindeck.domain.texts import say
from traindeck.runtime.tasks import TaskScope
from traindeck.services.desktop.notifications import DesktopNotifications, Notification
from traindeck.viewmodels.shell.events import Events, topic_of
from traindeck.viewmodels.shell.journal import Topic
from traindeck.viewmodels.shell.preferences import Preferences


class SystemNotices(QObject):
    """The events decide what is new, also over a restart."""

    clicked = Signal(object)
    """The Topic of a notice that somebody clicked; None: it leads nowhere."""
    otherwise = Signal(str, str, object)
    """Title, words and topic of one that the desktop has no service for."""

    is_in_sight: Callable[[Topic | None], bool]
    """Whether the user looks at it this moment: a window says so."""

    def __init__(
        self, events: Events, preferences: Preferences, desktop: DesktopNotifications, scope: TaskScope
    ) -> None:
        super().__init__()
        self.is_in_sight = lambda _: False
        self._preferences = preferences
        self._desktop = desktop
        self._topics: dict[str, Topic | None] = {}
        events.added.connect(self._on_added)
        self._stop_listening = desktop.clicked.add(self._on_clicked)
        scope.start("show notifications", desktop.run)

    def close(self) -> None:
        self._stop_listening()

    def _on_added(self, fresh: Sequence[KeptEvent]) -> None:
        for event in fresh:
            setting = NOTICES.get(event.notice)
            if setting is not None and self._preferences.value(setting) and not self.is_in_sight(topic_of(event)):
                self._show(event)

    def _show(self, event: KeptEvent) -> None:
        title, words, topic = say(event.title), say(event.hint), topic_of(event)
        key = str(event.number)
        self._topics[key] = topic
        self._desktop.show(Notification(key, title, words, partial(self.otherwise.emit, title, words, topic)))

    def _on_clicked(self, key: str) -> None:
        self.clicked.emit(self._topics.pop(key, None))
