"""The steps from an empty database to today's; numbered by their place, never edited after a release."""

from __future__ import annotations

import sqlite3


def _create_runs(db: sqlite3.Connection) -> None:
    db.execute(
        """
        CREATE TABLE runs (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            name TEXT NOT NULL,
            profile TEXT NOT NULL,
            spec TEXT NOT NULL,
            state TEXT NOT NULL,
            created TEXT NOT NULL,
            bundle TEXT NOT NULL DEFAULT '',
            code_url TEXT NOT NULL DEFAULT '',
            job_id TEXT NOT NULL DEFAULT '',
            phase TEXT NOT NULL DEFAULT '',
            reason TEXT NOT NULL DEFAULT '',
            submitted TEXT,
            started TEXT,
            ended TEXT,
            duration_ms INTEGER,
            resubmission_of TEXT NOT NULL DEFAULT '',
            checked TEXT,
            tasks TEXT NOT NULL DEFAULT '["worker-0"]'
        )
        """
    )
    db.execute("CREATE INDEX runs_by_state ON runs (state)")
    db.execute("CREATE INDEX runs_by_name ON runs (name)")
    db.execute(
        """
        CREATE TABLE transitions (
            run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
            at TEXT NOT NULL,
            state TEXT NOT NULL,
            reason TEXT NOT NULL DEFAULT ''
        )
        """
    )
    db.execute("CREATE INDEX transitions_by_run ON transitions (run_id, at)")


STEPS = (_create_runs,)
