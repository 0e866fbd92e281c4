"""Training jobs on disk: what was asked for, what became of it, and which processes belong to it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from traindeck.lab.training.database import Shelf, now_ms
from traindeck.lab.training.running.process_tree import LIVE_PHASES, ProcessId

STOPPABLE_PHASES = ("Creating", "Pending", "Running")
_JOB_QUOTA = 10_000


@dataclass(frozen=True)
class JobRecord:
    """One job as stored; times are milliseconds, 0 while unknown."""

    id: str
    project_id: str
    user_id: str
    workspace_id: str
    name: str
    create_time: int
    tasks: tuple[str, ...]
    document: dict[str, Any]
    start_time: int = 0
    end_time: int = 0
    phase: str = "Creating"
    secondary_phase: str = "Creating"
    task_statuses: tuple[dict[str, Any], ...] = ()

    @property
    def is_live(self) -> bool:
        return self.phase in LIVE_PHASES


@dataclass(frozen=True)
class EventText:
    """What an event says, in both languages."""

    english: str
    chinese: str

    def of(self, **fields: object) -> EventText:
        """With its fields filled in; a text among them speaks both languages, too."""
        english = {name: value.english if isinstance(value, EventText) else value for name, value in fields.items()}
        chinese = {name: value.chinese if isinstance(value, EventText) else value for name, value in fields.items()}
        return EventText(self.english.format(**english), self.chinese.format(**chinese))


class JobRecords(Shelf[JobRecord]):
    """The jobs in the database, with what happened to them; may be used from any thread."""

    SCHEMA = """
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
    TABLE = "jobs"
    TITLE = "training job"
    MISSING_CODE = "2775"
    TAKEN_CODE = "2751"

    def add(self, job: JobRecord) -> None:
        texts = {name: json.dumps(getattr(job, name)) for name in ("tasks", "task_statuses", "document")}
        self._add(**{**vars(job), **texts})

    def job(self, job_id: str) -> JobRecord | None:
        return self._found("id = ?", job_id)

    def live(self) -> list[JobRecord]:
        return [self._read(row) for row in self._database.rows(f"SELECT * FROM jobs WHERE phase IN {LIVE_PHASES}")]

    def count(self, project_id: str) -> int:
        return self._database.number("SELECT count(*) FROM jobs WHERE project_id = ?", (project_id,))

    def quota(self, project_id: str) -> int:
        """How many jobs the project may have."""
        rows = self._database.rows("SELECT jobs FROM quotas WHERE project_id = ?", (project_id,))
        return int(rows[0]["jobs"]) if rows else _JOB_QUOTA

    def set_quota(self, project_id: str, jobs: int) -> None:
        self._database.write("INSERT OR REPLACE INTO quotas VALUES (?, ?)", (project_id, jobs))

    def tags(self, project_id: str) -> list[dict[str, str]]:
        """All tags of the project's jobs."""
        rows = self._database.rows(
            "SELECT json_extract(document, '$.metadata.tags') AS tags FROM jobs"
            " WHERE project_id = ? AND json_array_length(document, '$.metadata.tags') > 0",
            (project_id,),
        )
        return [tag for row in rows for tag in json.loads(row["tags"])]

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
        now = now_ms()
        values = {
            "id": job_id,
            "phase": phase,
            "secondary": secondary_phase or phase,
            "is_live": phase in LIVE_PHASES,
            "now": now,
            "statuses": None if task_statuses is None else json.dumps(task_statuses),
            "only_from": json.dumps([*only_from]),
        }
        with self._database.writing() as database:
            moved = database.execute(
                "UPDATE jobs SET phase = :phase, secondary_phase = :secondary,"
                " start_time = CASE WHEN :phase = 'Running' AND start_time = 0 THEN :now ELSE start_time END,"
                " end_time = CASE WHEN :is_live THEN end_time ELSE :now END,"
                " task_statuses = coalesce(:statuses, task_statuses)"
                " WHERE id = :id AND phase IN (SELECT value FROM json_each(:only_from))",
                values,
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

    def events(self, job_id: str) -> list[dict[str, Any]]:
        """All events of a job, oldest first."""
        return self._database.rows("SELECT * FROM events WHERE job_id = ? ORDER BY time, rowid", (job_id,))

    def begin_stage(self, job_id: str, name: str) -> None:
        now = now_ms()
        with self._database.writing() as database:
            database.execute("UPDATE stages SET end_time = ? WHERE job_id = ? AND end_time = 0", (now, job_id))
            database.execute(
                "INSERT OR IGNORE INTO stages SELECT id, ?, ?, 0 FROM jobs WHERE id = ?", (name, now, job_id)
            )

    def stages(self, job_id: str) -> list[dict[str, Any]]:
        """The legs of a job's way; their end is 0 while they last."""
        return self._database.rows("SELECT * FROM stages WHERE job_id = ? ORDER BY rowid", (job_id,))

    def ids(self) -> set[str]:
        return {row["id"] for row in self._database.rows("SELECT id FROM jobs")}

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

    def _read(self, row: dict[str, Any]) -> JobRecord:
        lists = {name: tuple(json.loads(row[name])) for name in ("tasks", "task_statuses")}
        return JobRecord(**{**row, **lists, "document": json.loads(row["document"])})


def _insert_event(database: sqlite3.Connection, job_id: str, text: EventText, level: str, source: str) -> None:
    database.execute(
        "INSERT INTO events SELECT id, ?, ?, ?, ?, ? FROM jobs WHERE id = ?",
        (now_ms(), level, source, text.english, text.chinese, job_id),
    )
