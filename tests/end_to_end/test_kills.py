"""kill -9 at the worst moment, of the window or of its Lab: one job, its whole log, and nothing that hangs."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from support.servers.held_answers import HeldAnswers
from support.servers.lab_process import LabProcess
from support.servers.window_process import STEP_S, WindowProcess, lab_facts, live_jobs
from support.waiting import until

pytestmark = pytest.mark.skipif(os.name == "nt", reason="kill -9 and what it leaves behind are POSIX")

EPOCHS = "3"


def recorded(home: Path) -> list[tuple[str, str]]:
    """State and job id of every run, as they are on the disk."""
    with closing(sqlite3.connect(home / "records.db")) as db:
        return list(db.execute("SELECT state, job_id FROM runs"))


def jobs_of_the_lab(home: Path) -> list[str]:
    return sorted(entry.name for entry in (home / "lab" / "jobs").iterdir() if entry.is_dir())


@pytest.mark.limit(600)
async def test_a_window_killed_before_the_answer_adopts_its_job(home: Path) -> None:
    with LabProcess(home / "lab") as lab:
        async with HeldAnswers(lab, home) as line:
            with WindowProcess(home, "submit_only", EPOCHS) as window:
                await asyncio.to_thread(window.until, line.is_holding)
                window.kill()
            assert recorded(home) == [("Submitting", "")], "the intent is on the disk, the answer is not"
            (job,) = jobs_of_the_lab(home)

            with WindowProcess(home, "watch_to_the_end", "Completed", "Completed") as window:
                log = await asyncio.to_thread(window.told, "log")
                (run,) = (await asyncio.to_thread(window.told, "runs"))["runs"]
                assert await asyncio.to_thread(window.ended) == 0
                window.must_be_quiet()
        assert run["job_id"] == job
        check_whole(log["words"])
        assert line.creations == 1
        assert jobs_of_the_lab(home) == [job]


@pytest.mark.long
def test_a_killed_lab_ends_the_run_and_not_the_window(home: Path) -> None:
    with WindowProcess(home, "outlive_the_lab", "40") as window:
        window.told("streams")
        lab = psutil.Process(lab_facts(home)["pid"])
        family = lab.children(recursive=True)
        assert family, "the job runs"
        lab.kill()
        over = window.told("over")
        assert over["state"] == "Abnormal"
        assert "The Lab ended unexpectedly while the job was live" in over["log"]
        assert "The Lab ended unexpectedly" in over["reason"] and "started again" in over["reason"]
        assert over["events"].count("The Lab ended unexpectedly and was started again.") == 1
        files = [path.read_text("utf-8") for path in (home / "runs").rglob("*.log")]
        assert files and not any("started again" in words for words in files), "what is only seen is not in the file"
        assert not [process for process in family if process.is_running() and process.status() != "zombie"]
        assert window.told("again")["state"] == "Running"
        window.must_be_well()


@pytest.mark.long
@pytest.mark.limit(600)
async def test_a_killed_window_loses_nothing_of_a_running_job(home: Path) -> None:
    with WindowProcess(home, "submit_and_stay", EPOCHS) as window:
        await asyncio.to_thread(window.told, "staying")
        window.kill()
    lab = psutil.Process(lab_facts(home)["pid"])
    await until(lambda: not live_jobs(home), STEP_S)
    assert lab.is_running()
    with WindowProcess(home, "watch_to_the_end", "Completed", "Completed") as window:
        log = await asyncio.to_thread(window.told, "log")
        (run,) = (await asyncio.to_thread(window.told, "runs"))["runs"]
        assert await asyncio.to_thread(window.ended) == 0
        window.must_be_quiet()
    check_whole(log["words"])
    assert jobs_of_the_lab(home) == [run["job_id"]]
    assert lab.is_running(), "it is not this window's, so it ends by itself when nobody needs it"


def check_whole(words: str) -> None:
    lines = words.splitlines()
    for epoch in range(1, int(EPOCHS) + 1):
        assert len([line for line in lines if line.startswith(f"epoch {epoch}/{EPOCHS} test_loss")]) == 1, words
    assert len([line for line in lines if line.startswith("finished: test_accuracy")]) == 1
    assert "the job ends as Completed" in lines[-1]
