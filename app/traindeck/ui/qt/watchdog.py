"""Reports a UI thread that stops answering, and keeps the collecting of garbage on that thread."""

from __future__ import annotations

import gc
import os
import platform
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QTimer

BEAT_S = 0.025
REST_BEAT_S = 0.125
LIMIT_S = 0.05
LOOK_S = 0.015
_SLACK_S = 0.002
# Computed between two beats: more than that, and somebody is using the window.
_BUSY_S = 0.002
_AWAKE_S = 2.0
_MOST_TOLD = 200
# The number of the call that waits for a lock, as Linux tells it.
_FUTEX = {"aarch64": b"98", "riscv64": b"98"}.get(platform.machine(), b"202")


@dataclass(frozen=True, slots=True)
class Stall:
    """One time the UI thread did not answer: how long, and what it was doing.

    `own` is the part in which it computed, read or slept. In the rest it may have waited for Python's lock: a thread
    that is not let onto a processor keeps that lock, on a machine with much else to do for any time.
    """

    seconds: float
    own: float
    stack: str


_Line = tuple[str, int, str]


@dataclass(slots=True)
class _Gap:
    """What the watching thread saw of one late beat: the call that held it longest."""

    call: int = 0
    first: float = 0.0
    held: float = 0.0
    last: float = 0.0
    asleep: float = 0.0
    without: float | None = None
    """What the system had told of waiting for a processor when the beat was due."""
    lines: tuple[_Line, ...] = ()


class StallWatchdog(QObject):
    """A timer beats on the UI thread, a second thread looks at what keeps the beat from coming.

    A machine with too little time for us delays the beat as well. That is not ours to mend, so a late beat counts only
    as far as the UI thread computed (its own clock says so) or was seen again and again inside the same call; and
    where the system tells how long the thread was ready but had no processor, that time does not count either.

    Waking up forty times a second is most of what an idle window costs: while nothing goes on it beats every `rest_s`.
    """

    def __init__(
        self,
        on_stall: Callable[[Stall], None],
        parent: QObject | None = None,
        *,
        limit_s: float = LIMIT_S,
        rest_s: float = BEAT_S,
    ) -> None:
        super().__init__(parent)
        self._on_stall = on_stall
        self._limit_s = limit_s
        self._rest_s = rest_s
        self.beat_s = BEAT_S
        self._awake_until = time.monotonic() + _AWAKE_S
        self._ui_thread = threading.get_ident()
        self._beat_at = time.monotonic()
        self._computed = time.thread_time()
        told_by_system = Path(f"/proc/self/task/{threading.get_native_id()}")
        self._told_by_system: FileIO | None = None
        with suppress(OSError):
            self._told_by_system = FileIO(told_by_system / "schedstat")
        self._call_file = told_by_system / "syscall"
        self._gap = _Gap()
        self._done = threading.Event()
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(int(BEAT_S * 1000))
        self._timer.timeout.connect(self._beat)
        self._timer.start()
        self._watcher = threading.Thread(target=self._watch, name="stall-watchdog", daemon=True)
        self._watcher.start()

    def close(self) -> None:
        """Judge the time up to now, then stop watching."""
        if self._done.is_set():
            return
        self._beat()
        self._timer.stop()
        self._done.set()
        self._watcher.join()
        if self._told_by_system is not None:
            self._told_by_system.close()

    def _beat(self) -> None:
        now, computed = time.monotonic(), time.thread_time()
        late, used = now - self._beat_at - self.beat_s, computed - self._computed
        gap, self._gap = self._gap, _Gap()
        self._beat_at, self._computed = now, computed
        self._pace(now, used)
        if late > self._limit_s and gap.without is not None:
            late -= self._waited_for_processor() - gap.without
        seconds = min(late, max(used, gap.held))
        if seconds > self._limit_s:
            own = min(seconds, used + gap.asleep)
            self._on_stall(Stall(seconds, own, _words(gap.lines)))

    def _pace(self, now: float, used: float) -> None:
        if used > _BUSY_S:
            self._awake_until = now + _AWAKE_S
        beat_s = BEAT_S if now < self._awake_until else self._rest_s
        if beat_s != self.beat_s:
            self.beat_s = beat_s
            self._timer.setInterval(int(beat_s * 1000))

    def _waited_for_processor(self) -> float:
        """Seconds since the thread began, on Linux; nothing anywhere else."""
        if self._told_by_system is None:
            return 0.0
        try:
            return int(os.pread(self._told_by_system.fileno(), _MOST_TOLD, 0).split()[1]) / 1e9
        except (OSError, IndexError, ValueError):
            return 0.0

    def _sleeps(self) -> bool:
        """In a call of the system other than the waiting for a lock; so it is taken where nothing tells."""
        try:
            return self._call_file.read_bytes().split()[0] not in (b"running", _FUTEX)
        except (OSError, IndexError):
            return True

    def _watch(self) -> None:
        # There is nothing to look at before a beat is due; then it is looked at again and again until it comes.
        pause = BEAT_S
        while not self._done.wait(pause):
            begun, gap, beat_s = self._beat_at, self._gap, self.beat_s
            pause = max(LOOK_S, beat_s - (time.monotonic() - begun) + _SLACK_S)
            if time.monotonic() - begun < beat_s:
                continue
            call, lines = _look(self._ui_thread)
            now, sleeps = time.monotonic(), self._sleeps()
            if self._beat_at != begun:
                continue
            if gap.without is None:
                gap.without = self._waited_for_processor()
            if not lines:
                continue
            if call != gap.call:
                gap.call, gap.first, gap.last = call, now, begun + beat_s
            if sleeps:
                gap.asleep += now - gap.last
            gap.last = now
            if not gap.lines or now - gap.first > gap.held:
                gap.held, gap.lines = now - gap.first, lines


