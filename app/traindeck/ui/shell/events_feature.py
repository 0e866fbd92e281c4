"""The dock of the events."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtWidgets import QWidget

from traindeck.ui.shell.feature import Feature, Shell
from traindeck.ui.shell.main_window import Make
from traindeck.viewmodels.shell.events import Events


class EventsFeature(Feature):
    def __init__(self, shell: Shell, events: Events) -> None:
        super().__init__(shell)
        self._events = events

    def panels(self) -> Mapping[str, Make]:
        return {"events": self._panel}

    def _panel(self) -> QWidget:
        from traindeck.ui.shell.events_view import EventsView  # when it comes in sight

        return EventsView(self._events, self.shell.theme, self.shell.jump)
