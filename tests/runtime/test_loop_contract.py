"""What we need of the loop that joins asyncio to Qt; an upgrade that breaks one of these must fail here."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import shiboken6
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QDialog

from support.waiting import PATIENT_S, until
from traindeck.ui.kit.dialogs import shown


async def test_a_loop_runs_in_every_callback(qapp: QApplication) -> None:
    here, seen = asyncio.get_running_loop(), []

    def look() -> None:
        seen.append(asyncio.get_running_loop() is here)

    QTimer.singleShot(0, qapp, look)
    here.call_soon(look)
    here.call_later(0.01, look)
    await asyncio.to_thread(here.call_soon_threadsafe, look)
    await until(lambda: len(seen) == 4)
    assert all(seen)


async def test_tasks_go_on_while_a_dialog_is_open(qapp: QApplication) -> None:
    dialog, beats = QDialog(), []

    async def beat() -> None:
        while True:
            beats.append(1)
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        beating = group.create_task(beat())
        waiting = group.create_task(shown(dialog))
        await until(lambda: dialog.isVisible() and len(beats) > 50)
        dialog.accept()
        assert await waiting == QDialog.DialogCode.Accepted
        beating.cancel()


async def test_who_stops_waiting_closes_the_dialog(qapp: QApplication) -> None:
    dialog = QDialog()
    waiting = asyncio.create_task(shown(dialog))
    await until(dialog.isVisible)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await until(lambda: not shiboken6.isValid(dialog))


class Fatal(BaseException):
    pass


@pytest.mark.parametrize("kind", [Fatal, SystemExit, ValueError])
async def test_whatever_ends_a_worker_reaches_who_waits(kind: type[BaseException]) -> None:
    def die() -> None:
        raise kind("in the worker")

    with pytest.raises(kind, match="in the worker"):
        async with asyncio.timeout(PATIENT_S):
            await asyncio.get_running_loop().run_in_executor(None, die)


async def test_a_server_and_its_client_share_the_loop() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.readline()).upper())
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
        writer.write(b"hello\n")
        assert await reader.read() == b"HELLO\n"
        writer.close()
        await writer.wait_closed()


async def test_a_child_process_is_heard_and_reaped() -> None:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "print('from the child'); raise SystemExit(3)", stdout=asyncio.subprocess.PIPE
    )
    output, _ = await child.communicate()
    assert output.strip() == b"from the child"
    assert child.returncode == 3


async def test_callbacks_come_in_order() -> None:
    loop, came = asyncio.get_running_loop(), list[int]()
    for number in range(1000):
        loop.call_soon(came.append, number)
    await until(lambda: len(came) == 1000)
    assert came == list(range(1000))


async def test_threads_hand_on_in_order() -> None:
    loop, came = asyncio.get_running_loop(), list[int]()

    def count() -> None:
        for number in range(500):
            loop.call_soon_threadsafe(came.append, number)

    thread = threading.Thread(target=count)
    thread.start()
    await until(lambda: len(came) == 500)
    thread.join()
    assert came == list(range(500))


async def test_time_limits_hold() -> None:
    begun = time.monotonic()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await asyncio.Event().wait()
    assert time.monotonic() - begun > 0.04


# The rest needs a process of its own, because `run` makes the application.

PROGRAM = """
import asyncio, os, signal, sys, threading
from PySide6.QtCore import QTimer, qWarning
from PySide6.QtWidgets import QWidget
from traindeck.ui.qt.loop import run

told = []
sys.excepthook = lambda kind, error, trace: told.append(f"{kind.__name__}: {error}")

async def main(application, stop):
    try:
        return await body(application, stop)
    finally:
        print("finally", flush=True)
"""


def program(body: str, tmp_path: Path, **more: Any) -> subprocess.Popen[str]:
    script = tmp_path / "program.py"
    script.write_text(f"{PROGRAM}\n{body}\n\nraise SystemExit(run(main))\n", encoding="utf-8")
    return subprocess.Popen(
        [sys.executable, "-X", "dev", "-W", "error", str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env=dict(os.environ),
        **more,
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    try:
        output, trouble = process.communicate(timeout=PATIENT_S)
    finally:
        process.kill()
    assert "never awaited" not in trouble and "destroyed" not in trouble and "Error" not in trouble, trouble
    return process.returncode, output


def test_main_returns_the_status_while_the_loop_runs(tmp_path: Path) -> None:
    body = """
async def body(application, stop):
    window = QWidget()
    window.show()
    window.close()
    await asyncio.sleep(0.1)   # closing the last window ends nothing
    print(asyncio.get_running_loop().is_running())
    return 7
"""
    assert ended(program(body, tmp_path)) == (7, "True\nfinally\n")


@pytest.mark.skipif(sys.platform == "win32", reason="a process there cannot be sent these signals alone")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_an_idle_program(tmp_path: Path, number: signal.Signals) -> None:
    body = """
async def body(application, stop):
    print("idle", flush=True)
    await stop.wait()
    return 0
"""
    process = program(body, tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "idle\n"
    process.send_signal(number)
    assert process.stdout.readline() == "finally\n"
    assert ended(process)[0] == 0


def test_a_cancelled_main_runs_its_finally(tmp_path: Path) -> None:
    body = """
async def body(application, stop):
    asyncio.get_running_loop().call_later(0.05, asyncio.current_task().cancel)
    try:
        await stop.wait()
    except asyncio.CancelledError:
        print("cancelled")
        raise

import contextlib
real_run = run
def run(main):
    with contextlib.suppress(asyncio.CancelledError):
        return real_run(main)
    return 5
"""
    assert ended(program(body, tmp_path)) == (5, "cancelled\nfinally\n")


def test_what_nobody_caught_goes_to_the_hook(tmp_path: Path) -> None:
    body = """
def fail(word):
    raise LookupError(word)

async def body(application, stop):
    QTimer.singleShot(0, application, lambda: fail("slot"))
    asyncio.get_running_loop().call_soon(fail, "callback")
    thread = threading.Thread(target=fail, args=("thread",))
    thread.start()
    thread.join()
    while len(told) < 3:
        await asyncio.sleep(0.01)
    print(sorted(told))
    return 0
"""
    process = program(body, tmp_path)
    output, trouble = process.communicate(timeout=PATIENT_S)
    assert process.returncode == 0, trouble
    assert output.splitlines()[0] == "['LookupError: callback', 'LookupError: slot', 'LookupError: thread']"


def test_qt_speaks_through_the_log(tmp_path: Path) -> None:
    body = """
import logging
logging.basicConfig(stream=sys.stdout, format="%(name)s %(levelname)s %(message)s")
async def body(application, stop):
    qWarning("the plug is loose")
    return 0
"""
    assert ended(program(body, tmp_path)) == (0, "qt WARNING default: the plug is loose\nfinally\n")


def test_worker_threads_collect_nothing(tmp_path: Path) -> None:
    body = """
import gc
where = set()
gc.callbacks.append(lambda phase, info: where.add(threading.current_thread() is threading.main_thread()))

def make_rubbish():
    for _ in range(20000):
        ring = []
        ring.append(ring)

async def body(application, stop):
    where.clear()
    await asyncio.to_thread(make_rubbish)
    while not where:
        await asyncio.sleep(0.05)
    print(where)
    return 0
"""
    assert ended(program(body, tmp_path)) == (0, "{True}\nfinally\n")
