"""The log of the run that is selected, shown at once."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer

from traindeck.domain.readings.failures import Failure
from traindeck.viewmodels.jobs.runs.run_list import RunList
from traindeck.viewmodels.logs.log_feed import LogFeed

_PAUSE_MS = 150
"""Whoever goes through the runs key by key does not wait for the log of each."""


class SelectedLog(QObject):
    """Joins the list and the log for as long as both are there."""

    def __init__(self, runs: RunList, log: LogFeed) -> None:
        super().__init__(log)
        self._runs = runs
        self._log = log
        self._soon = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._soon.timeout.connect(self._show)
        runs.selection_changed.connect(self._soon.start)
        runs.changed.connect(self._on_changed)
        if runs.readings is not None:
            log.failure_of = self._failure_of
            runs.readings.changed.connect(self._on_reading)

    def _failure_of(self, run_id: str) -> Failure | None:
        reading = self._runs.readings.of(run_id) if self._runs.readings is not None else None
        return reading.failure if reading is not None else None

    def _on_reading(self, run_id: str) -> None:
        shown = self._log.state.run
        if shown is not None and shown.id == run_id and shown.state.is_failure:
            self._log.look_at_failure()

    def _on_changed(self) -> None:
        """What was selected may only now be known."""
        if self._log.state.run is None and self._runs.state.selected:
            self._soon.start()

    def _show(self) -> None:
        run, shown = self._runs.state.selected_run, self._log.state.run
        if run is not None and (shown is None or shown.id != run.id):
            self._log.show(run)
            if run.state.is_failure and self._runs.readings is not None and self._log.state.failure is None:
                self._runs.readings.want(run)
