"""The benchmark of submitting again can still be run."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.bench_resubmit import measured, section


@pytest.mark.long
@pytest.mark.limit(60)
async def test_every_way_brings_the_code_there(tmp_path: Path) -> None:
    figures = await measured(tmp_path, 1, 30, delay_ms=1, rest_s=0.2)
    written = section(figures, 1, 30, (0.0, 0.0))
    assert written.count("\n| ") == 6 and len(figures.seconds) == 5
