"""The benchmark of reading scripts can still be run."""

from __future__ import annotations

from pathlib import Path

from bench.bench_scripts import measured


def test_a_folder_is_read(tmp_path: Path) -> None:
    rows = list(measured(tmp_path, 1, 12))
    assert len(rows) == 4
    assert all(row.count("|") == 4 for row in rows)
    assert "12 files" in rows[0]
