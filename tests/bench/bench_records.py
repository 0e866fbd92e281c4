"""Ten thousand runs in the records: the list, the search, the command, and the copy of the day.

    PYTHONPATH=tests python -m bench.bench_records [--runs 10000] [--write]

from the root of the project prints a table; with --write it becomes a section of tests/bench/RESULTS.md.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from bench.results import TableBench
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.jobs.job_spec import Channel, JobSpec
from traindeck.domain.jobs.run_query import RunQuery, RunSort, metric_best
from traindeck.runtime.blocking import BlockingCalls
from traindeck.store.paths import Paths
from traindeck.store.records import RecordsFile
from traindeck.store.run_rows import row_of
from traindeck.store.runs import RunStore

_FIRST = datetime(2024, 1, 1, tzinfo=UTC)
_TIMES = 5
_HEAD = "| what | time | wanted |\n|---|---|---|"
_WANTED = {"list": "< 200 ms", "search": "< 500 ms"}


def a_run(number: int) -> Run:
    """No two have the same form."""
    spec = JobSpec(
        name=f"digits-{number % 50}",
        engine="PyTorch",
        engine_version="pytorch_2.1.0-cuda_12.1-py_3.10.6-ubuntu_22.04-x86_64",
        flavor="modelarts.vm.cpu.2u",
        stop_after="4h",
        inputs=(Channel("data_url", "obs://data/cifar-10/"),),
        outputs=(Channel("train_url", "obs://results/out/{run}/"),),
        log_to="obs://results/log/{run}/",
        parameters=(("lr", number / 1000), ("batch_size", 32), ("seed", number)),
    )
    at = _FIRST + timedelta(minutes=number)
    return Run(
        f"run{number:05}", number, f"digits-{number % 50}-{number:05}", "lab", spec, RunState.COMPLETED, at,
        job_id=f"job-{number}", submitted=at, started=at, ended=at + timedelta(minutes=5), duration_ms=300_000,
        note="the good one" if number % 1000 == 7 else "",
    )  # fmt: skip


def fill(paths: Paths, count: int) -> None:
    """As they would be after years; written at once, which no program does."""
    paths.make()
    file = RecordsFile(paths.database, paths.runs)
    file.open()
    file.close()
    with closing(sqlite3.connect(paths.database)) as db:
        for number in range(1, count + 1):
            row = row_of(a_run(number))
            marks = ", ".join(f":{name}" for name in row)
            db.execute(f"INSERT INTO runs ({', '.join(row)}) VALUES ({marks})", row)
            db.execute("INSERT INTO metrics VALUES (?, 'loss', ?, ?, ?)", (row["id"], *(number % 97 / 97,) * 3))
        db.commit()


@contextmanager
def store_of(paths: Paths) -> Iterator[RunStore]:
    with (
        closing(BlockingCalls(1, "records")) as writer,
        closing(RunStore(RecordsFile(paths.database, paths.runs), writer)) as store,
    ):
        yield store


async def best_of(work: Callable[[], Awaitable[object]]) -> float:
    found = []
    for _ in range(_TIMES):
        began = time.perf_counter()
        await work()
        found.append(time.perf_counter() - began)
    return min(found) * 1000


async def measure(paths: Paths) -> dict[str, float]:
    with store_of(paths) as store:
        began = time.perf_counter()
        await store.open()
        figures = {"open": (time.perf_counter() - began) * 1000}
        queries = {
            "list: newest 50": RunQuery(limit=50),
            "list: newest 300": RunQuery(limit=300),
            "list: 50 by duration": RunQuery(limit=50, sort=RunSort("duration")),
            "search: a parameter": RunQuery(words=("seed = 4711",)),
            "search: a note, two words": RunQuery(words=("good", "digits-7")),
            "search: nothing": RunQuery(words=("nobody wrote this",)),
            "best 50 by a metric": RunQuery(best=metric_best("loss"), limit=50),
        }
        for name, query in queries.items():
            figures[name] = await best_of(lambda query=query: store.found(query))  # type: ignore[misc]
        figures["live ones"] = await best_of(store.live)
        began = time.perf_counter()
        await store.make_copy(date(2026, 11, 19))
        figures["copy of the day, verified"] = (time.perf_counter() - began) * 1000
    return figures


def command(paths: Paths, *words: str) -> float:
    found = []
    for _ in range(_TIMES):
        began = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "traindeck", "job", "ls", *words],
            env={**os.environ, "TRAINDECK_HOME": str(paths.home)},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        found.append(time.perf_counter() - began)
    return min(found) * 1000


def measured(folder: Path, runs: int) -> Iterator[str]:
    few, many = Paths(folder / "few"), Paths(folder / "many")
    fill(few, 10)
    fill(many, runs)
    figures = asyncio.run(measure(many))
    figures["`job ls`, 10 runs on record"] = command(few)
    figures[f"`job ls`, {runs:,} on record"] = command(many)
    figures[f"`job ls` with a search, {runs:,}"] = command(many, "seed = 4711")
    for name, milliseconds in figures.items():
        wanted = next((words for what, words in _WANTED.items() if name.startswith(what)), "")
        yield f"| {name} | {milliseconds:.1f} ms | {wanted} |"


BENCH = TableBench(
    "bench_records",
    "Runs on record",
    _HEAD,
    "runs",
    10_000,
    measured,
    times=f"best of {_TIMES}, opening and the copy of the day once,",
    about="Runs that are over, no two with the same form. A command is a process of its own, from start to end.",
)


if __name__ == "__main__":
    BENCH.main(__doc__)
