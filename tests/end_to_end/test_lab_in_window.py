"""The Lab on its page, by mouse and keyboard: seen, emptied, stopped, started, and used again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.servers.lab_process import LabProcess
from support.servers.window_process import WindowProcess


@pytest.mark.long
def test_the_lab_is_emptied_and_goes_on(home: Path) -> None:
    with WindowProcess(home, "empty_the_lab") as window:
        seen = window.told("seen")
        assert (seen["chip"], seen["copied"]) == ("Running", str(home / "lab"))
        assert seen["facts"]["Managed by"] == "this window"
        assert seen["obs"].startswith("http://127.0.0.1:")
        asked = window.told("asked")["words"]
        assert "Buckets: 1." in asked and "Jobs: 1." in asked
        assert "Active jobs that stop with it: 1 (digits-" in asked
        emptied = window.told("emptied")
        assert (emptied["facts"]["Objects"], emptied["facts"]["Jobs"], emptied["bar"]) == ("0", "0", "")
        assert "epoch 1/29" in emptied["log"] and "the job ends as Terminated" in emptied["log"]
        window.told("again")
        window.must_be_well()
    logs = [path.read_bytes() for path in (home / "runs").rglob("*") if path.is_file()]
    assert any(b"epoch 1/29" in log for log in logs), "what a run left on this computer stays"


def test_the_lab_of_somebody_else_is_named_and_left_alone(home: Path) -> None:
    with LabProcess(home / "lab") as lab:
        with WindowProcess(home, "look_at_the_lab") as window:
            told = window.told("seen")
            assert f"by hand, in a terminal or by a script (process {lab.pid})" in told["words"]
            assert told["open"] == []
            assert window.ended() == 0
            window.must_be_quiet()
        assert lab.exit_code(0) is None
        assert json.loads((home / "lab" / "running.json").read_text("utf-8"))["pid"] == lab.pid
