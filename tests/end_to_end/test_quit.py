"""Leaving while a job streams: quick, quiet, and nothing is left that was not meant to stay."""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from support.servers.window_process import STEP_S, WindowProcess, all_of, lab_facts, live_jobs
from support.waiting import until

MANY = "200"  # more than any test waits for
LIMIT_S = 2.0
TIMES = 3


def median_of_leaving(home: Path, leave: Callable[[Path], float]) -> float:
    return statistics.median(leave(home / str(number)) for number in range(TIMES))


def terminated(home: Path) -> float:
    with WindowProcess(home, "submit_and_stay", MANY) as window:
        window.told("staying")
        assert live_jobs(home) == 1
        begun = time.monotonic()
        window.terminate()
        assert window.ended() == 0
        seconds = time.monotonic() - begun
        window.must_be_well()
    return seconds


def stopped(home: Path) -> float:
    with WindowProcess(home, "quit_by_question", MANY, "Stop them and quit") as window:
        assert "Stop them with it, or let it finish them on its own?" in window.told("asked")["words"]
        begun = window.told("leaving")["at"]
        assert window.ended() == 0
        seconds = time.monotonic() - begun
        window.must_be_well()
    return seconds


def test_who_leaves_at_once_leaves_no_lab(home: Path) -> None:
    with WindowProcess(home, "glance") as window:
        assert window.told("seen")["visible"]
        window.must_be_well()


@pytest.mark.skipif(os.name == "nt", reason="SIGTERM is POSIX")
def test_an_open_dialog_is_no_obstacle(home: Path) -> None:
    with WindowProcess(home, "open_dialog_and_stay") as window:
        window.told("staying")
        window.terminate()
        window.must_be_well()


@pytest.mark.skipif(os.name == "nt", reason="SIGTERM is POSIX")
def test_a_signal_ends_window_lab_and_job(home: Path) -> None:
    assert median_of_leaving(home, terminated) < LIMIT_S


def test_the_close_button_asks_and_stops_the_job(home: Path) -> None:
    assert median_of_leaving(home, stopped) < LIMIT_S


def test_a_job_that_was_stopped_by_leaving_says_so_at_the_next_start(home: Path) -> None:
    stopped(home)
    with WindowProcess(home, "watch_to_the_end", "Stopped", "Terminated") as window:
        assert "epoch 1/" in window.told("log")["words"]
        window.must_be_well()


@pytest.mark.limit(600)
async def test_the_lab_may_finish_what_was_begun(home: Path) -> None:
    with WindowProcess(home, "quit_by_question", "4", "Let them finish") as window:
        begun = (await asyncio.to_thread(window.told, "leaving"))["at"]
        assert await asyncio.to_thread(window.ended) == 0
        assert time.monotonic() - begun < LIMIT_S
        window.must_be_quiet()
    lab = psutil.Process(lab_facts(home)["pid"])
    assert lab in all_of(home)
    await until(lambda: not live_jobs(home), STEP_S)
    assert all_of(home) == [lab], "nothing of the job is left"

    with WindowProcess(home, "watch_to_the_end", "Completed", "Completed") as window:
        assert "epoch 4/4 test_loss" in (await asyncio.to_thread(window.told, "log"))["words"]
        assert await asyncio.to_thread(window.ended) == 0
        window.must_be_quiet()
