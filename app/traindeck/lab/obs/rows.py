"""Buckets and objects as rows of the index."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing

from traindeck.lab.obs.records import NO_TRAITS, NOTHING, BucketInfo, ObjectInfo, Traits, VersionEntry

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
    where, values = _span(bucket, start, after, end)
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
    where, values = _span(bucket, start, after, end)
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


def _span(bucket: BucketInfo, start: bytes, after: bool, end: bytes | None) -> tuple[str, list[object]]:
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
