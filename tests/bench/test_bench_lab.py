"""The bench measures what it says, at a size that takes a moment."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from bench.bench_lab import Sizes, measured, table

TINY = Sizes(small_count=200, small_bytes=1000, large_bytes=9_000_001, listed=3000)


@pytest.mark.long
def test_the_bench_runs_against_both_servers(tmp_path: Path) -> None:
    if importlib.util.find_spec("moto") is None:
        pytest.skip("moto is not installed")
    seen = measured(tmp_path, 1, TINY, with_moto=True, patience_s=0)
    assert list(seen) == ["the Lab", "moto server"]
    for (figures,) in seen.values():
        assert all(value > 0 for value in figures.values()), figures
    shown = table(seen, TINY).splitlines()
    assert len(shown) == 2 + len(seen["the Lab"][0])
    assert {line.count("|") for line in shown} == {7}
