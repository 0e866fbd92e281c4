"""The benchmark of the records can still be run."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.bench_records import measured


@pytest.mark.long
def test_every_question_is_measured(tmp_path: Path) -> None:
    rows = list(measured(tmp_path, 30))
    shown = "\n".join(rows)
    assert (shown.count("< 200 ms"), shown.count("< 500 ms")) == (3, 3)
    assert {row.count("|") for row in rows} == {4}
