"""The benchmark of the start can still be run."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.bench_start import LINES, measured


@pytest.mark.long
def test_every_command_is_measured(tmp_path: Path) -> None:
    rows = list(measured(tmp_path, 0))
    assert len(rows) == len(LINES) + 3
    assert all(row.count("|") == 6 for row in rows)
