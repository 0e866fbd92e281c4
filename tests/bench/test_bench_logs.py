"""The benchmark of logs can still be run."""

from __future__ import annotations

from pathlib import Path

from bench.bench_logs import ours, table, write_log


async def test_every_figure_is_taken(tmp_path: Path, qapp: object) -> None:
    log = tmp_path / "log"
    write_log(log, 30_000)
    found = await ours(log, 30_000, 20_000)
    assert table(found, {}).count(" – |") == 3 * 13, "only others are missing"
