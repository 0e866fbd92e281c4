"""The SQLite index of the object store: which buckets and objects exist, and which body file is whose."""

from __future__ import annotations

import json
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from traindeck.lab.obs.records import (
    NO_TRAITS,
    NOTHING,
    Attributes,
    BucketInfo,
    ObjectInfo,
    PartInfo,
    Traits,
    UploadInfo,
    VersionEntry,
)

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


_OBJECT = "key, body, size, etag, modified_ms, content_type, metadata, headers, version, sequence, traits"
_MARKS = ", ".join("?" * 12)
ObjectRow = tuple[bytes, int, int, str, int, str, str, str, str, int, str]


def bucket_row(connection: sqlite3.Connection, name: str) -> BucketInfo | None:
    query = "SELECT name, owner, created_ms, id, versioning FROM buckets WHERE name = ?"
    row = connection.execute(query, (name,)).fetchone()
    return _bucket(connection, row) if row else None


def all_bucket_rows(connection: sqlite3.Connection) -> list[BucketInfo]:
    rows = connection.execute("SELECT name, owner, created_ms, id, versioning FROM buckets").fetchall()
    return [_bucket(connection, row) for row in rows]


def insert_bucket(connection: sqlite3.Connection, name: str, owner: str, created_ms: int) -> None:
    connection.execute("INSERT INTO buckets (name, owner, created_ms) VALUES (?, ?, ?)", (name, owner, created_ms))


def delete_bucket_row(connection: sqlite3.Connection, bucket: BucketInfo) -> None:
    connection.execute("DELETE FROM settings WHERE bucket = ?", (bucket.number,))
    connection.execute("DELETE FROM buckets WHERE id = ?", (bucket.number,))


def set_versioning(connection: sqlite3.Connection, bucket: BucketInfo, state: str) -> None:
    connection.execute("UPDATE buckets SET versioning = ? WHERE id = ?", (state, bucket.number))


def set_setting(connection: sqlite3.Connection, bucket: BucketInfo, name: str, value: str) -> None:
    """Keep a document of the bucket; an empty one is none."""
    if value:
        connection.execute("REPLACE INTO settings VALUES (?, ?, ?)", (bucket.number, name, value))
    else:
        connection.execute("DELETE FROM settings WHERE bucket = ? AND name = ?", (bucket.number, name))


def object_row(connection: sqlite3.Connection, bucket: BucketInfo, key: bytes) -> ObjectInfo | None:
    query = f"SELECT {_OBJECT} FROM objects WHERE bucket = ? AND key = ?"
    row = connection.execute(query, (bucket.number, key)).fetchone()
    return object_of(row) if row else None


def object_rows(
    connection: sqlite3.Connection, bucket: BucketInfo, start: bytes, *, after: bool, end: bytes | None
) -> Iterator[ObjectInfo]:
    """Objects from `start` on (with `after`: beyond it) and before `end`, in the order of their keys."""
    where, values = span(bucket, start, after, end)
    query = f"SELECT {_OBJECT} FROM objects WHERE {where} ORDER BY key"
    with closing(connection.execute(query, values)) as cursor:
        for row in cursor:
            yield object_of(row)


def holds_anything(connection: sqlite3.Connection, bucket: BucketInfo) -> bool:
    """Objects, older versions, or parts of uploads that were never ended."""
    query = " UNION ALL ".join(
        f"SELECT 1 FROM {table} WHERE bucket = :bucket" for table in ("objects", "versions", "uploads")
    )
    return connection.execute(f"{query} LIMIT 1", {"bucket": bucket.number}).fetchone() is not None


def used_bytes(connection: sqlite3.Connection, bucket: BucketInfo) -> tuple[int, int]:
    """Size and number of all objects and versions, counted now."""
    query = """
        SELECT coalesce(sum(size), 0), count(*) FROM (
            SELECT size FROM objects WHERE bucket = :bucket
            UNION ALL SELECT size FROM versions WHERE bucket = :bucket AND NOT is_marker)"""
    size, count = connection.execute(query, {"bucket": bucket.number}).fetchone()
    return size, count


def replace_object(connection: sqlite3.Connection, bucket: BucketInfo, info: ObjectInfo) -> None:
    connection.execute(f"REPLACE INTO objects (bucket, {_OBJECT}) VALUES ({_MARKS})", _values(bucket, info))


