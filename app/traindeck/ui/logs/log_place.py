"""Where somebody was in the log of a run, over a restart: the same line, however much was written meanwhile."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from traindeck.ui.kit.kept_place import KeptPlace
from traindeck.ui.logs.log_pane import LogPane
from traindeck.viewmodels.logs.log_feed import LogFeed, log_place


class KeptLog(KeptPlace):
    """Whoever follows the end is nowhere to come back to."""

    def __init__(self, feed: LogFeed, pane: LogPane) -> None:
        super().__init__("log", pane)
        self._feed = feed
        self._pane = pane
        pane.follow_wanted.connect(self._give_up)
        pane.moved.connect(self._note)
        feed.place_found.connect(self._go)
        feed.changed.connect(self._note)

    def take_up(self, kept: Any) -> None:
        if self._feed.state.run is None or not self._feed.state.is_following:
            if self._feed.found_row is not None:
                self._go(self._feed.found_row)
            elif self._feed.place_wanted is None:  # else somebody is led to a line, which is still looked for
                self._feed.want_place(log_place(kept))

    def _go(self, row: int) -> None:
        self._feed.follow_end(False)
        self._pane.show_row(row, at_top=True)

    def _give_up(self, *_: object) -> None:
        self._feed.place_wanted = None

    def _note(self, *_: object) -> None:
        state = self._feed.state
        if self._feed.place_wanted is not None or not self._pane.isVisible():
            return
        row = self._feed.lines.row(self._pane.top_number)
        if state.is_following or not state.is_read:
            self.moved.emit(None)
        elif row is not None and (place := self._feed.place_at(row.begin)) is not None:
            self.moved.emit(asdict(place))
