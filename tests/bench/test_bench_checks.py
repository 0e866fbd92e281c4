"""The benchmark of the checks can still be run."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.bench_checks import CASES, measured


@pytest.mark.long
def test_every_job_is_measured(tmp_path: Path) -> None:
    rows = list(measured(tmp_path, 1))
    assert len(rows) == 2 * len(CASES)
    assert all(row.count("|") == 4 for row in rows)