def delete_object_row(connection: sqlite3.Connection, bucket: BucketInfo, key: bytes) -> None:
    connection.execute("DELETE FROM objects WHERE bucket = ? AND key = ?", (bucket.number, key))


def insert_version(connection: sqlite3.Connection, bucket: BucketInfo, info: ObjectInfo) -> None:
    """An older version, or a marker that the object is deleted."""
    query = f"INSERT INTO versions (bucket, {_OBJECT}, is_marker) VALUES ({_MARKS}, ?)"
    connection.execute(query, (*_values(bucket, info), info.is_marker))


def replace_version(connection: sqlite3.Connection, bucket: BucketInfo, info: ObjectInfo) -> None:
    query = f"REPLACE INTO versions (bucket, {_OBJECT}, is_marker) VALUES ({_MARKS}, ?)"
    connection.execute(query, (*_values(bucket, info), info.is_marker))


def delete_version_row(connection: sqlite3.Connection, bucket: BucketInfo, info: ObjectInfo) -> None:
    query = "DELETE FROM versions WHERE bucket = ? AND key = ? AND sequence = ?"
    connection.execute(query, (bucket.number, info.key.encode("utf-8"), info.sequence))


def version_row(connection: sqlite3.Connection, bucket: BucketInfo, key: bytes, version: str) -> ObjectInfo | None:
    query = f"SELECT {_OBJECT}, is_marker FROM versions WHERE bucket = ? AND key = ? AND version = ?"
    row = connection.execute(query, (bucket.number, key, version)).fetchone()
    return _version_of(row) if row else None


def newest_version(connection: sqlite3.Connection, bucket: BucketInfo, key: bytes) -> ObjectInfo | None:
    """Of those that are not the current object."""
    query = f"SELECT {_OBJECT}, is_marker FROM versions WHERE bucket = ? AND key = ? ORDER BY sequence DESC LIMIT 1"
    row = connection.execute(query, (bucket.number, key)).fetchone()
    return _version_of(row) if row else None


def all_version_rows(
    connection: sqlite3.Connection, bucket: BucketInfo, start: bytes, *, after: bool, end: bytes | None
) -> Iterator[VersionEntry]:
    """Every version by key, the newest of a key first."""
    where, values = span(bucket, start, after, end)
    query = f"""
        SELECT {_OBJECT}, 0 AS is_marker FROM objects WHERE {where}
        UNION ALL SELECT {_OBJECT}, is_marker FROM versions WHERE {where}
        ORDER BY key, sequence DESC"""
    previous: bytes | None = None
    with closing(connection.execute(query, [*values, *values])) as cursor:
        for row in cursor:
            yield VersionEntry(_version_of(row), row[0] != previous)
            previous = row[0]


def object_of(row: ObjectRow) -> ObjectInfo:
    key, body, size, etag, modified_ms, content_type, metadata, headers, version, sequence, traits = row
    return ObjectInfo(
        key.decode("utf-8"),
        size,
        etag,
        modified_ms,
        content_type,
        mapping(metadata),
        mapping(headers),
        body,
        version,
        sequence,
        Traits.read(traits) if traits else NO_TRAITS,
    )


def json_text(values: Mapping[str, str]) -> str:
    return json.dumps(dict(values), ensure_ascii=True) if values else ""


def mapping(text: str) -> Mapping[str, str]:
    if not text:
        return NOTHING
    values: dict[str, str] = json.loads(text)
    return values


def _version_of(row: tuple[bytes, int, int, str, int, str, str, str, str, int, str, int]) -> ObjectInfo:
    *values, is_marker = row
    info = object_of(tuple(values))  # type: ignore[arg-type]
    if not is_marker:
        return info
    return ObjectInfo(
        info.key, 0, "", info.modified_ms, "", {}, {}, info.body, info.version, info.sequence, info.traits, True
    )


def span(bucket: BucketInfo, start: bytes, after: bool, end: bytes | None) -> tuple[str, list[object]]:
    where = f"bucket = ? AND key {'>' if after else '>='} ?"
    if end is None:
        return where, [bucket.number, start]
    return where + " AND key < ?", [bucket.number, start, end]


