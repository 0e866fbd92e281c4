"""How long a small dataset takes within the service, and a look at a large one, with 20 ms for every request.

    PYTHONPATH=tests python -m bench.bench_datasets [--objects 100000] [--write]

from the root of the project prints a table; with --write it becomes a section of tests/bench/RESULTS.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bench.bench_transfers import DELAY_MS, Figure, asked, ours, server
from bench.results import TableBench

_HEAD = "| what | time | objects/s | CPU | memory | wanted |\n|---|---|---|---|---|---|"


def _row(what: str, found: Figure, objects: int, wanted: str) -> str:
    rate = f"{objects / found.seconds:,.0f}"
    return f"| {what} | {found.seconds:.1f} s | {rate} | {found.cpu_s:.1f} s | {found.memory_mb:.0f} MB | {wanted} |"


def measured(folder: Path, objects: int) -> Iterator[str]:
    """Rows of the table."""
    with server(folder, DELAY_MS) as place:
        asked(place, "POST", f"data/?fill={2 * objects}")
        half = ours("obs", "mini", "obs://bench/data/", "obs://bench/mini/", "--share", "50%", "--json")(place, "mini")
        yield _row(f"mini: {objects:,} of {2 * objects:,} objects, copied by the service", half, objects, "≥ 1,000/s")
        again = ours("obs", "mini", "obs://bench/data/", "obs://bench/mini/", "--share", "50%", "--json")(
            place, "again"
        )
        yield _row("the same again, all of it there", again, objects, "")
        look = ours("obs", "find", "obs://bench/data/", "--report", "--json")(place, "look")
        yield _row(f"report on {2 * objects:,} objects, by their names", look, 2 * objects, "")


BENCH = TableBench(
    "bench_datasets",
    "Small datasets",
    _HEAD,
    "objects",
    100_000,
    measured,
    times="once",
    about=f"A server on the same machine answers every request {DELAY_MS} ms later.",
)


if __name__ == "__main__":
    BENCH.main(__doc__)
