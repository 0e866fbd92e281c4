"""The footing itself: the loop in Qt's folders, stalls, what is left behind."""

import asyncio
import select
import socket
import threading
import time

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QLabel

from leftovers import Leftovers
from qt_support import Stalls, until, watched_for_stalls


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


def test_a_window_a_timer_and_a_thread_are_noticed(qapp: QApplication) -> None:
    before = Leftovers.now(qt=True)
    label, timer, go_on = QLabel(), QTimer(), threading.Event()
    timer.start(1000)
    thread = threading.Thread(target=go_on.wait, args=(0.2,), name="short", daemon=True)
    thread.start()
    assert [line.split()[0] for line in before.left()] == ["window", "timer"]
    timer.stop()
    del label, timer
    assert before.left() == []
