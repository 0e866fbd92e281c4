"""The only module that knows which library joins asyncio to Qt."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

os.environ["QT_API"] = "pyside6"  # qasync looks for PyQt first

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication

import qasync  # isort: skip  (after PySide6, so that it finds it)

from traindeck.ui.qt.watchdog import UiThreadCollector

log = logging.getLogger(__name__)
qt_log = logging.getLogger("qt")

Main = Callable[[QApplication, asyncio.Event], Coroutine[Any, Any, int]]

_LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}


def run(main: Main, arguments: Sequence[str] = ()) -> int:
    """Run `main(application, stop_requested)` until it returns the exit status.

    What nobody catches, in slots, tasks, callbacks and threads, goes to `sys.excepthook`: set it in `main` or before.
    """
    application = QApplication([sys.argv[0], *arguments])
    application.setApplicationName("traindeck")
    application.setApplicationDisplayName("TrainDeck")
    application.setDesktopFileName("traindeck")
    application.setQuitOnLastWindowClosed(False)  # main decides, not Qt
    collector = UiThreadCollector(application)
    try:
        with (
            _qt_messages_logged(),
            _threads_use_the_hook(),
            asyncio.Runner(loop_factory=lambda: new_loop(application)) as runner,
        ):
            return runner.run(_stoppable(main, application))
    finally:
        collector.close()


def new_loop(application: QApplication) -> asyncio.AbstractEventLoop:
    loop: asyncio.AbstractEventLoop = qasync.QEventLoop(application)
    # The default one of qasync leaves its caller waiting for ever when a worker ends by SystemExit.
    loop.set_default_executor(ThreadPoolExecutor(4, thread_name_prefix="default"))
    loop.set_exception_handler(_hand_to_hook)
    return loop


async def _stoppable(main: Main, application: QApplication) -> int:
    stop = asyncio.Event()
    with _signals_set(stop):
        return await main(application, stop)


@contextmanager
def _signals_set(stop: asyncio.Event) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        try:
            loop.add_signal_handler(number, stop.set)
        except NotImplementedError:  # Windows; the collector's beat lets Python look at the signal
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop.set))
    try:
        yield
    finally:
        for number in numbers:
            with suppress(NotImplementedError):  # as above
                loop.remove_signal_handler(number)
            signal.signal(number, before[number])


def _hand_to_hook(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    message = context.get("message") or "an error in the event loop"
    error = context.get("exception") or RuntimeError(message)
    log.error("%s: %s", message, {key: value for key, value in context.items() if key not in ("message", "exception")})
    sys.excepthook(type(error), error, error.__traceback__)


@contextmanager
def _threads_use_the_hook() -> Iterator[None]:
    before = threading.excepthook

    def hook(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None and not isinstance(args.exc_value, SystemExit):
            sys.excepthook(args.exc_type, args.exc_value, args.exc_traceback)

    threading.excepthook = hook
    try:
        yield
    finally:
        threading.excepthook = before


@contextmanager
def _qt_messages_logged() -> Iterator[None]:
    def take(kind: QtMsgType, context: QMessageLogContext, message: str) -> None:
        qt_log.log(_LEVELS.get(kind, logging.WARNING), "%s: %s", context.category or "default", message)

    before = qInstallMessageHandler(take)
    try:
        yield
    finally:
        qInstallMessageHandler(before)
