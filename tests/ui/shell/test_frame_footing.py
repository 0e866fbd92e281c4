"""The footing itself: the loop in Qt's folders, stalls, what is left behind."""

import asyncio
import os
import select
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QLabel

from support import waiting
from support.leftovers import Leftovers
from support.qt_support import Stalls, until, watched_for_stalls
from support.servers.window_process import JOURNEYS, is_of_journey
from support.waiting import IS_TOLD, LONGEST_STALL_S, is_long
from traindeck.ui.qt.watchdog import REST_BEAT_S, Stall, StallWatchdog, UiThreadCollector


async def test_coroutines_run_on_the_loop_of_the_window(qapp: QApplication) -> None:
    fired: list[object] = []
    QTimer.singleShot(1, qapp, lambda: fired.append(asyncio.get_running_loop()))
    await until(lambda: fired)
    assert fired == [asyncio.get_running_loop()]


def compute(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def block(seconds: float) -> None:
    left, right = socket.socketpair()
    with left, right:
        select.select([left], [], [], seconds)


@pytest.mark.parametrize("call", [compute, block])
async def test_a_long_call_is_reported_with_its_line(call: Callable[[float], None]) -> None:
    """Again until it is seen: with much else to do, the machine may keep the watching thread from looking."""
    with watched_for_stalls() as stalls:
        while not (reported := [stall for stall in stalls if f"in {call.__name__}" in stall.stack]):
            QTimer.singleShot(0, lambda: call(0.15))
            await asyncio.sleep(0.05)
    assert max(stall.seconds for stall in reported) > 0.05


@pytest.mark.skipif(not IS_TOLD, reason="only Linux tells how long a thread was ready")
@pytest.mark.parametrize("call", [compute, block])
async def test_what_a_user_would_notice_fails_a_test_that_runs_alone(
    call: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "slowness", lambda: 1.0)
    seen = Stalls()
    while not any(is_long(stall.seconds, stall.own) for stall in seen):
        with watched_for_stalls() as stalls:
            QTimer.singleShot(0, lambda: call(0.15))
            await asyncio.sleep(0.05)
        seen.extend(stall for stall in stalls if f"in {call.__name__}" in stall.stack)
    monkeypatch.setattr(waiting, "IS_ALONE", False)
    seen.check()
    monkeypatch.setattr(waiting, "IS_ALONE", True)
    with pytest.raises(AssertionError, match=call.__name__):
        seen.check()


async def test_an_idle_window_is_looked_at_seldom_and_a_busy_one_often(qapp: QApplication) -> None:
    stalls: list[Stall] = []
    watchdog = StallWatchdog(stalls.append, rest_s=REST_BEAT_S)
    try:
        await until(lambda: watchdog.beat_s == REST_BEAT_S)

        def busy() -> bool:
            compute(0.005)
            return watchdog.beat_s < REST_BEAT_S

        await until(busy)
        # And what takes long is seen at rest, too.
        await until(lambda: watchdog.beat_s == REST_BEAT_S)
        while not any("in block" in stall.stack for stall in stalls):
            QTimer.singleShot(0, lambda: block(0.4))
            await asyncio.sleep(0.05)
    finally:
        watchdog.close()


async def test_short_calls_and_idle_time_are_no_stall(responsive: Stalls) -> None:
    for _ in range(30):
        compute(0.005)
        await asyncio.sleep(0.01)


def test_a_slow_machine_is_given_more_time_and_no_machine_less(monkeypatch: pytest.MonkeyPatch) -> None:
    for slow, expected in ((3.0, False), (1.0, True)):
        monkeypatch.setattr(waiting, "slowness", lambda slow=slow: slow)
        assert is_long(0.25, 0.25) is expected
    assert not is_long(0.09, 0.09)


def test_only_what_a_journey_does_by_itself_is_not_the_windows_fault() -> None:
    task, walk, door = (
        "/app/runtime/tasks.py",
        str(JOURNEYS.with_name("hands.py")),
        str(JOURNEYS.with_name("outside.py")),
    )
    assert is_of_journey([task, walk])
    assert not is_of_journey([task, walk, "/app/ui/shell/docks.py"])
    assert not is_of_journey([door, walk]) and not is_of_journey([door])
    assert not is_of_journey([])


@pytest.fixture
def crowded_processor() -> Iterator[int]:
    """One of our processors, on which four programs compute without end."""
    one = min(os.sched_getaffinity(0))
    busy = f"import os; os.sched_setaffinity(0, {{{one}}}); print('busy', flush=True)\nwhile True: pass"
    with ExitStack() as stack:
        for _ in range(4):
            other = subprocess.Popen([sys.executable, "-c", busy], stdout=subprocess.PIPE)
            stack.enter_context(other)
            stack.callback(other.kill)
            assert other.stdout is not None
            other.stdout.readline()
        yield one


@pytest.mark.skipif(not IS_TOLD, reason="only Linux tells how long a thread was ready")
@pytest.mark.long  # it keeps a processor from all tests beside it
async def test_time_that_others_took_is_no_stall(crowded_processor: int, responsive: Stalls) -> None:
    """Short calls on a processor that is shared with others, until one of them took far too long."""
    mine = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {crowded_processor})
    try:
        seconds = 0.0
        while seconds < LONGEST_STALL_S + 0.05:
            began = time.monotonic()
            compute(0.03)
            seconds = time.monotonic() - began
            await asyncio.sleep(0.03)
    finally:
        os.sched_setaffinity(0, mine)


