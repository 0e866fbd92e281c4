"""Multipart uploads and their parts as rows of the index."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

from traindeck.lab.obs.records import Attributes, BucketInfo, PartInfo, Traits, UploadInfo
from traindeck.lab.obs.rows import json_text, mapping

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
    query = f"SELECT {_UPLOAD} FROM uploads WHERE bucket = ? AND key {'>' if after else '>='} ?"
    values: list[object] = [bucket.number, start]
    if end is not None:
        query += " AND key < ?"
        values.append(end)
    with closing(connection.execute(query + " ORDER BY key, id", values)) as cursor:
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
