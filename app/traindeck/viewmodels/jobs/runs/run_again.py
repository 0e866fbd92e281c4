"""Running the same job again: at once where it is free, after a pause where it is charged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from PySide6.QtCore import QObject, QTimer, Signal

from traindeck.domain.accounts.profiles import LAB
from traindeck.domain.jobs.job import Run

PAUSE_S = 5
_STEP_MS = 1000


@dataclass(frozen=True, slots=True)
class Countdown:
    """The run that is submitted again unless the user cancels."""

    run: Run
    seconds: int
    is_held: bool = False
    """Stopped until the user answers."""


class RunAgain(QObject):
    """One key must not cost money by mistake: until the pause is over nothing was sent."""

    changed = Signal()

    def __init__(self, send: Callable[[Run], None]) -> None:
        super().__init__()
        self._send = send
        self.countdown: Countdown | None = None
        self._steps = QTimer(self, interval=_STEP_MS)
        self._steps.timeout.connect(self._step)

    def ask(self, run: Run) -> None:
        """While one is counted down, asking again changes nothing."""
        if self.countdown is not None and not self.countdown.is_held:
            return
        if run.profile == LAB:
            self._send(run)
        else:
            self._show(Countdown(run, PAUSE_S))

    def cancel(self) -> None:
        if self.countdown is not None:
            self._show(None)

    def hold(self) -> None:
        """Stop counting until the user answers: the countdown is covered, or its keys go elsewhere."""
        if self.countdown is not None and not self.countdown.is_held:
            self._show(replace(self.countdown, is_held=True))

    def resume(self) -> None:
        """Count from the beginning, so that no single click submits."""
        if self.countdown is not None and self.countdown.is_held:
            self._show(Countdown(self.countdown.run, PAUSE_S))

    def _step(self) -> None:
        left = self.countdown
        if left is None:
            return
        if left.seconds > 1:
            self._show(replace(left, seconds=left.seconds - 1))
        else:
            self._show(None)
            self._send(left.run)

    def _show(self, countdown: Countdown | None) -> None:
        self.countdown = countdown
        if countdown is None or countdown.is_held:
            self._steps.stop()
        elif not self._steps.isActive():
            self._steps.start()
        self.changed.emit()
