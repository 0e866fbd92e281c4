"""Garbage collection on the UI thread only."""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer

BEAT_MS = 1000


class UiThreadCollector(QObject):
    """Collects by the clock, because a collection in a worker thread would destroy Qt's objects there."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        gc.collect()
        gc.freeze()  # what the start made lives to the end; looking at it each time would cost a stall
        gc.disable()
        self._beat = QTimer(self)
        self._beat.setInterval(BEAT_MS)
        self._beat.timeout.connect(self._collect)
        self._beat.start()

    def close(self) -> None:
        self._beat.stop()
        gc.unfreeze()
        gc.enable()

    def _collect(self) -> None:
        for generation in (2, 1, 0):
            if gc.get_count()[generation] > gc.get_threshold()[generation]:
                gc.collect(generation)
                return
