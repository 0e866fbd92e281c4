"""Training jobs on disk: what was asked for, what became of it, and which processes belong to it."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from traindeck.lab.training.running.process_tree import ProcessId


class TrainingDatabase:
    """May be used from any thread; every change is on disk when its transaction ends."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._connection.row_factory = sqlite3.Row
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=FULL")
        self._connection.execute("PRAGMA foreign_keys=ON")

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def add_tables(self, schema: str) -> None:
        with self._lock:
            self._connection.executescript(schema)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def write(self, statement: str, values: Sequence[Any] = ()) -> None:
        """One statement as a transaction of its own."""
        with self.writing() as connection:
            connection.execute(statement, values)

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[sqlite3.Row]:
        with self._lock:
            return self._connection.execute(statement, values).fetchall()

    def number(self, statement: str, values: Sequence[Any] = ()) -> int:
        return int(self.rows(statement, values)[0][0])

    def page(
        self, source: str, values: Sequence[Any], order: str, limit: int, skip: int
    ) -> tuple[int, list[sqlite3.Row]]:
        """How many rows `source` (FROM … WHERE …) has, and some of them in this order, from one state."""
        with self._lock:
            total = self.number(f"SELECT count(*) {source}", values)
            return total, self.rows(f"SELECT * {source} ORDER BY {order} LIMIT ? OFFSET ?", (*values, limit, skip))


LIVE_PHASES = ("Creating", "Pending", "Running", "Terminating")
STOPPABLE_PHASES = ("Creating", "Pending", "Running")

_SCHEMA = """
CREATE TABLE IF NOT EXISTS jobs (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL,
    user_id TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    name TEXT NOT NULL,
    create_time INTEGER NOT NULL,
    start_time INTEGER NOT NULL DEFAULT 0,
    end_time INTEGER NOT NULL DEFAULT 0,
    phase TEXT NOT NULL,
    secondary_phase TEXT NOT NULL,
    tasks TEXT NOT NULL,
    task_statuses TEXT NOT NULL DEFAULT '[]',
    document TEXT NOT NULL,
    UNIQUE (project_id, workspace_id, name)
);
CREATE INDEX IF NOT EXISTS jobs_by_time ON jobs (project_id, workspace_id, create_time, id);
CREATE INDEX IF NOT EXISTS jobs_by_phase ON jobs (phase);
CREATE TABLE IF NOT EXISTS events (
    job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    time INTEGER NOT NULL,
    level TEXT NOT NULL,
    source TEXT NOT NULL,
    english TEXT NOT NULL,
    chinese TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS events_by_job ON events (job_id, time);
CREATE TABLE IF NOT EXISTS stages (
    job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    start_time INTEGER NOT NULL,
    end_time INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (job_id, name)
);
CREATE TABLE IF NOT EXISTS processes (
    job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    pid INTEGER NOT NULL,
    created REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS metrics (
    job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    task TEXT NOT NULL,
    cpu_percent REAL NOT NULL,
    memory_percent REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS metrics_by_job ON metrics (job_id, task);
CREATE TABLE IF NOT EXISTS quotas (
    project_id TEXT PRIMARY KEY,
    jobs INTEGER NOT NULL
);
"""


class NameTakenError(Exception):
    """Another job of the workspace has this name."""


@dataclass(frozen=True)
class JobRecord:
    """One job as stored; times are milliseconds, 0 while unknown."""

    id: str
    project_id: str
    user_id: str
    workspace_id: str
    name: str
    create_time: int
    start_time: int
    end_time: int
    phase: str
    secondary_phase: str
    tasks: tuple[str, ...]
    task_statuses: tuple[dict[str, Any], ...]
    document: dict[str, Any]

    @property
    def is_live(self) -> bool:
        return self.phase in LIVE_PHASES


@dataclass(frozen=True)
class EventText:
    """What an event says, in both languages."""

    english: str
    chinese: str


@dataclass(frozen=True)
class EventRecord:
    """Something that happened to a job."""

    time: int
    level: str
    source: str
    text: EventText


