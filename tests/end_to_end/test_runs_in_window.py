"""Runs by real keys and clicks: how few they are, and where they count."""

from __future__ import annotations

from pathlib import Path

from support.sample_home import copied_sample, shorten_the_sample
from support.servers.window_process import WindowProcess


def test_few_actions_lead_to_a_run(home: Path, tmp_path: Path) -> None:
    shorten_the_sample(home, 1)
    other = copied_sample(tmp_path / "other code")
    (other / "more.py").write_text("MORE = 1\n", "utf-8")
    with WindowProcess(home, "count_what_is_done", str(other)) as window:
        first = window.told("first")
        assert first["actions"] <= 2
        assert (first["title"], first["log"], first["tabs"]) == ("Run 1 · digits", "Run 1 · digits", ["run"])
        again = window.told("again")
        assert (again["actions"], again["title"]) == (1, "Run 2 · digits") and again["parent"]
        changed = window.told("other code")
        assert changed["actions"] <= 5 and changed["folder"] == str(other)
        window.must_be_well()
    with WindowProcess(home, "come_again") as window:
        there = window.told("again there")
        assert (there["title"], there["log"], there["tabs"]) == ("Run 3 · digits", "Run 3 · digits", ["run"])
        assert there["folder"] == str(other), "the form is as it was left"
        window.must_be_well()


def test_one_value_is_changed_by_three_actions_and_a_run_stopped_by_two(home: Path) -> None:
    shorten_the_sample(home, 1)
    with WindowProcess(home, "change_one_value", "epochs", "900") as window:
        changed = window.told("changed")
        assert (changed["actions"], changed["value"]) == (3, 900)
        assert changed["strip"] == "Same as run 1 except epochs 1 → 900"
        stopped = window.told("stopped")
        assert (stopped["actions"], stopped["state"]) == (2, "Terminated")
        window.must_be_well()


def test_one_letter_starts_a_job_only_where_runs_are_and_all_is_found(home: Path) -> None:
    shorten_the_sample(home, 1)
    with WindowProcess(home, "press_r_everywhere") as window:
        assert window.told("typing")["is_still_there"], "a run that begins takes no keys from who types elsewhere"
        for where in ("file list", "buckets", "log", "text", "find"):
            pressed = window.told("pressed")
            assert (pressed["where"], pressed["runs"], pressed["busy"]) == (where, 1, 0)
        assert window.told("meant")["runs"] == 2
        found = window.told("found")
        assert {"runs", "bucket", "star", "window"} <= set(found["digits"]), "runs, buckets, favorites and open tabs"
        assert "form" in found["theme"], "settings"
        window.must_be_well()


def test_a_folder_goes_into_an_empty_bucket_by_three_acts(home: Path, tmp_path: Path) -> None:
    folder = copied_sample(tmp_path / "pictures")
    with WindowProcess(home, "fill_an_empty_bucket", str(folder)) as window:
        filled = window.told("filled")
        assert (filled["acts"] <= 3, filled["name"]) == (True, "pictures")
        window.must_be_well()
