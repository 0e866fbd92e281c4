"""What tests of the window share; the only part of the tests' footing that imports Qt."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QWidget

from support import waiting
from support.waiting import is_long, until
from support.watched_loop import run_watched
from traindeck.ui.qt.loop import new_loop
from traindeck.ui.qt.watchdog import Stall, StallWatchdog

__all__ = ["QtRunner", "Stalls", "collecting_here", "press", "until", "watched_for_stalls"]


class QtRunner:
    """Runs coroutines on the loop of the window."""

    def __init__(self, application: QApplication) -> None:
        application.setQuitOnLastWindowClosed(False)  # else a closed dialog would end the loop; so it is in `run`
        self._runner = asyncio.Runner(loop_factory=lambda: new_loop(application))

    def __enter__(self) -> Self:
        self._runner.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._runner.__exit__(kind, error, trace)

    def run(self, body: Coroutine[Any, Any, None]) -> None:
        run_watched(self._runner, body)


@contextmanager
def collecting_here() -> Iterator[None]:
    """No collection in a worker thread: it would destroy Qt's objects there."""
    gc.disable()
    # What the tests before have loaded lives to the end; looking at it each time would cost most of the run.
    gc.freeze()
    try:
        yield
    finally:
        gc.collect()
        gc.enable()


class Stalls(list[Stall]):
    """The times the UI thread did not answer."""

    def check(self) -> None:
        """None was too long, as far as that can be said of a machine that runs other tests as well."""
        long = [stall for stall in self if waiting.IS_ALONE and is_long(stall.seconds, stall.own)]
        assert not long, "\n\n".join(f"{stall.seconds * 1000:.0f} ms in\n{stall.stack}" for stall in long)


@contextmanager
def watched_for_stalls() -> Iterator[Stalls]:
    stalls = Stalls()
    watchdog = StallWatchdog(stalls.append)
    try:
        yield stalls
    finally:
        watchdog.close()


def press(widget: QWidget, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    """A key as the widget itself gets it, without the window system in between."""
    for kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
        QApplication.sendEvent(widget, QKeyEvent(kind, key, modifiers))
