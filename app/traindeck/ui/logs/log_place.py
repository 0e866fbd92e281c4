"""Where somebody was in the log of a run, over a restart: the same line, however much was written meanwhile."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QPlainTextEdit

from traindeck.ui.kit.kept_place import KeptPlace
from traindeck.viewmodels.logs.log_feed import LogFeed, log_place


class KeptLog(KeptPlace):
    """Whoever follows the end is nowhere to come back to."""

    def __init__(self, feed: LogFeed, pane: QPlainTextEdit) -> None:
        super().__init__("log", pane)
        self._feed = feed
        self._pane = pane
        self._bar = pane.verticalScrollBar()
        self._later = QTimer(self, singleShot=True, interval=0)
        self._later.timeout.connect(self._find)
        self._bar.valueChanged.connect(self._note)
        self._bar.actionTriggered.connect(self._give_up)
        self._bar.rangeChanged.connect(self._look)
        feed.arrived.connect(self._look)
        feed.changed.connect(self._note)

    def take_up(self, kept: Any) -> None:
        if self._feed.state.run is None or not self._feed.state.is_following:
            self._feed.place_wanted = log_place(kept)
            self._look()

    def _look(self, *_: object) -> None:
        if self._feed.place_wanted is not None:
            self._later.start()

    def _find(self) -> None:
        wanted = self._feed.place_wanted
        below = self._feed.lines_below(wanted) if wanted is not None else None
        if below is None or not self._pane.isVisible():
            return
        line = max(0, self._pane.blockCount() - 1 - below)
        if line <= self._bar.maximum():
            self._feed.place_wanted = None
            self._feed.follow_end(False)
            self._bar.setValue(line)

    def _give_up(self, *_: object) -> None:
        self._feed.place_wanted = None

    def _note(self, *_: object) -> None:
        state = self._feed.state
        if self._feed.place_wanted is not None or not self._pane.isVisible():
            return
        below = self._pane.blockCount() - 1 - self._pane.firstVisibleBlock().blockNumber()
        place = None if state.is_following or not state.is_read else self._feed.place_at(below)
        self.moved.emit(None if place is None else asdict(place))
