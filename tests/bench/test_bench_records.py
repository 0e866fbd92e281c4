"""The benchmark of the records can still be run."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.bench_records import measured, section, table


@pytest.mark.long
def test_every_question_is_measured(tmp_path: Path) -> None:
    shown = table(measured(tmp_path, 30))
    assert (shown.count("< 200 ms"), shown.count("< 500 ms")) == (3, 3)
    assert {line.count("|") for line in shown.splitlines()} == {4}
    assert section(shown, 30, 0.0).startswith("## Runs on record\n")
