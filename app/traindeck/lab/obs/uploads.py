"""Multipart uploads: parts in any order, joined to one object or given up."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise

from traindeck.lab.obs.checksums import ALGORITHMS, shown
from traindeck.lab.obs.errors import InvalidArgument, InvalidRequest, ObsError, Texts
from traindeck.lab.obs.index import Rows
from traindeck.lab.obs.joined_checksums import (
    DigestOf,
    ToldOfWhole,
    digest_told,
    joined_checksums,
    joined_crc64,
    joined_etag,
    upload_kind,
)
from traindeck.lab.obs.listing import Listing, page
from traindeck.lab.obs.records import Attributes, BucketInfo, ObjectInfo, PartInfo, UploadInfo, now_ms
from traindeck.lab.obs.storage import BodyWriter, Condition, Storage

MAX_PARTS = 10_000
MIN_PART = 100 * 1024
NOTHING_TOLD = ToldOfWhole()
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class WantedPart:
    """One part as the request to complete names it."""

    number: int
    etag: str
    checksums: Mapping[str, str] = field(default_factory=dict)


class Uploads:
    """The uploads of one store."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def begin(
        self, bucket: str, key: str, initiator: str, attributes: Attributes, checksum_algorithm: str
    ) -> UploadInfo:
        upload = UploadInfo(secrets.token_hex(16).upper(), key, initiator, now_ms(), attributes, checksum_algorithm)
        with self._storage.changing() as change:
            change.insert_upload(self._storage.existing(bucket), upload)
        return upload

    def upload(self, bucket: str, key: str, upload_id: str) -> UploadInfo:
        with self._storage.index.reading() as rows:
            return rows.upload(self._storage.existing(bucket), key, upload_id)

    def put_part(
        self, bucket: str, key: str, upload_id: str, number: int, writer: BodyWriter, checksums: Texts
    ) -> PartInfo:
        """The last one given for a number counts."""
        told = (now_ms(), writer.closed(), str(writer.crc64), checksums, writer.nonce)
        with self._storage.changing() as change:
            upload = change.upload(self._storage.existing(bucket), key, upload_id)
            part = PartInfo(number, writer.size, writer.etag(upload.attributes.traits), *told)
            before = change.parts(upload_id, part.number - 1, 1)
            change.discarded += [one.body for one in before if one.number == part.number]
            change.keep_part(upload_id, part)
        writer.keep()
        return part

    def parts(self, upload_id: str, after: int = 0, limit: int = -1) -> list[PartInfo]:
        with self._storage.index.reading() as rows:
            return rows.parts(upload_id, after, limit)

    def listing(
        self, bucket: str, prefix: str, key_marker: str, upload_marker: str, delimiter: str, limit: int
    ) -> Listing[UploadInfo]:
        def later(of_key: list[UploadInfo]) -> list[UploadInfo]:
            return [upload for upload in of_key if upload.upload_id > upload_marker]

        behind = later if upload_marker and key_marker else None
        with self._storage.index.reading() as rows:
            entries = partial(rows.uploads, self._storage.existing(bucket))
            return page(entries, prefix, key_marker, delimiter, limit, behind)

    def abort(self, bucket: str, key: str, upload_id: str) -> None:
        with self._storage.changing() as change:
            change.upload(self._storage.existing(bucket), key, upload_id)
            change.discarded += [part.body for part in change.parts(upload_id)]
            change.delete_upload(upload_id)

    def complete(
        self,
        bucket: str,
        key: str,
        upload_id: str,
        wanted: Sequence[WantedPart],
        condition: Condition,
        told: ToldOfWhole = NOTHING_TOLD,
    ) -> ObjectInfo:
        """Join the parts, where the whole is what the client says of it."""
        upload = self.upload(bucket, key, upload_id)
        present = {part.number: part for part in self.parts(upload_id)}
        with self._told_if_gone(bucket, key, upload_id, list(present.values())):
            chosen = _chosen(wanted, present, self._digest_of)
            algorithm, traits = upload.checksum_algorithm, upload.attributes.traits
            # An older Lab kept none for what has its usual one.
            kind = traits.checksum_type or upload_kind(algorithm, "")
            joined, kind = joined_checksums(algorithm, kind, chosen, told, self._digest_of)
            crc64 = joined_crc64(chosen, told.crc64, self._digest_of)
            traits = replace(traits, upload_id=upload_id, checksums=joined, checksum_type=kind)
        with self._storage.new_body() as writer:
            with self._told_if_gone(bucket, key, upload_id, chosen):
                self._join(chosen, writer)
            info = writer.info(key, replace(upload.attributes, traits=traits))
            etag = joined_etag(b"".join(bytes.fromhex(part.etag) for part in chosen), len(chosen))
            info = replace(info, size=sum(part.size for part in chosen), etag=etag, crc64=crc64)
            with self._storage.changing() as change:
                found = self._storage.existing(bucket)
                now_there = _unchanged_parts(change, found, key, upload_id, chosen)
                old = change.current(found, key)
                condition(old)
                change.discarded += [part.body for part in now_there]
                change.delete_upload(upload_id)
                change.keep_pieces(info.body, chosen)
                placed = change.place(found, old, info)
            writer.keep()
        return placed

    @contextmanager
    def _told_if_gone(self, bucket: str, key: str, upload_id: str, chosen: Sequence[PartInfo]) -> Iterator[None]:
        """Files of parts go when somebody else completes the upload, gives it up, or sends a part again."""
        try:
            yield
        except FileNotFoundError:
            with self._storage.index.reading() as rows:
                _unchanged_parts(rows, self._storage.existing(bucket), key, upload_id, chosen)
            raise

    def _digest_of(self, part: PartInfo, name: str) -> bytes:
        if (told := digest_told(part, name)) is not None:
            return told
        if part.nonce:
            message = f"The {name} of what is encrypted can be told only where each part came with one."
            raise InvalidRequest(message)
        digest = ALGORITHMS[name]()
        with self._storage.bodies.path(part.body).open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
        return digest.digest()

    def _join(self, chosen: Sequence[PartInfo], writer: BodyWriter) -> None:
        for part in chosen:
            with self._storage.bodies.path(part.body).open("rb") as source:
                while block := source.read(_BLOCK):
                    writer.keep_bytes([block])


def _chosen(wanted: Sequence[WantedPart], present: Mapping[int, PartInfo], digest_of: DigestOf) -> list[PartInfo]:
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
            or any(shown(name, digest_of(part, name)) != value for name, value in one.checksums.items())
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
    rows: Rows, bucket: BucketInfo, key: str, upload_id: str, chosen: Sequence[PartInfo]
) -> list[PartInfo]:
    """All parts as they are now; raises where those chosen are not among them any more."""
    rows.upload(bucket, key, upload_id)
    there = {part.number: part for part in rows.parts(upload_id)}
    if any(there.get(part.number) != part for part in chosen):
        raise ObsError(409, "OperationAborted", "A part was replaced while the upload was completed.")
    return list(there.values())
