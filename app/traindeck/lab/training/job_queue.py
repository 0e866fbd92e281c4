"""Lets so many jobs run at once and the others wait, the most urgent and then the oldest first."""

import threading
from collections.abc import Callable

from traindeck.lab.training.runner import JobRun


class JobQueue:
    """The order in which jobs get their turn; may be used from any thread."""

    def __init__(self, parallel: int, is_held_back: Callable[[JobRun], bool]) -> None:
        self._parallel = parallel
        self._is_held_back = is_held_back
        self._lock = threading.Lock()
        self._waiting: list[JobRun] = []
        self._running: set[str] = set()

    def put(self, run: JobRun) -> None:
        with self._lock:
            self._waiting.append(run)
            self._fill()

    def ended(self, run: JobRun) -> None:
        """Give the place of `run` to the next."""
        with self._lock:
            self._running.discard(run.id)
            self._fill()

    def dismiss(self, run: JobRun) -> None:
        """A run that was asked to stop need not wait for its turn to end."""
        with self._lock:
            if run in self._waiting:
                self._waiting.remove(run)
                run.start()

    def look(self) -> None:
        """Something changed that may let a job begin."""
        with self._lock:
            self._fill()

    def _fill(self) -> None:
        while len(self._running) < self._parallel:
            ready = [run for run in self._waiting if not self._is_held_back(run)]
            if not ready:
                return
            run = max(ready, key=lambda run: run.priority)
            self._waiting.remove(run)
            self._running.add(run.id)
            run.start()