def _look(thread: int) -> tuple[int, tuple[_Line, ...]]:
    """The call the thread is in, as plain words.

    Quick and without reading files: were a frame kept, its last owner, and the owner of the widgets in it, would be
    the watching thread.
    """
    frame = sys._current_frames().get(thread)
    call, lines = 0, list[_Line]()
    while frame is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] != "qasync":
        call = id(frame)
        lines.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return call, tuple(reversed(lines))


def _words(lines: tuple[_Line, ...]) -> str:
    if not lines:
        return "(painting or layout, outside Python)"
    # Without the words of the source: they would be read now, by the thread that is late, and be kept for good.
    return "".join(f'  File "{file}", line {line}, in {name}\n' for file, line, name in lines)


BEAT_MS = 1000
_FIRST_BEAT_MS = 5000
_BURST = 50_000
"""So many new objects are those of a worker at its work, and mostly go as they came; looking at them takes long."""
_MOST_BEATS = 10
"""After so many they are looked at all the same."""


class UiThreadCollector(QObject):
    """Collects by the clock, because a collection in a worker thread would destroy Qt's objects there."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        gc.freeze()  # what the start made lives to the end; looking at it each time would cost a stall
        gc.disable()
        self._let_pass = 0
        self._beat = QTimer(self)
        self._beat.setInterval(BEAT_MS)
        self._beat.timeout.connect(self.collect)
        # Later: while the window fills there is next to nothing to be found, and looking took longer than all else.
        self._first = QTimer(self, singleShot=True, interval=_FIRST_BEAT_MS)
        self._first.timeout.connect(self._beat.start)
        self._first.start()

    def close(self) -> None:
        self._first.stop()
        self._beat.stop()
        gc.unfreeze()
        gc.enable()

    def collect(self) -> None:
        """What is due of it."""
        if gc.get_count()[0] > _BURST and self._let_pass < _MOST_BEATS:
            self._let_pass += 1
            return
        self._let_pass = 0
        for generation in (2, 1, 0):
            if gc.get_count()[generation] > gc.get_threshold()[generation]:
                gc.collect(generation)
                return
