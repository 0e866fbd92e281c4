"""Toasts, arrangements and pinned runs, by mouse and keyboard in the real window."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.sample_home import shorten_the_sample
from support.servers.window_process import WindowProcess


def test_what_was_done_is_said_with_a_way_to_it_or_back(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_bytes(b"words\n")
    with WindowProcess(home, "read_the_toasts", str(file)) as window:
        assert window.told("bucket")["selected"] == "obs://toasted/"
        window.told("done")
        offered = {told["words"]: told["offers"] for told in window.heard if told["what"] == "toast"}
        assert offered == {
            "Created the folder “closed”.": ["Show"],
            "Created the folder “open”.": ["Show"],
            "Uploaded “words.txt” to obs://toasted/.": ["Show"],
            "Copied “words.txt” to obs://toasted/open/.": ["Show"],
            "Moved “words.txt” to obs://toasted/closed/.": ["Undo", "Show"],
            "The move was undone.": ["Show"],
        }
        window.must_be_well()


def test_an_arrangement_is_chosen_by_name(home: Path) -> None:
    with WindowProcess(home, "arrange_by_name") as window:
        for name, shown, front in (
            ("Data", ["buckets", "log", "transfers", "events"], "transfers"),
            ("Watch", ["runs", "log", "transfers", "events"], "log"),
            ("Train", ["runs", "buckets", "log", "transfers", "events", "job"], "log"),
        ):
            for way in ("menu", "palette"):
                told = window.told("arranged")
                assert (told["name"], told["way"], told["shown"], told["front"]) == (name, way, shown, [front])
                assert (told["below"] > 0.5) == (name == "Watch"), "the log has most of the window"
        window.must_be_well()


@pytest.mark.long
def test_a_pinned_run_stays_while_another_is_selected(home: Path) -> None:
    shorten_the_sample(home, 1)
    with WindowProcess(home, "pin_a_run") as window:
        told = window.told("pinned")
        assert ("Run 2" in told["kept"], "Run 1" in told["follows"], told["checks"]) == (True, True, [True])
        told = window.told("unpinned")
        assert "Run 2" in told["title"] and not told["is_on"]
        window.must_be_well()


SLOW = """
[[fault]]
kind = "latency"
service = "obs"
seconds = 1.2
"""


@pytest.mark.parametrize("extent", ["short", pytest.param("whole", marks=pytest.mark.long)])
def test_what_takes_longer_than_a_second_is_told_while_it_lasts(home: Path, extent: str) -> None:
    (home / "lab").mkdir(parents=True)
    (home / "lab" / "faults.toml").write_text(SLOW, encoding="utf-8")
    with WindowProcess(home, "watch_slow_work", extent) as window:
        window.told("done")
        window.must_be_well()


def test_whatever_is_dropped_wherever_breaks_nothing(home: Path, tmp_path: Path) -> None:
    shorten_the_sample(home, 1)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "file.txt").write_bytes(b"words\n")
    with WindowProcess(home, "drop_everywhere", str(folder)) as window:
        told = window.told("dropped")
        assert (told["took"], told["crashes"]) == (["BrowserView", "dock.job"], 0)
        assert told["objects"] == ["file.txt", "folder/"]
        window.must_be_well()
