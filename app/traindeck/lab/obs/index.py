"""The SQLite index of the object store: which buckets and objects exist, and which body file is whose."""

from __future__ import annotations

import json
import queue
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

SCHEMA_VERSION = 1

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

_OBJECT_COLUMNS = "key, body, size, etag, modified_ms, content_type, metadata, headers"
_NOTHING: Mapping[str, str] = {}


class StoreTooNewError(Exception):
    """The index was written by a newer TrainDeck."""


@dataclass(frozen=True, slots=True)
class BucketInfo:
    """A bucket; `owner` is the canonical id of an account."""

    name: str
    owner: str
    created_ms: int
    number: int = field(repr=False, compare=False)

    @property
    def created(self) -> datetime:
        return datetime.fromtimestamp(self.created_ms / 1000, UTC)


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """All of an object but its bytes."""

    key: str
    size: int
    etag: str
    modified_ms: int
    content_type: str
    metadata: Mapping[str, str]
    headers: Mapping[str, str]
    body: int = field(repr=False, compare=False)

    @property
    def modified(self) -> datetime:
        return datetime.fromtimestamp(self.modified_ms / 1000, UTC)


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
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction: committed when the block ends well, undone otherwise."""
        with self._write_lock:
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

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
        if version == 0:
            statements = [statement for statement in _SCHEMA.split(";\n") if statement.strip()]
            with self.writing() as connection:
                for statement in statements:
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def bucket_row(connection: sqlite3.Connection, name: str) -> BucketInfo | None:
    row = connection.execute("SELECT name, owner, created_ms, id FROM buckets WHERE name = ?", (name,)).fetchone()
    return BucketInfo(*row) if row else None


def bucket_rows(connection: sqlite3.Connection, owner: str) -> list[BucketInfo]:
    rows = connection.execute("SELECT name, owner, created_ms, id FROM buckets WHERE owner = ? ORDER BY name", (owner,))
    return [BucketInfo(*row) for row in rows]


def insert_bucket(connection: sqlite3.Connection, name: str, owner: str, created_ms: int) -> None:
    connection.execute("INSERT INTO buckets (name, owner, created_ms) VALUES (?, ?, ?)", (name, owner, created_ms))


def delete_bucket_row(connection: sqlite3.Connection, bucket: BucketInfo) -> None:
    connection.execute("DELETE FROM buckets WHERE id = ?", (bucket.number,))


def object_row(connection: sqlite3.Connection, bucket: BucketInfo, key: bytes) -> ObjectInfo | None:
    query = f"SELECT {_OBJECT_COLUMNS} FROM objects WHERE bucket = ? AND key = ?"
    row = connection.execute(query, (bucket.number, key)).fetchone()
    return _object(row) if row else None


def object_rows(
    connection: sqlite3.Connection, bucket: BucketInfo, start: bytes, *, after: bool, end: bytes | None
) -> Iterator[ObjectInfo]:
    """Objects from `start` on (with `after`: beyond it) and before `end`, in the order of their keys."""
    query = f"SELECT {_OBJECT_COLUMNS} FROM objects WHERE bucket = ? AND key {'>' if after else '>='} ?"
    values: list[object] = [bucket.number, start]
    if end is not None:
        query += " AND key < ?"
        values.append(end)
    with closing(connection.execute(query + " ORDER BY key", values)) as cursor:
        for row in cursor:
            yield _object(row)


def holds_objects(connection: sqlite3.Connection, bucket: BucketInfo) -> bool:
    return connection.execute("SELECT 1 FROM objects WHERE bucket = ? LIMIT 1", (bucket.number,)).fetchone() is not None


def replace_object(connection: sqlite3.Connection, bucket: BucketInfo, info: ObjectInfo) -> None:
    values = (
        bucket.number,
        info.key.encode("utf-8"),
        info.body,
        info.size,
        info.etag,
        info.modified_ms,
        info.content_type,
        _json(info.metadata),
        _json(info.headers),
    )
    connection.execute(f"REPLACE INTO objects (bucket, {_OBJECT_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?)", values)


def delete_object_row(connection: sqlite3.Connection, bucket: BucketInfo, key: bytes) -> None:
    connection.execute("DELETE FROM objects WHERE bucket = ? AND key = ?", (bucket.number, key))


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
    return {body for (body,) in connection.execute("SELECT body FROM objects WHERE body >= ?", (number,))}


def _object(row: tuple[bytes, int, int, str, int, str, str, str]) -> ObjectInfo:
    key, body, size, etag, modified_ms, content_type, metadata, headers = row
    return ObjectInfo(
        key.decode("utf-8"), size, etag, modified_ms, content_type, _mapping(metadata), _mapping(headers), body
    )


def _json(values: Mapping[str, str]) -> str:
    return json.dumps(dict(values), ensure_ascii=True) if values else ""


def _mapping(text: str) -> Mapping[str, str]:
    if not text:
        return _NOTHING
    values: dict[str, str] = json.loads(text)
    return values
