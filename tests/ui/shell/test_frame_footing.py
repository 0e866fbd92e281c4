"""The footing itself: the loop in Qt's folders, stalls, what is left behind."""

import asyncio
import os
import select
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QLabel

from support.leftovers import Leftovers
from support.qt_support import LIMIT_S, Stalls, until, watched_for_stalls


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
async def test_a_long_call_is_reported_with_its_line(call: object) -> None:
    with watched_for_stalls() as stalls:
        QTimer.singleShot(50, lambda: call(0.3))
        await until(lambda: stalls)
    assert stalls[0].seconds > 0.15
    assert f"in {call.__name__}" in stalls[0].stack
    with pytest.raises(AssertionError, match=call.__name__):
        stalls.check()


async def test_short_calls_and_idle_time_are_no_stall(responsive: Stalls) -> None:
    for _ in range(30):
        compute(0.005)
        await asyncio.sleep(0.01)
    assert not responsive


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how long a thread was ready")
async def test_time_that_others_took_is_no_stall() -> None:
    """A short call on a processor that is shared with others."""
    mine = os.sched_getaffinity(0)
    one = min(mine)
    busy = f"import os; os.sched_setaffinity(0, {{{one}}}); print('busy', flush=True)\nwhile True: pass"
    with ExitStack() as stack:
        for _ in range(4):
            other = subprocess.Popen([sys.executable, "-c", busy], stdout=subprocess.PIPE)
            stack.enter_context(other)
            stack.callback(other.kill)
            assert other.stdout is not None
            other.stdout.readline()
        stack.callback(os.sched_setaffinity, 0, mine)
        os.sched_setaffinity(0, {one})
        with watched_for_stalls() as stalls:
            await asyncio.sleep(0.1)
            began = time.monotonic()
            compute(0.04)
            seconds = time.monotonic() - began
            await asyncio.sleep(0.1)
    assert seconds > LIMIT_S + 0.04, "nobody else was busy there"
    assert not stalls


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
