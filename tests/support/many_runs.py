"""Thousands of runs in the records at once: one transaction, where each by itself would take its own."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.jobs.job_spec import JobSpec
from traindeck.store.run_rows import row_of
from traindeck.store.runs import RunStore

FIRST = datetime(2026, 1, 1, tzinfo=UTC)


def over(count: int) -> Iterable[Run]:
    """Runs of the first months of a year, each of a minute."""
    for number in range(1, count + 1):
        began = FIRST + timedelta(minutes=number)
        yield Run(
            f"run{number:05}", number, f"digits-{number}", "lab", JobSpec(name="digits"), RunState.COMPLETED, began,
            started=began, ended=began + timedelta(minutes=1), job_id=f"job{number}", bundle="b",
        )  # fmt: skip


async def add_many(records: RunStore, runs: Iterable[Run]) -> None:
    """`runs` are made on the thread of the records: a loop that is watched goes on."""

    def work(db: sqlite3.Connection) -> None:
        rows = [row_of(run) for run in runs]
        names, marks = ", ".join(rows[0]), ", ".join(f":{name}" for name in rows[0])
        db.executemany(f"INSERT INTO runs ({names}) VALUES ({marks})", rows)

    await records._write("", work)
