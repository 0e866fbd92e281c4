"""The first minute in the real window, by mouse and keyboard, without a screen and on a real X server."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from support.servers.window_process import WindowProcess
from support.servers.xvfb import Xvfb, is_installed

EPOCHS = "2"


def check_runs(runs: list[dict[str, Any]]) -> None:
    again, first = runs
    assert (again["state"], first["state"]) == ("Completed", "Completed")
    assert again["bundle"] == first["bundle"]
    assert again["parent"] == first["id"]
    assert again["name"] != first["name"]
    assert again["outputs"] != first["outputs"]
    assert again["name"] in again["outputs"][0]
    assert again["job_id"] != first["job_id"]


@pytest.mark.long  # the ordinary run has the real X server for it, and counts the actions off the screen
def test_a_newcomer_runs_the_sample_and_runs_it_again(home: Path) -> None:
    with WindowProcess(home, "sample_twice", EPOCHS, "inside") as window:
        log = window.told("log")
        assert (log["in_log"], log["in_list"]) == ("Running", "Running"), "the lines come while the job runs"
        assert f"epoch 1/{EPOCHS} step" in log["words"]
        check_runs(window.told("runs")["runs"])
        window.must_be_well()


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt" or not is_installed, reason="an X server and xdotool are Linux's")
def test_a_newcomer_at_a_real_x_server(home: Path) -> None:
    with (
        Xvfb() as screen,
        WindowProcess(home, "sample_twice", EPOCHS, "outside", environment=screen.environment) as window,
    ):
        # What a window manager does for a person.
        screen.do("windowfocus", "--sync", window.told("window")["id"])
        asked = window.told("submit wanted")
        screen.do("mousemove", asked["x"], asked["y"], "click", 1)
        assert window.told("sent")["state"]
        log = window.told("log")
        assert (log["in_log"], log["in_list"]) == ("Running", "Running")
        window.told("again wanted")
        screen.do("key", "r")
        check_runs(window.told("runs")["runs"])
        window.must_be_well()
