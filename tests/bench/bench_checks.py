"""How long all checks of a job take when every request is 100 ms away.

    PYTHONPATH=tests python -m bench.bench_checks [--rounds 3] [--write]

from the root of the project prints a table; with --write it becomes a section of tests/bench/RESULTS.md.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from bench.results import TableBench
from support.job_corpus import GOOD, JobCase, checks_of, prepare_lab
from support.servers.lab_control import Control
from support.servers.lab_process import LabProcess
from support.stores.way import Way
from support.work_bench import Bench
from traindeck.domain.accounts.profiles import LAB
from traindeck.runtime.blocking import BlockingCalls

AWAY_S = 0.1
_HEAD = "| what | time | wanted |\n|---|---|---|"
CASES = ("as it is", "two inputs and two outputs", "nine hundred files")


async def _timed(case: JobCase, way: Way, folder: Path) -> tuple[float, float]:
    """The first look, and one more after a parameter was changed."""
    code, spec = case.lay_out(folder / "code"), case.spec()
    async with Bench(folder / "home", way) as bench:
        checks = checks_of(bench)
        begin = time.perf_counter()
        report = await checks.check(spec, code, LAB)
        first = time.perf_counter() - begin
        begin = time.perf_counter()
        await checks.check(spec, code, LAB, known=report)
        return first, time.perf_counter() - begin


def measured(place: Path, rounds: int) -> Iterator[str]:
    """Rows of the table, best of the rounds."""
    prepare_lab(place / "root")
    with LabProcess(place / "root") as lab, closing(BlockingCalls(8, "service")) as calls:
        Control(lab.root).rules({"kind": "latency", "seconds": AWAY_S})
        way = Way.to(lab, calls)
        for name in CASES:
            case = next(one for one in GOOD if one.name == name)
            times = []
            for number in range(rounds):
                folder = place / f"{name} {number}"
                folder.mkdir()
                times.append(asyncio.run(_timed(case, way, folder)))
            first, again = (min(found) for found in zip(*times, strict=True))
            yield f"| a job “{name}”, all checks | {first:.2f} s | < 8 s |"
            yield f"| the same again | {again:.3f} s |  |"


BENCH = TableBench(
    "bench_checks",
    "The checks of a job",
    _HEAD,
    "rounds",
    3,
    measured,
    about=f"Every request to the Lab is answered {AWAY_S * 1000:.0f} ms later.",
)


if __name__ == "__main__":
    BENCH.main(__doc__)