@dataclass(frozen=True)
class StageRecord:
    """One leg of a job's way; `end_time` is 0 while it lasts."""

    name: str
    start_time: int
    end_time: int


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class JobRecords:
    """The jobs in the database; may be used from any thread, and every change is on disk when a call returns."""

    def __init__(self, database: TrainingDatabase) -> None:
        self._database = database
        database.add_tables(_SCHEMA)

    def add(self, job: JobRecord) -> None:
        """What a job is when it begins; all else has its default."""
        said = ("id", "project_id", "user_id", "workspace_id", "name", "create_time", "phase", "secondary_phase")
        values = [*(getattr(job, name) for name in said), json.dumps(job.tasks), json.dumps(job.document)]
        columns = ", ".join((*said, "tasks", "document"))
        try:
            self._database.write(f"INSERT INTO jobs ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
        except sqlite3.IntegrityError as error:
            raise NameTakenError(job.name) from error

    def job(self, job_id: str) -> JobRecord | None:
        rows = self._database.rows("SELECT * FROM jobs WHERE id = ?", (job_id,))
        return _job(rows[0]) if rows else None

    def live(self) -> list[JobRecord]:
        return [_job(row) for row in self._database.rows(f"SELECT * FROM jobs WHERE phase IN {LIVE_PHASES}")]

    def count(self, project_id: str) -> int:
        return self._database.number("SELECT count(*) FROM jobs WHERE project_id = ?", (project_id,))

    def is_taken(self, project_id: str, workspace_id: str, name: str) -> bool:
        wanted = (project_id, workspace_id, name)
        where = "project_id = ? AND workspace_id = ? AND name = ?"
        return self._database.number(f"SELECT count(*) FROM jobs WHERE {where}", wanted) > 0

    def quota(self, project_id: str) -> int | None:
        """How many jobs the project may have, where that was changed."""
        rows = self._database.rows("SELECT jobs FROM quotas WHERE project_id = ?", (project_id,))
        return int(rows[0]["jobs"]) if rows else None

    def set_quota(self, project_id: str, jobs: int) -> None:
        self._database.write("INSERT OR REPLACE INTO quotas VALUES (?, ?)", (project_id, jobs))

    def tags(self, conditions: Sequence[str], values: Sequence[Any]) -> list[dict[str, str]]:
        """All tags of the jobs that meet the SQL conditions."""
        rows = self._database.rows(
            "SELECT json_extract(document, '$.metadata.tags') AS tags FROM jobs WHERE "
            + " AND ".join([*conditions, "json_array_length(document, '$.metadata.tags') > 0"]),
            values,
        )
        return [tag for row in rows for tag in json.loads(row["tags"])]

    def search(
        self, conditions: Sequence[str], values: Sequence[Any], *, newest_first: bool, skip: int, limit: int
    ) -> tuple[int, list[JobRecord]]:
        """How many jobs meet all the SQL conditions, and one page of them."""
        source = f"FROM jobs WHERE {' AND '.join(conditions)}"
        order = f"create_time {'DESC' if newest_first else 'ASC'}, id"
        total, rows = self._database.page(source, values, order, limit, skip)
        return total, [_job(row) for row in rows]

    def move(
        self,
        job_id: str,
        phase: str,
        secondary_phase: str = "",
        *,
        only_from: Iterable[str] = LIVE_PHASES,
        task_statuses: Sequence[dict[str, Any]] | None = None,
        event: EventText | None = None,
        level: str = "Info",
    ) -> bool:
        """Put the job into `phase`, and tell so, if it is in one of `only_from`; says whether it was."""
        allowed = tuple(only_from)
        now = now_ms()
        marks = ", ".join("?" * len(allowed))
        with self._database.writing() as database:
            moved = database.execute(
                "UPDATE jobs SET phase = ?, secondary_phase = ?,"
                " start_time = CASE WHEN ? = 'Running' AND start_time = 0 THEN ? ELSE start_time END,"
                " end_time = CASE WHEN ? THEN end_time ELSE ? END,"
                " task_statuses = coalesce(?, task_statuses)"
                f" WHERE id = ? AND phase IN ({marks})",
                (
                    phase,
                    secondary_phase or phase,
                    phase,
                    now,
                    phase in LIVE_PHASES,
                    now,
                    None if task_statuses is None else json.dumps(task_statuses),
                    job_id,
                    *allowed,
                ),
            )
            if moved.rowcount and event is not None:
                _insert_event(database, job_id, event, level, "Job")
            if moved.rowcount and phase not in LIVE_PHASES:
                database.execute("UPDATE stages SET end_time = ? WHERE job_id = ? AND end_time = 0", (now, job_id))
                database.execute("DELETE FROM processes WHERE job_id = ?", (job_id,))
        return moved.rowcount > 0

    def replace_document(self, job_id: str, document: dict[str, Any]) -> None:
        self._database.write("UPDATE jobs SET document = ? WHERE id = ?", (json.dumps(document), job_id))

    def remove(self, job_id: str) -> None:
        self._database.write("DELETE FROM jobs WHERE id = ?", (job_id,))

    def add_event(self, job_id: str, text: EventText, *, level: str = "Info", source: str = "Job") -> None:
        with self._database.writing() as database:
            _insert_event(database, job_id, text, level, source)

    def events(self, job_id: str) -> list[EventRecord]:
        """All events of a job, oldest first."""
        rows = self._database.rows("SELECT * FROM events WHERE job_id = ? ORDER BY time, rowid", (job_id,))
        return [
            EventRecord(row["time"], row["level"], row["source"], EventText(row["english"], row["chinese"]))
            for row in rows
        ]

    def begin_stage(self, job_id: str, name: str) -> None:
        now = now_ms()
        with self._database.writing() as database:
            database.execute("UPDATE stages SET end_time = ? WHERE job_id = ? AND end_time = 0", (now, job_id))
            database.execute(
                "INSERT OR IGNORE INTO stages SELECT id, ?, ?, 0 FROM jobs WHERE id = ?", (name, now, job_id)
            )

    def stages(self, job_id: str) -> list[StageRecord]:
        rows = self._database.rows("SELECT * FROM stages WHERE job_id = ? ORDER BY rowid", (job_id,))
        return [StageRecord(row["name"], row["start_time"], row["end_time"]) for row in rows]

    def add_process(self, job_id: str, process: ProcessId) -> None:
        self._database.write("INSERT INTO processes VALUES (?, ?, ?)", (job_id, process.pid, process.created))

    def processes(self, job_id: str) -> list[ProcessId]:
        rows = self._database.rows("SELECT pid, created FROM processes WHERE job_id = ?", (job_id,))
        return [ProcessId(row["pid"], row["created"]) for row in rows]

    def add_metrics(self, job_id: str, task: str, cpu_percent: float, memory_percent: float) -> None:
        self._database.write(
            "INSERT INTO metrics SELECT id, ?, ?, ? FROM jobs WHERE id = ?",
            (task, cpu_percent, memory_percent, job_id),
        )

    def metrics(self, job_id: str, task: str) -> list[tuple[float, float]]:
        rows = self._database.rows("SELECT * FROM metrics WHERE job_id = ? AND task = ? ORDER BY rowid", (job_id, task))
        return [(row["cpu_percent"], row["memory_percent"]) for row in rows]


def _insert_event(database: sqlite3.Connection, job_id: str, text: EventText, level: str, source: str) -> None:
    database.execute(
        "INSERT INTO events SELECT id, ?, ?, ?, ?, ? FROM jobs WHERE id = ?",
        (now_ms(), level, source, text.english, text.chinese, job_id),
    )


def _job(row: sqlite3.Row) -> JobRecord:
    stored = dict(row)
    for name in ("tasks", "task_statuses"):
        stored[name] = tuple(json.loads(stored[name]))
    return JobRecord(**{**stored, "document": json.loads(stored["document"])})
