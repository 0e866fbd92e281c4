"""Multipart uploads: parts in any order, joined to one object or given up."""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from io import FileIO
from itertools import pairwise
from pathlib import Path

from traindeck.lab.obs import index as rows
from traindeck.lab.obs import index as upload_rows
from traindeck.lab.obs import listing as object_listing
from traindeck.lab.obs import storage as versions
from traindeck.lab.obs.checksums import CRC64_ECMA, joined_checksums
from traindeck.lab.obs.errors import BadDigest, InvalidArgument, NoSuchUpload, ObsError
from traindeck.lab.obs.listing import Listing
from traindeck.lab.obs.records import (
    Attributes,
    BucketInfo,
    ObjectInfo,
    PartInfo,
    UploadInfo,
    key_bytes,
    text_bytes,
)
from traindeck.lab.obs.storage import Storage, full_disk_told, now_ms

MAX_PARTS = 10_000
MIN_PART = 100 * 1024
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class WantedPart:
    """One part as the request to complete names it."""

    number: int
    etag: str
    checksums: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Completion:
    """What a client asks for when all its parts are there."""

    parts: Sequence[WantedPart]
    crc64: str = ""
    checksums: Mapping[str, str] = field(default_factory=dict)


class Uploads:
    """The uploads of one store."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def begin(
        self, bucket: str, key: str, initiator: str, attributes: Attributes, checksum_algorithm: str
    ) -> UploadInfo:
        key_bytes(key)
        upload = UploadInfo(secrets.token_hex(16).upper(), key, initiator, now_ms(), attributes, checksum_algorithm)
        with self._storage.changing() as change:
            upload_rows.insert_upload(change.connection, change.bucket(bucket), upload)
        return upload

    def upload(self, bucket: str, key: str, upload_id: str) -> UploadInfo:
        with self._storage.index.reading() as connection:
            found = self._storage.existing(bucket)
            upload = upload_rows.upload_row(connection, found, key_bytes(key), upload_id)
        if upload is None:
            raise NoSuchUpload(upload_id)
        return upload

    def put_part(self, bucket: str, key: str, upload_id: str, part: PartInfo) -> None:
        """The part's body is complete on disk; the last one given for a number counts."""
        with self._storage.changing() as change:
            found = change.bucket(bucket)
            if upload_rows.upload_row(change.connection, found, key_bytes(key), upload_id) is None:
                raise NoSuchUpload(upload_id)
            old = upload_rows.part_row(change.connection, upload_id, part.number)
            if old:
                change.discard(old.body)
            upload_rows.replace_part(change.connection, upload_id, part)
        self._storage.bodies.settle()

    def parts(self, upload_id: str, after: int = 0, limit: int = -1) -> list[PartInfo]:
        with self._storage.index.reading() as connection:
            return upload_rows.part_rows(connection, upload_id, after, limit)

    def listing(
        self, bucket: str, prefix: str, key_marker: str, upload_marker: str, delimiter: str, limit: int
    ) -> Listing[UploadInfo]:
        texts = (text_bytes(prefix), text_bytes(key_marker), text_bytes(delimiter))
        with self._storage.index.reading() as connection:
            found = self._storage.existing(bucket)

            def entries(start: bytes, after: bool, end: bytes | None) -> Iterator[UploadInfo]:
                return upload_rows.upload_rows(connection, found, start, after=after, end=end)

            rest: list[UploadInfo] = []
            if upload_marker and key_marker and texts[1].startswith(texts[0]):
                same_key = entries(texts[1], False, texts[1] + b"\x00")
                rest = [upload for upload in same_key if upload.upload_id > upload_marker]
            return object_listing.page(entries, *texts, limit, rest)

    def abort(self, bucket: str, key: str, upload_id: str) -> None:
        with self._storage.changing() as change:
            found = change.bucket(bucket)
            if upload_rows.upload_row(change.connection, found, key_bytes(key), upload_id) is None:
                raise NoSuchUpload(upload_id)
            for part in upload_rows.part_rows(change.connection, upload_id):
                change.discard(part.body)
            upload_rows.delete_upload(change.connection, upload_id)

    def complete(
        self,
        bucket: str,
        key: str,
        upload_id: str,
        completion: Completion,
        condition: Callable[[ObjectInfo | None], None],
    ) -> ObjectInfo:
        upload = self.upload(bucket, key, upload_id)
        present = {part.number: part for part in self.parts(upload_id)}
        chosen = _chosen(completion.parts, present)
        traits = replace(
            upload.attributes.traits,
            upload_id=upload_id,
            checksums=(joined := joined_checksums(upload.checksum_algorithm, chosen)).values,
            checksum_type=joined.kind,
        )
        for name, value in completion.checksums.items():
            if traits.checksums.get(name, value) != value:
                raise BadDigest(message=f"The {name} you specified did not match the calculated checksum.")
        with self._told_if_gone(bucket, key, upload_id, chosen):
            traits = replace(traits, crc64=self._checked_crc64(chosen, completion.crc64))
        number, file = self._new_body()
        try:
            with self._told_if_gone(bucket, key, upload_id, chosen):
                self._join(chosen, file)
            info = ObjectInfo(
                key,
                sum(part.size for part in chosen),
                _etag(chosen),
                now_ms(),
                upload.attributes.content_type,
                upload.attributes.metadata,
                upload.attributes.headers,
                number,
                traits=traits,
            )
            with self._storage.changing() as change:
                found = change.bucket(bucket)
                encoded = key_bytes(key)
                now_there = _unchanged_parts(change.connection, found, encoded, upload_id, chosen)
                old = rows.object_row(change.connection, found, encoded)
                condition(old)
                for part in now_there:
                    change.discard(part.body)
                upload_rows.delete_upload(change.connection, upload_id)
                placed = versions.place(change, found, old, info)
        except BaseException:
            self._path(number).unlink(missing_ok=True)
            raise
        finally:
            self._storage.bodies.settle()
        return placed

    @contextmanager
    def _told_if_gone(self, bucket: str, key: str, upload_id: str, chosen: Sequence[PartInfo]) -> Iterator[None]:
        """Files of parts go when somebody else completes the upload, gives it up, or sends a part again."""
        try:
            yield
        except FileNotFoundError:
            with self._storage.index.reading() as connection:
                _unchanged_parts(connection, self._storage.existing(bucket), key_bytes(key), upload_id, chosen)
            raise

    def _checked_crc64(self, chosen: Sequence[PartInfo], announced: str) -> str:
        if not announced and not all(part.crc64 for part in chosen):
            return ""
        value = 0
        for part in chosen:
            crc = int(part.crc64) if part.crc64 else self._crc64_of(part)
            value = CRC64_ECMA.joined(value, crc, part.size)
        if announced and announced != str(value):
            raise BadDigest("InvalidCRC64", "The CRC64 you specified did not match that of the joined parts.")
        return str(value)

    def _crc64_of(self, part: PartInfo) -> int:
        value = 0
        with self._path(part.body).open("rb") as file:
            while block := file.read(_BLOCK):
                value = CRC64_ECMA.crc(block, value)
        return value

    def _new_body(self) -> tuple[int, FileIO]:
        with full_disk_told():
            return self._storage.bodies.create()

    def _join(self, chosen: Sequence[PartInfo], file: FileIO) -> None:
        buffer = bytearray(_BLOCK)
        view = memoryview(buffer)
        with full_disk_told(), file:
            for part in chosen:
                with FileIO(self._path(part.body)) as source:
                    while got := source.readinto(buffer):
                        left = view[:got]
                        while left:
                            left = left[file.write(left) or 0 :]

    def _path(self, body: int) -> Path:
        return self._storage.bodies.path(body)


