"""Finds what a test started and did not end."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from support.waiting import PATIENT_S

_PROC = Path("/proc")
LENT: set[int] = set()
"""Processes that are there for later tests as well, though one of the tests has started them."""


@dataclass
class Leftovers:
    """What was there before the test; everything else must be gone after it."""

    qt: bool
    threads: set[threading.Thread]
    processes: set[psutil.Process]
    widgets: list[Any] = field(default_factory=list)
    timers: list[Any] = field(default_factory=list)

    @classmethod
    def now(cls, *, qt: bool) -> Leftovers:
        return cls(
            qt,
            set(threading.enumerate()),
            _children(),
            _windows() if qt else [],
            _timers() if qt else [],
        )

    def left(self) -> list[str]:
        found = []
        if self.qt:
            found += [f"window {widget!r}" for widget in _windows() if widget not in self.widgets]
            found += [f"timer {timer!r}" for timer in _timers() if timer not in self.timers]
        for thread in set(threading.enumerate()) - self.threads:
            _wait_for(thread)
            if thread.is_alive():
                found.append(f"thread {thread.name}")
        _, alive = psutil.wait_procs(self._new_processes(), timeout=PATIENT_S)
        found += [f"process {_name(process)}" for process in alive]
        return found

    def end_processes(self) -> None:
        for process in self._new_processes():
            with suppress(psutil.NoSuchProcess):  # it may end at this very moment
                process.kill()
        psutil.wait_procs(self._new_processes(), timeout=PATIENT_S)

    def _new_processes(self) -> list[psutil.Process]:
        new = _children() - self.processes
        return [process for process in new if process.pid not in LENT and process.is_running()]


def _wait_for(thread: threading.Thread) -> None:
    """One that is just being started is in the list before it can be waited for."""
    end = time.monotonic() + PATIENT_S
    while True:
        try:
            thread.join(PATIENT_S)
        except RuntimeError:
            if thread not in threading.enumerate() or time.monotonic() > end:
                return
            time.sleep(0.001)
        else:
            return


def _children() -> set[psutil.Process]:
    """To ask psutil for them reads what every process of the machine says of itself, four times a test."""
    try:
        return {psutil.Process(pid) for pid in _below("self")}
    except (OSError, psutil.NoSuchProcess):  # another system, or somebody ended meanwhile
        return set(psutil.Process().children(recursive=True))


def _below(pid: str) -> Iterator[int]:
    for task in (_PROC / pid / "task").iterdir():
        for child in (task / "children").read_text().split():
            yield int(child)
            yield from _below(child)


def _name(process: psutil.Process) -> str:
    try:
        return f"{process.pid} {process.name()}"
    except psutil.NoSuchProcess:
        return str(process.pid)


def _windows() -> list[Any]:
    from PySide6.QtCore import QCoreApplication, QEvent
    from PySide6.QtWidgets import QApplication

    gc.collect()
    if QApplication.instance() is None:
        return []
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    # Qt keeps one tool tip for the whole program.
    return [widget for widget in QApplication.topLevelWidgets() if widget.metaObject().className() != "QTipLabel"]


def _timers() -> list[Any]:
    import shiboken6
    from PySide6.QtCore import QTimer

    alive = [thing for thing in gc.get_objects() if issubclass(type(thing), QTimer) and shiboken6.isValid(thing)]
    return [timer for timer in alive if timer.isActive() and timer.parent() is None]
