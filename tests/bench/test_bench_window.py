"""The bench measures what it says, at a size that takes a moment."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.bench_window import Sizes, measured, section, table
from bench.measured_window import BARE, OURS


@pytest.mark.long
def test_the_bench_runs_beside_a_bare_window(tmp_path: Path) -> None:
    sizes = Sizes(runs=20, settle_s=0.1, rest_s=0.1)
    seen = measured(tmp_path, 1, sizes)
    [bare], [ours] = seen[BARE], seen[OURS]
    assert {"frame", "frame cpu", "rss", "idle"} <= bare.keys() & ours.keys()
    assert ours["frame"] <= ours["runs"] and ours["frame"] <= ours["rooms"] <= ours["rest"]
    assert {line.count("|") for line in table(seen, sizes).splitlines()} == {5}


def test_few_runs_and_many_stand_beside_each_other() -> None:
    headings = [section("", 1, runs, 0.0).partition("\n")[0] for runs in (Sizes().runs, 10_000)]
    assert headings == ["## The window", "## The window with 10,000 runs"]