@pytest.mark.skipif(not IS_TOLD, reason="only Linux tells how long a thread was ready")
@pytest.mark.long  # it keeps a processor from all tests beside it
async def test_waiting_for_a_thread_that_has_no_processor_is_no_stall(
    crowded_processor: int, responsive: Stalls
) -> None:
    """It computes in Python on the crowded processor, and keeps Python's lock while it is not let onto it."""
    done = threading.Event()

    def work() -> None:
        os.sched_setaffinity(threading.get_native_id(), {crowded_processor})
        while not done.is_set():
            pass

    def few_lines() -> None:
        for _ in range(10):
            time.sleep(0)  # lets the lock go, and has to wait for it

    thread = threading.Thread(target=work)
    thread.start()
    try:
        seconds = 0.0
        while seconds < LONGEST_STALL_S + 0.05:
            began = time.monotonic()
            few_lines()
            seconds = time.monotonic() - began
            await asyncio.sleep(0.03)
    finally:
        done.set()
        thread.join()


def test_a_window_a_timer_and_a_thread_are_noticed(qapp: QApplication) -> None:
    before = Leftovers.now(qt=True)
    label, timer, resume = QLabel(), QTimer(), threading.Event()
    timer.start(1000)
    thread = threading.Thread(target=resume.wait, args=(0.2,), name="short", daemon=True)
    thread.start()
    assert [line.split()[0] for line in before.left()] == ["window", "timer"]
    timer.stop()
    del label, timer
    assert before.left() == []


def test_the_many_objects_of_a_worker_are_not_looked_at_while_they_come_and_go(qapp: QApplication) -> None:
    """Those of a reader of two thousand scripts held the window for 80 to 220 ms."""

    class Ring:
        def __init__(self) -> None:
            self.itself = self

    collector = UiThreadCollector(qapp)
    try:
        gone = weakref.ref(Ring())
        trees: list[list[int]] = [[] for _ in range(60_000)]
        for _ in range(3):
            collector.collect()
            assert gone() is not None
        trees = [[] for _ in range(5_000)]  # enough for a look
        collector.collect()
        assert gone() is None
        gone = weakref.ref(Ring())
        trees = [[] for _ in range(60_000)]
        for _ in range(11):
            collector.collect()
        assert gone() is None and trees, "not for ever"
    finally:
        collector.close()
