"""The SQLite index of the object store: what there is, which body file is whose; changed whole or not at all."""

from __future__ import annotations

import json
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from traindeck.lab.obs.errors import NOTHING, NoSuchUpload
from traindeck.lab.obs.records import (
    Attributes,
    BucketInfo,
    ObjectInfo,
    PartInfo,
    Traits,
    UploadInfo,
    VersionEntry,
    key_bytes,
)

# Keys are blobs: their order is then the byte order of UTF-8 that OBS lists in, and a NUL in a key is no end.
_DESCRIBED = """
    bucket INTEGER NOT NULL REFERENCES buckets (id),
    key BLOB NOT NULL,
    body INTEGER NOT NULL,
    size INTEGER NOT NULL,
    etag TEXT NOT NULL,
    modified_ms INTEGER NOT NULL,
    content_type TEXT NOT NULL,
    metadata TEXT NOT NULL,
    headers TEXT NOT NULL"""
_SCHEMA = f"""
CREATE TABLE buckets (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    created_ms INTEGER NOT NULL
);
CREATE TABLE objects ({_DESCRIBED},
    PRIMARY KEY (bucket, key)
) WITHOUT ROWID;
CREATE TABLE discarded_bodies (body INTEGER PRIMARY KEY);
CREATE TABLE body_numbers (settled INTEGER NOT NULL, reserved INTEGER NOT NULL);
INSERT INTO body_numbers VALUES (0, 0);
"""

