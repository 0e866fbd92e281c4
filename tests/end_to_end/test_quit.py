"""Leaving while a job streams: quick, quiet, and nothing is left that was not meant to stay."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import psutil
import pytest

from support.servers.window_process import STEP_S, WindowProcess, all_of, lab_facts, live_jobs
from support.waiting import until

MANY = "2000"  # a job of minutes on any machine


def has_ended(home: Path) -> bool:
    """Whether the job came to its last epoch, by the log that was fetched of it."""
    logs = [log.read_text("utf-8") for log in home.rglob("worker-0.log")]
    return any(f"epoch {MANY}/{MANY} test_loss" in words for words in logs)


def stopped(home: Path) -> None:
    with WindowProcess(home, "quit_by_question", MANY, "Stop them and quit") as window:
        assert "Stop it and its runs, or let the runs finish in the background?" in window.told("asked")["words"]
        window.told("leaving")
        window.must_be_well()


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


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="SIGTERM is POSIX")
def test_a_signal_ends_window_lab_and_job(home: Path) -> None:
    with WindowProcess(home, "submit_and_stay", MANY) as window:
        window.told("staying")
        assert live_jobs(home) == 1
        window.terminate()
        window.must_be_well()
    assert not has_ended(home), "nobody has waited for the end of the job"


def test_the_close_button_asks_and_stops_the_job(home: Path) -> None:
    stopped(home)
    assert not has_ended(home), "nobody has waited for the end of the job"


def test_a_job_that_was_stopped_by_leaving_says_so_at_the_next_start(home: Path) -> None:
    stopped(home)
    with WindowProcess(home, "watch_to_the_end", "Stopped", "Terminated") as window:
        assert "epoch 1/" in window.told("log")["words"]
        window.must_be_well()


@pytest.mark.parametrize("epochs, live", [(MANY, "live"), ("1", "")])
def test_who_quits_while_a_charged_job_is_counted_down_is_asked_and_submits_nothing(
    home: Path, epochs: str, live: str
) -> None:
    with WindowProcess(home, "quit_while_counting", epochs, live) as window:
        asked = window.told("asked")
        assert "is not submitted again if you quit now" in asked["words"] and asked["held"]
        stays = window.told("stays")["strip"]
        assert "was not submitted to campus: the countdown was stopped." in stays and "Run again" in stays
        window.must_be_well()
    assert "campus" not in window.error_text, "the account does not exist: submitting to it would have failed"


@pytest.mark.long
@pytest.mark.limit(600)
async def test_the_lab_may_finish_what_was_begun(home: Path) -> None:
    with WindowProcess(home, "quit_by_question", "4", "Let them finish") as window:
        await asyncio.to_thread(window.told, "leaving")
        assert await asyncio.to_thread(window.ended) == 0
        window.must_be_quiet()
    lab = psutil.Process(lab_facts(home)["pid"])
    assert lab in all_of(home)
    await until(lambda: not live_jobs(home), STEP_S)
    assert all_of(home) == [lab], "nothing of the job is left"

    with WindowProcess(home, "watch_to_the_end", "Completed", "Completed") as window:
        assert "epoch 4/4 test_loss" in (await asyncio.to_thread(window.told, "log"))["words"]
        assert await asyncio.to_thread(window.ended) == 0
        window.must_be_quiet()
