"""200,000 objects and 1,000 runs in the real window: everything answers at once, however much is listed behind it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.bench_window import fill as fill_runs
from support.filled_lab import fill, listed_keys
from support.servers.lab_control import Control
from support.servers.window_process import WindowProcess
from support.waiting import IS_ALONE

COUNT = 200_000
LONGEST_MS = 50
SLOW_PAGES = """
[[fault]]
kind = "latency"
operation = "ListObjects*"
skip = 6
seconds = 5
"""


_PANELS = {
    "objects", "search", "runs", "buckets", "transfers", "events", "log", "form", "palette", "settings",
}  # fmt: skip


@pytest.mark.parametrize(("count", "runs"), [(8_000, 100), pytest.param(COUNT, 1000, marks=pytest.mark.long)])
def test_a_bucket_of_many_objects_is_looked_through(home: Path, count: int, runs: int) -> None:
    fill(home / "lab", "many", listed_keys(count))
    fill_runs(home, runs)
    # The pages after the first few come late, so that the listing cannot be over before anybody has looked.
    (home / "lab" / "faults.toml").write_text(SLOW_PAGES, encoding="utf-8")
    with WindowProcess(home, "browse", "many", str(count)) as window:
        first = window.told("first rows")
        assert first["rows"] < count, "the first page is shown before the others are there"
        Control(home / "lab").call("DELETE")
        words = window.told("listed")["words"]
        assert f"{count:,} objects" in words
        chosen = window.told("chosen")
        assert chosen["rows"] == count
        assert chosen["largest"] == "16.8 MB"
        assert not chosen["smallest"].endswith("MB")
        found = window.told("found")
        assert found["rows"] == sum("0199" in f"{number:07}" for number in range(count))
        assert "0199" in found["name"]
        answered = window.told("answered")["ms"]
        assert set(answered) == _PANELS
        assert {panel: took for panel, took in answered.items() if IS_ALONE and took[0] > LONGEST_MS} == {}
        window.must_be_well()