# Numbered steps from one format to the next; a new root takes all of them, too.
_STEPS = (
    _SCHEMA,
    f"""
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
CREATE TABLE versions ({_DESCRIBED},
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
    # Of what is joined from parts: what each of them was. Encryption is kept in the spelling of OBS.
    """
ALTER TABLE parts ADD COLUMN nonce TEXT NOT NULL DEFAULT '';
CREATE TABLE pieces (
    body INTEGER NOT NULL,
    number INTEGER NOT NULL,
    size INTEGER NOT NULL,
    nonce TEXT NOT NULL,
    PRIMARY KEY (body, number)
) WITHOUT ROWID;
"""
    + "".join(
        f"""
UPDATE {table} SET traits = replace(replace(traits,
    '"server-side-encryption-aws-kms-key-id":', '"server-side-encryption-kms-key-id":'),
    '"server-side-encryption": "aws:kms"', '"server-side-encryption": "kms"')
    WHERE traits LIKE '%aws%kms%';
"""
        for table in ("objects", "versions", "uploads")
    ),
    # Every object has a CRC-64 now, so it is no rare trait any more.
    "".join(
        f"""
ALTER TABLE {table} ADD COLUMN crc64 TEXT NOT NULL DEFAULT '';
UPDATE {table} SET crc64 = json_extract(traits, '$.crc64'), traits = json_remove(traits, '$.crc64')
    WHERE traits LIKE '%"crc64":%' AND json_extract(traits, '$.crc64') IS NOT NULL;
UPDATE {table} SET traits = '' WHERE traits = '{{}}';
"""
        for table in ("objects", "versions")
    ),
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
            # What a killed Lab left in the journal goes to its place first: a full disk may have no room behind it.
            with suppress(sqlite3.OperationalError):
                self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._make_schema()
        except BaseException:
            self._writer.close()
            raise

    @contextmanager
    def writing(self, after: Iterable[Callable[[], None]] = ()) -> Iterator[Rows]:
        """A transaction: committed when the block ends well, undone otherwise; then, still alone, come the `after`."""
        with self._write_lock:
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield Rows(self._writer)
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise
            for call in after:
                call()

    @contextmanager
    def reading(self) -> Iterator[Rows]:
        try:
            connection = self._readers.get_nowait()
        except queue.Empty:
            connection = self._connection()
            connection.execute("PRAGMA query_only = ON")
        try:
            yield Rows(connection)
        finally:
            self._readers.put(connection)

    def close(self) -> None:
        with suppress(queue.Empty):
            while True:
                self._readers.get_nowait().close()
        with self._write_lock:
            self._writer.close()

    def _connection(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, timeout=30)

    def _make_schema(self) -> None:
        (version,) = self._writer.execute("PRAGMA user_version").fetchone()
        if version > SCHEMA_VERSION:
            raise StoreTooNewError(f"{self._path} was written by a newer TrainDeck (format {version}).")
        if version == SCHEMA_VERSION:
            return
        with self.writing():
            for script in _STEPS[version:]:
                for statement in script.split(";\n"):
                    if statement.strip():
                        self._writer.execute(statement)
            self._writer.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


# The fields of an ObjectInfo in their order, but for the last: whether it is a marker.
_OBJECT = "key, size, etag, modified_ms, content_type, metadata, headers, body, version, sequence, crc64, traits"
_BUCKET = "name, owner, created_ms, id, versioning"
_UPLOAD = "id, key, initiator, initiated_ms, content_type, metadata, headers, traits, checksum_algorithm"
_PART = "number, size, etag, modified_ms, body, crc64, nonce, checksums"
# Objects as they are now; older versions of them, and the markers that hide what was deleted.
OBJECTS, VERSIONS = "objects", "versions"
_SELECTED = {
    OBJECTS: f"SELECT {_OBJECT}, 0 AS is_marker FROM objects",
    VERSIONS: f"SELECT {_OBJECT}, is_marker FROM versions",
}


@dataclass
class Rows:
    """What is asked and changed over one connection."""

    connection: sqlite3.Connection

    def note_discarded(self, body: int) -> None:
        self.connection.execute("DELETE FROM pieces WHERE body = ?", (body,))
        self.connection.execute("INSERT OR IGNORE INTO discarded_bodies VALUES (?)", (body,))

    def forget_discarded(self, bodies: Iterable[int]) -> None:
        self.connection.executemany("DELETE FROM discarded_bodies WHERE body = ?", [(body,) for body in bodies])

    def discarded_bodies(self) -> list[int]:
        return [body for (body,) in self.connection.execute("SELECT body FROM discarded_bodies")]

    def body_numbers(self) -> tuple[int, int]:
        """Below the first number nothing is in doubt; from the second on no number was ever given out."""
        settled, reserved = self.connection.execute("SELECT settled, reserved FROM body_numbers").fetchone()
        return settled, reserved

    def set_body_numbers(self, settled: int, reserved: int) -> None:
        self.connection.execute("UPDATE body_numbers SET settled = ?, reserved = ?", (settled, reserved))

    def bodies_from(self, number: int) -> set[int]:
        """The bodies in use that have this number or a higher one."""
        return {
            body
            for table in (OBJECTS, VERSIONS, "parts")
            for (body,) in self.connection.execute(f"SELECT body FROM {table} WHERE body >= ?", (number,))
        }

    def buckets(self, where: str = "", *values: str) -> list[BucketInfo]:
        rows = self.connection.execute(f"SELECT {_BUCKET} FROM buckets {where}", values).fetchall()
        query = "SELECT name, value FROM settings WHERE bucket = ?"
        return [BucketInfo(*(*row, dict(self.connection.execute(query, row[3:4])))) for row in rows]

    def bucket(self, name: str) -> BucketInfo | None:
        return next(iter(self.buckets("WHERE name = ?", name)), None)

    def insert_bucket(self, name: str, owner: str, created_ms: int) -> None:
        values = (name, owner, created_ms)
        self.connection.execute("INSERT INTO buckets (name, owner, created_ms) VALUES (?, ?, ?)", values)

    def delete_bucket(self, bucket: BucketInfo) -> None:
        self.connection.execute("DELETE FROM settings WHERE bucket = ?", (bucket.number,))
        self.connection.execute("DELETE FROM buckets WHERE id = ?", (bucket.number,))

    def set_versioning(self, bucket: BucketInfo, state: str) -> None:
        self.connection.execute("UPDATE buckets SET versioning = ? WHERE id = ?", (state, bucket.number))

    def set_setting(self, bucket: BucketInfo, name: str, value: str) -> None:
        """Keep a document of the bucket; an empty one is none."""
        if value:
            self._put("settings", "bucket, name, value", bucket.number, name, value)
        else:
            self.connection.execute("DELETE FROM settings WHERE bucket = ? AND name = ?", (bucket.number, name))

    def holds_anything(self, bucket: BucketInfo) -> bool:
        """Objects, older versions, or parts of uploads that were never ended."""
        tables = (OBJECTS, VERSIONS, "uploads")
        query = " UNION ALL ".join(f"SELECT 1 FROM {table} WHERE bucket = :bucket" for table in tables)
        return self.connection.execute(f"{query} LIMIT 1", {"bucket": bucket.number}).fetchone() is not None

    def used_bytes(self, bucket: BucketInfo) -> tuple[int, int]:
        """Size and number of all objects and versions, counted now."""
        query = """
            SELECT coalesce(sum(size), 0), count(*) FROM (
                SELECT size FROM objects WHERE bucket = :bucket
                UNION ALL SELECT size FROM versions WHERE bucket = :bucket AND NOT is_marker)"""
        size, count = self.connection.execute(query, {"bucket": bucket.number}).fetchone()
        return size, count

    def current(self, bucket: BucketInfo, key: str) -> ObjectInfo | None:
        return self._object(OBJECTS, bucket, key)

    def version(self, bucket: BucketInfo, key: str, version: str) -> ObjectInfo | None:
        return self._object(VERSIONS, bucket, key, "AND version = ?", version)

    def newest_version(self, bucket: BucketInfo, key: str) -> ObjectInfo | None:
        """Of those that are not the current object."""
        return self._object(VERSIONS, bucket, key, "ORDER BY sequence DESC LIMIT 1")

    def objects(self, bucket: BucketInfo, start: bytes, after: bool, end: bytes | None) -> Iterator[ObjectInfo]:
        """Objects from `start` on (with `after`: beyond it) and before `end`, in the order of their keys."""
        where, values = _span(bucket, start, after, end)
        return map(_object, self._each(f"{_SELECTED[OBJECTS]} {where} ORDER BY key", values))

    def versions(self, bucket: BucketInfo, start: bytes, after: bool, end: bytes | None) -> Iterator[VersionEntry]:
        """Every version by key, the newest of a key first."""
        where, values = _span(bucket, start, after, end)
        both = f"{_SELECTED[OBJECTS]} {where} UNION ALL {_SELECTED[VERSIONS]} {where}"
        previous: bytes | None = None
        for row in self._each(f"{both} ORDER BY key, sequence DESC", values * 2):
            yield VersionEntry(_object(row), row[0] != previous)
            previous = row[0]

    def keep(self, table: str, bucket: BucketInfo, info: ObjectInfo) -> None:
        """As an object, or as an older version or a marker that the object is deleted."""
        told = (info.size, info.etag, info.modified_ms, info.content_type)
        texts = (json_text(info.metadata), json_text(info.headers))
        known = (info.body, info.version, info.sequence, info.crc64)
        values = (info.key.encode("utf-8"), *told, *texts, *known, info.traits.text())
        if table == OBJECTS:
            self._put(OBJECTS, f"bucket, {_OBJECT}", bucket.number, *values)
        else:
            self._put(VERSIONS, f"bucket, {_OBJECT}, is_marker", bucket.number, *values, info.is_marker)

    def delete_object(self, bucket: BucketInfo, key: str) -> None:
        self.connection.execute("DELETE FROM objects WHERE bucket = ? AND key = ?", (bucket.number, key_bytes(key)))

    def delete_version(self, bucket: BucketInfo, info: ObjectInfo) -> None:
        values = (bucket.number, key_bytes(info.key), info.sequence)
        self.connection.execute("DELETE FROM versions WHERE bucket = ? AND key = ? AND sequence = ?", values)

    def insert_upload(self, bucket: BucketInfo, upload: UploadInfo) -> None:
        said = upload.attributes
        told = (upload.upload_id, key_bytes(upload.key), upload.initiator, upload.initiated_ms, said.content_type)
        texts = (json_text(said.metadata), json_text(said.headers), said.traits.text())
        self._put("uploads", f"{_UPLOAD}, bucket", *told, *texts, upload.checksum_algorithm, bucket.number)

    def upload(self, bucket: BucketInfo, key: str, upload_id: str) -> UploadInfo:
        query = f"SELECT {_UPLOAD} FROM uploads WHERE id = ? AND bucket = ? AND key = ?"
        row = self.connection.execute(query, (upload_id, bucket.number, key_bytes(key))).fetchone()
        if row is None:
            raise NoSuchUpload(upload_id)
        return _upload(row)

    def uploads(self, bucket: BucketInfo, start: bytes, after: bool, end: bytes | None) -> Iterator[UploadInfo]:
        """Uploads by key, and those of one key by their ids."""
        where, values = _span(bucket, start, after, end)
        return map(_upload, self._each(f"SELECT {_UPLOAD} FROM uploads {where} ORDER BY key, id", values))

    def delete_upload(self, upload_id: str) -> None:
        self.connection.execute("DELETE FROM parts WHERE upload = ?", (upload_id,))
        self.connection.execute("DELETE FROM uploads WHERE id = ?", (upload_id,))

    def keep_part(self, upload_id: str, part: PartInfo) -> None:
        told = (part.number, part.size, part.etag, part.modified_ms, part.body, part.crc64, part.nonce)
        self._put("parts", f"upload, {_PART}", upload_id, *told, json_text(part.checksums))

    def parts(self, upload_id: str, after: int = 0, limit: int = -1) -> list[PartInfo]:
        query = f"SELECT {_PART} FROM parts WHERE upload = ? AND number > ? ORDER BY number LIMIT ?"
        rows = self.connection.execute(query, (upload_id, after, limit))
        return [PartInfo(*(*told, mapping(checksums), nonce)) for *told, nonce, checksums in rows]

    def keep_pieces(self, body: int, parts: Iterable[PartInfo]) -> None:
        rows = [(body, number, part.size, part.nonce) for number, part in enumerate(parts, start=1)]
        self.connection.executemany("INSERT INTO pieces VALUES (?, ?, ?, ?)", rows)

    def pieces(self, body: int) -> list[tuple[int, str]]:
        query = "SELECT size, nonce FROM pieces WHERE body = ? ORDER BY number"
        return self.connection.execute(query, (body,)).fetchall()

    def _object(self, table: str, bucket: BucketInfo, key: str, further: str = "", *values: str) -> ObjectInfo | None:
        query = f"{_SELECTED[table]} WHERE bucket = ? AND key = ? {further}"
        row = self.connection.execute(query, (bucket.number, key_bytes(key), *values)).fetchone()
        return _object(row) if row else None

    def _each(self, query: str, values: Sequence[object]) -> Iterator[tuple[Any, ...]]:
        with closing(self.connection.execute(query, values)) as cursor:
            yield from cursor

    def _put(self, table: str, columns: str, *values: object) -> None:
        marks = ", ".join("?" * len(values))
        self.connection.execute(f"REPLACE INTO {table} ({columns}) VALUES ({marks})", values)


def json_text(values: Mapping[str, str]) -> str:
    return json.dumps(dict(values), ensure_ascii=True) if values else ""


def mapping(text: str) -> Mapping[str, str]:
    if not text:
        return NOTHING
    values: dict[str, str] = json.loads(text)
    return values


def _object(row: tuple[Any, ...]) -> ObjectInfo:
    key, *told, metadata, headers, body, version, sequence, crc64, traits, is_marker = row
    rest = (body, version, sequence, Traits.read(traits), bool(is_marker), crc64)
    return ObjectInfo(*(key.decode("utf-8"), *told, mapping(metadata), mapping(headers), *rest))


def _upload(row: tuple[Any, ...]) -> UploadInfo:
    upload_id, key, initiator, initiated_ms, content_type, metadata, headers, traits, algorithm = row
    attributes = Attributes(content_type, mapping(metadata), mapping(headers), Traits.read(traits))
    return UploadInfo(upload_id, key.decode("utf-8"), initiator, initiated_ms, attributes, algorithm)


def _span(bucket: BucketInfo, start: bytes, after: bool, end: bytes | None) -> tuple[str, list[object]]:
    where = f"WHERE bucket = ? AND key {'>' if after else '>='} ?"
    if end is None:
        return where, [bucket.number, start]
    return where + " AND key < ?", [bucket.number, start, end]
