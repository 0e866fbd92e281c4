"""The benchmark of the datasets can still be run."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.bench_datasets import measured


@pytest.mark.long
def test_every_command_is_measured(tmp_path: Path) -> None:
    rows = list(measured(tmp_path, 2000))
    assert len(rows) == 3
    assert all(row.count("|") == 7 for row in rows)
