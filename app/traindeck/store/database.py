"""Opening the database: migrate step by step, with a copy first."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from traindeck.domain.errors import Damaged, DiskFull, LocalTrouble, Unwritable
from traindeck.domain.texts import Text, text
from traindeck.runtime.blocking import BlockingCalls
from traindeck.runtime.files import alone_with, local_errors, our_file, our_folder

Result = TypeVar("Result")

STEPS = (
    (
        """CREATE TABLE runs (
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
            tasks TEXT NOT NULL DEFAULT '["worker-0"]')""",
        "CREATE INDEX runs_by_state ON runs (state)",
        "CREATE INDEX runs_by_name ON runs (name)",
        """CREATE TABLE transitions (
            run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
            at TEXT NOT NULL,
            state TEXT NOT NULL,
            reason TEXT NOT NULL DEFAULT '')""",
        "CREATE INDEX transitions_by_run ON transitions (run_id, at)",
    ),
    ("ALTER TABLE runs ADD COLUMN isolation TEXT NOT NULL DEFAULT ''",),
    ("ALTER TABLE runs ADD COLUMN accepted TEXT NOT NULL DEFAULT '[]'",),
    (
        "ALTER TABLE runs ADD COLUMN secondary_phase TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE runs ADD COLUMN remote_name TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE runs ADD COLUMN tags TEXT NOT NULL DEFAULT '[]'",
        "ALTER TABLE runs ADD COLUMN note TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE runs ADD COLUMN starred INTEGER NOT NULL DEFAULT 0",
        "CREATE INDEX runs_by_job ON runs (job_id)",
        # What cannot be kept in a column: what is known of the records themselves, the document of a job as the
        # service told it, and what its log or its user measured.
        "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
        """CREATE TABLE documents (
            run_id TEXT PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
            document TEXT NOT NULL)""",
        """CREATE TABLE metrics (
            run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
            name TEXT NOT NULL,
            last REAL NOT NULL,
            lowest REAL NOT NULL,
            highest REAL NOT NULL,
            PRIMARY KEY (run_id, name)) WITHOUT ROWID""",
        "CREATE INDEX metrics_by_name ON metrics (name)",
        """CREATE TABLE data_prints (
            run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
            input TEXT NOT NULL,
            place TEXT NOT NULL,
            taken TEXT NOT NULL,
            count INTEGER NOT NULL,
            size_bytes INTEGER NOT NULL,
            newest TEXT,
            digest TEXT NOT NULL,
            is_whole INTEGER NOT NULL,
            PRIMARY KEY (run_id, input)) WITHOUT ROWID""",
    ),
    ("ALTER TABLE runs ADD COLUMN gone TEXT",),
)
LOCK_S = 10.0

SchemaSteps = Sequence[Sequence[str]]
"""The statements from each version of a file to the next."""


def open_database(path: Path, steps: SchemaSteps = STEPS) -> sqlite3.Connection:
    """A connection for one thread; the schema is today's when this returns."""
    with local_errors(path):
        our_folder(path.parent)
        our_file(path)  # what SQLite puts beside it has the same rights
    with database_errors(path):
        db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10)
        try:
            db.row_factory = sqlite3.Row
            # One damaged text must not make a whole list unreadable.
            db.text_factory = lambda content: content.decode("utf-8", "replace")
            db.execute("PRAGMA journal_mode = WAL")
            # FULL: an intent must be on the disk before the request leaves, even through a power cut.
            db.execute("PRAGMA synchronous = FULL")
            db.execute("PRAGMA foreign_keys = ON")
            if _version(db) != len(steps):
                # Two programs may open an old database at once; only one may carry it over.
                busy = text("Another TrainDeck is using the records.")
                hint = text(
                    "Wait until it is done, or close the one not responding, then try again. Nothing was changed."
                )
                with alone_with(path, LOCK_S, busy, hint, ".migrate.lock"):
                    _migrate(db, path, steps)
        except BaseException:
            db.close()
            raise
    return db


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _migrate(db: sqlite3.Connection, path: Path, steps: SchemaSteps) -> None:
    version = _version(db)
    if version > len(steps):
        raise LocalTrouble(
            text("The records were written by a newer TrainDeck."),
            text("Update TrainDeck, or specify another folder with TRAINDECK_HOME. Nothing was changed."),
        )
    if 0 < version < len(steps):
        _back_up(db, path.with_name(f"{path.name}.v{version}.bak"))
    for number, step in enumerate(steps[version:], start=version + 1):
        with transaction(db):
            for statement in step:
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {number}")


def _back_up(db: sqlite3.Connection, target: Path) -> None:
    part = target.with_name(target.name + ".part")
    part.unlink(missing_ok=True)
    our_file(part)
    with closing(sqlite3.connect(part)) as copy:
        db.backup(copy)
    part.replace(target)


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


@contextmanager
def database_errors(path: Path) -> Iterator[None]:
    """SQLite's own words are for us; the user gets the disk's or the file's trouble."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        if code == sqlite3.SQLITE_FULL:
            raise DiskFull(
                text("The disk is full: the records were not written."),
                text("Free up space, or move the TrainDeck folder with TRAINDECK_HOME, then try again."),
                str(error),
            ) from error
        raise _KINDS.get((code or 0) & 0xFF, LocalTrouble)(
            text("The records in “{path}” cannot be used: {problem}.", path=str(path), problem=str(error)),
            _way_out(path),
            str(error),
        ) from error


_KINDS = {
    sqlite3.SQLITE_CORRUPT: Damaged,
    sqlite3.SQLITE_NOTADB: Damaged,
    sqlite3.SQLITE_CANTOPEN: Unwritable,
    sqlite3.SQLITE_IOERR: Unwritable,
    sqlite3.SQLITE_PERM: Unwritable,
    sqlite3.SQLITE_READONLY: Unwritable,
}
"""By the primary code of SQLite, which is the lowest byte of what it says."""


def _way_out(path: Path) -> Text:
    """Names a copy only where there is one."""
    copies = copies_of(path)
    if not copies:
        return text("Check the permissions and free space of this folder.")
    newest = str(copies[0])
    return text("Check the permissions and free space of this folder. The newest copy is “{copy}”.", copy=newest)


def copies_of(path: Path) -> list[Path]:
    """What was kept of this file day by day and before an update, the newest first."""
    daily = (path.parent / "copies").glob(f"{path.stem}-????-??-??.db")
    try:
        return sorted([*daily, *path.parent.glob(f"{path.name}.v*.bak")], key=_age, reverse=True)
    except OSError:
        return []


def _age(path: Path) -> float:
    return path.stat().st_mtime


class OpenedLater:
    """A file used through one writer thread, and opened when it is first needed."""

    def __init__(self, path: Path, writer: BlockingCalls, steps: SchemaSteps) -> None:
        self._path = path
        self._writer = writer
        self._steps = steps
        self._db: sqlite3.Connection | None = None

    def close(self) -> None:
        """After the last call has come back."""
        if self._db is not None:
            self._db.close()

    async def _with(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        def call(_: object) -> Result:
            if self._db is None:
                self._db = open_database(self._path, self._steps)
            with database_errors(self._path):
                return work(self._db)

        return await self._writer.run(call)
