"""The benchmark of the transfers can still be run."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.bench_transfers import lines, measured, row


@pytest.mark.long
def test_every_program_moves_what_it_is_given(tmp_path: Path) -> None:
    rows = [
        row(line, figures)
        for line, figures in measured(tmp_path, lines(20, 65, 2500), 1, small=20, large_mib=65, listed=2500)
    ]
    assert len(rows) == 13
    assert all(one.count("|") == 10 for one in rows)