def _values(bucket: BucketInfo, info: ObjectInfo) -> tuple[object, ...]:
    return (
        bucket.number,
        info.key.encode("utf-8"),
        info.body,
        info.size,
        info.etag,
        info.modified_ms,
        info.content_type,
        json_text(info.metadata),
        json_text(info.headers),
        info.version,
        info.sequence,
        info.traits.text(),
    )


def _bucket(connection: sqlite3.Connection, row: tuple[str, str, int, int, str]) -> BucketInfo:
    name, owner, created_ms, number, versioning = row
    settings = dict(connection.execute("SELECT name, value FROM settings WHERE bucket = ?", (number,)))
    return BucketInfo(name, owner, created_ms, number, versioning, settings)


_UPLOAD = "id, key, initiator, initiated_ms, content_type, metadata, headers, traits, checksum_algorithm"
_PART = "number, size, etag, modified_ms, body, crc64, checksums"


def insert_upload(connection: sqlite3.Connection, bucket: BucketInfo, upload: UploadInfo) -> None:
    attributes = upload.attributes
    values = (
        upload.upload_id,
        upload.key.encode("utf-8"),
        upload.initiator,
        upload.initiated_ms,
        attributes.content_type,
        json_text(attributes.metadata),
        json_text(attributes.headers),
        attributes.traits.text(),
        upload.checksum_algorithm,
        bucket.number,
    )
    connection.execute(f"INSERT INTO uploads ({_UPLOAD}, bucket) VALUES (?,?,?,?,?,?,?,?,?,?)", values)


def upload_row(connection: sqlite3.Connection, bucket: BucketInfo, key: bytes, upload_id: str) -> UploadInfo | None:
    query = f"SELECT {_UPLOAD} FROM uploads WHERE id = ? AND bucket = ? AND key = ?"
    row = connection.execute(query, (upload_id, bucket.number, key)).fetchone()
    return _upload(row) if row else None


def upload_rows(
    connection: sqlite3.Connection, bucket: BucketInfo, start: bytes, *, after: bool, end: bytes | None
) -> Iterator[UploadInfo]:
    """Uploads by key, and those of one key by their ids."""
    where, values = span(bucket, start, after, end)
    query = f"SELECT {_UPLOAD} FROM uploads WHERE {where} ORDER BY key, id"
    with closing(connection.execute(query, values)) as cursor:
        for row in cursor:
            yield _upload(row)


def delete_upload(connection: sqlite3.Connection, upload_id: str) -> None:
    connection.execute("DELETE FROM parts WHERE upload = ?", (upload_id,))
    connection.execute("DELETE FROM uploads WHERE id = ?", (upload_id,))


def replace_part(connection: sqlite3.Connection, upload_id: str, part: PartInfo) -> None:
    values = (
        upload_id,
        part.number,
        part.size,
        part.etag,
        part.modified_ms,
        part.body,
        part.crc64,
        json_text(part.checksums),
    )
    connection.execute(f"REPLACE INTO parts (upload, {_PART}) VALUES (?,?,?,?,?,?,?,?)", values)


def part_row(connection: sqlite3.Connection, upload_id: str, number: int) -> PartInfo | None:
    query = f"SELECT {_PART} FROM parts WHERE upload = ? AND number = ?"
    row = connection.execute(query, (upload_id, number)).fetchone()
    return _part(row) if row else None


def part_rows(connection: sqlite3.Connection, upload_id: str, after: int = 0, limit: int = -1) -> list[PartInfo]:
    query = f"SELECT {_PART} FROM parts WHERE upload = ? AND number > ? ORDER BY number LIMIT ?"
    return [_part(row) for row in connection.execute(query, (upload_id, after, limit))]


def _upload(row: tuple[str, bytes, str, int, str, str, str, str, str]) -> UploadInfo:
    upload_id, key, initiator, initiated_ms, content_type, metadata, headers, traits, algorithm = row
    attributes = Attributes(content_type, mapping(metadata), mapping(headers), Traits.read(traits))
    return UploadInfo(upload_id, key.decode("utf-8"), initiator, initiated_ms, attributes, algorithm)


def _part(row: tuple[int, int, str, int, int, str, str]) -> PartInfo:
    number, size, etag, modified_ms, body, crc64, checksums = row
    return PartInfo(number, size, etag, modified_ms, body, crc64, mapping(checksums))
