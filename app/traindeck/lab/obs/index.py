"""The SQLite index of the object store: which buckets and objects exist, and which body file is whose."""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

# Keys are blobs: their order is then the byte order of UTF-8 that OBS lists in, and a NUL in a key is no end.
_SCHEMA = """
CREATE TABLE buckets (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    created_ms INTEGER NOT NULL
);
CREATE TABLE objects (
    bucket INTEGER NOT NULL REFERENCES buckets (id),
    key BLOB NOT NULL,
    body INTEGER NOT NULL,
    size INTEGER NOT NULL,
    etag TEXT NOT NULL,
    modified_ms INTEGER NOT NULL,
    content_type TEXT NOT NULL,
    metadata TEXT NOT NULL,
    headers TEXT NOT NULL,
    PRIMARY KEY (bucket, key)
) WITHOUT ROWID;
CREATE TABLE discarded_bodies (body INTEGER PRIMARY KEY);
CREATE TABLE body_numbers (settled INTEGER NOT NULL, reserved INTEGER NOT NULL);
INSERT INTO body_numbers VALUES (0, 0);
"""

# Numbered steps from one format to the next; a new root takes all of them, too.
_STEPS = (
    _SCHEMA,
    """
ALTER TABLE buckets ADD COLUMN versioning TEXT NOT NULL DEFAULT '';
ALTER TABLE objects ADD COLUMN version TEXT NOT NULL DEFAULT '';
ALTER TABLE objects ADD COLUMN sequence INTEGER NOT NULL DEFAULT 0;
ALTER TABLE objects ADD COLUMN traits TEXT NOT NULL DEFAULT '';
CREATE TABLE settings (
    bucket INTEGER NOT NULL REFERENCES buckets (id),
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (bucket, name)
) WITHOUT ROWID;
CREATE TABLE versions (
    bucket INTEGER NOT NULL REFERENCES buckets (id),
    key BLOB NOT NULL,
    body INTEGER NOT NULL,
    size INTEGER NOT NULL,
    etag TEXT NOT NULL,
    modified_ms INTEGER NOT NULL,
    content_type TEXT NOT NULL,
    metadata TEXT NOT NULL,
    headers TEXT NOT NULL,
    version TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    traits TEXT NOT NULL,
    is_marker INTEGER NOT NULL,
    PRIMARY KEY (bucket, key, sequence)
) WITHOUT ROWID;
CREATE TABLE uploads (
    id TEXT PRIMARY KEY,
    bucket INTEGER NOT NULL REFERENCES buckets (id),
    key BLOB NOT NULL,
    initiator TEXT NOT NULL,
    initiated_ms INTEGER NOT NULL,
    content_type TEXT NOT NULL,
    metadata TEXT NOT NULL,
    headers TEXT NOT NULL,
    traits TEXT NOT NULL,
    checksum_algorithm TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX uploads_by_key ON uploads (bucket, key, id);
CREATE TABLE parts (
    upload TEXT NOT NULL REFERENCES uploads (id),
    number INTEGER NOT NULL,
    size INTEGER NOT NULL,
    etag TEXT NOT NULL,
    modified_ms INTEGER NOT NULL,
    body INTEGER NOT NULL,
    crc64 TEXT NOT NULL,
    checksums TEXT NOT NULL,
    PRIMARY KEY (upload, number)
) WITHOUT ROWID;
""",
)
SCHEMA_VERSION = len(_STEPS)


class StoreTooNewError(Exception):
    """The index was written by a newer TrainDeck."""


class ObjectIndex:
    """One writing connection behind a lock, reading connections from a pool; safe for threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._write_lock = threading.Lock()
        self._readers: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue()
        self._writer = self._connection()
        try:
            self._writer.execute("PRAGMA journal_mode = WAL")
            # NORMAL: a killed process loses nothing, since each commit is in the system's cache; a power cut may undo
            # the last commits, each whole. FULL would flush the disk per object, ten times the rest of a small PUT.
            self._writer.execute("PRAGMA synchronous = NORMAL")
            self._make_schema()
        except BaseException:
            self._writer.close()
            raise

    @contextmanager
    def writing(self, after: list[Callable[[], None]] | None = None) -> Iterator[sqlite3.Connection]:
        """A transaction: committed when the block ends well, undone otherwise; then, still alone, come the `after`."""
        with self._write_lock:
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise
            for call in after or ():
                call()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = self._readers.get_nowait()
        except queue.Empty:
            connection = self._connection()
            connection.execute("PRAGMA query_only = ON")
        try:
            yield connection
        finally:
            self._readers.put(connection)

    def close(self) -> None:
        while True:
            try:
                self._readers.get_nowait().close()
            except queue.Empty:
                break
        with self._write_lock:
            self._writer.close()

    def _connection(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, timeout=30)

    def _make_schema(self) -> None:
        (version,) = self._writer.execute("PRAGMA user_version").fetchone()
        if version > SCHEMA_VERSION:
            raise StoreTooNewError(f"{self._path} was written by a newer TrainDeck (format {version}).")
        with self.writing() as connection:
            for script in _STEPS[version:]:
                for statement in script.split(";\n"):
                    if statement.strip():
                        connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def note_discarded(connection: sqlite3.Connection, body: int) -> None:
    connection.execute("INSERT OR IGNORE INTO discarded_bodies VALUES (?)", (body,))


def forget_discarded(connection: sqlite3.Connection, bodies: Iterable[int]) -> None:
    connection.executemany("DELETE FROM discarded_bodies WHERE body = ?", [(body,) for body in bodies])


def discarded_bodies(connection: sqlite3.Connection) -> list[int]:
    return [body for (body,) in connection.execute("SELECT body FROM discarded_bodies")]


def body_numbers(connection: sqlite3.Connection) -> tuple[int, int]:
    """Below the first number nothing is in doubt; from the second on no number was ever given out."""
    settled, reserved = connection.execute("SELECT settled, reserved FROM body_numbers").fetchone()
    return settled, reserved


def set_body_numbers(connection: sqlite3.Connection, settled: int, reserved: int) -> None:
    connection.execute("UPDATE body_numbers SET settled = ?, reserved = ?", (settled, reserved))


def bodies_from(connection: sqlite3.Connection, number: int) -> set[int]:
    """The bodies in use that have this number or a higher one."""
    return {
        body
        for table in ("objects", "versions", "parts")
        for (body,) in connection.execute(f"SELECT body FROM {table} WHERE body >= ?", (number,))
    }