def _chosen(wanted: Sequence[WantedPart], present: Mapping[int, PartInfo]) -> list[PartInfo]:
    if not wanted:
        raise InvalidArgument("parts", "", "You must name at least one part.")
    numbers = [part.number for part in wanted]
    if any(first >= second for first, second in pairwise(numbers)):
        message = "The list of parts was not in ascending order. Parts must be ordered by part number."
        raise ObsError(400, "InvalidPartOrder", message)
    chosen: list[PartInfo] = []
    for one in wanted:
        part = present.get(one.number)
        if (
            part is None
            or part.etag != one.etag
            or any(part.checksums.get(name, value) != value for name, value in one.checksums.items())
        ):
            message = "One or more of the specified parts could not be found, or its ETag is not the one named."
            raise ObsError(400, "InvalidPart", message, details={"PartNumber": str(one.number)})
        chosen.append(part)
    for part in chosen[:-1]:
        if part.size < MIN_PART:
            details = {"MinSizeAllowed": str(MIN_PART), "ProposedSize": str(part.size), "PartNumber": str(part.number)}
            message = "Your proposed upload is smaller than the minimum allowed size."
            raise ObsError(400, "EntityTooSmall", message, details=details)
    return chosen


def _unchanged_parts(
    connection: sqlite3.Connection, bucket: BucketInfo, key: bytes, upload_id: str, chosen: Sequence[PartInfo]
) -> list[PartInfo]:
    """All parts as they are now; raises where those chosen are not among them any more."""
    if upload_rows.upload_row(connection, bucket, key, upload_id) is None:
        raise NoSuchUpload(upload_id)
    there = {part.number: part for part in upload_rows.part_rows(connection, upload_id)}
    if any(there.get(part.number) != part for part in chosen):
        raise ObsError(409, "OperationAborted", "A part was replaced while the upload was completed.")
    return list(there.values())


def _etag(parts: Sequence[PartInfo]) -> str:
    joined = b"".join(bytes.fromhex(part.etag) for part in parts)
    return f"{hashlib.md5(joined, usedforsecurity=False).hexdigest()}-{len(parts)}"
