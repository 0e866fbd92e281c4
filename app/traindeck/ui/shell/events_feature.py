"""The dock of the events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from traindeck.domain.texts import say, text
from traindeck.ui.shell.feature import Feature, Shell
from traindeck.ui.shell.main_window import Make
from traindeck.viewmodels.shell.commands import Command
from traindeck.viewmodels.shell.events import Events

if TYPE_CHECKING:
    from traindeck.ui.shell.events_view import EventsView

_SCOPE = "event"
"""No dock of this name: the rows act on their keys by themselves."""


class EventsFeature(Feature):
    def __init__(self, shell: Shell, events: Events) -> None:
        super().__init__(shell)
        self._events = events
        self._view: EventsView | None = None

    def panels(self) -> Mapping[str, Make]:
        return {"events": self._panel}

    def _panel(self) -> QWidget:
        from traindeck.ui.shell.events_view import EventsView  # when it comes in sight

        self._view = EventsView(self._events, self.shell.theme, self.shell.jump)
        return self._view

    def commands(self) -> Iterable[Command]:
        def show() -> None:
            if self._view is not None:
                self._view.show_selected()

        def leads() -> bool:
            return self._view is not None and self._view.leads_somewhere()

        return [
            Command(
                "event.show", say("Show"), show, leads, "Return", "view", 1,
                submenu=say("&Events"), scope=_SCOPE, needs=text("Select an event that leads somewhere first."),
            )
        ]  # fmt: skip
