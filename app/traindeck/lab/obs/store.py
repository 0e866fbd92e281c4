"""The object store behind the Lab's OBS: buckets, whole objects, listings; blocking, safe for threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

from traindeck.lab.obs.errors import (
    NOTHING,
    BodyLost,
    BucketAlreadyExists,
    BucketAlreadyOwnedByYou,
    BucketNotEmpty,
    NoSuchKey,
    NoSuchVersion,
    ObsError,
)
from traindeck.lab.obs.index import OBJECTS, VERSIONS
from traindeck.lab.obs.joined_checksums import joined_etag
from traindeck.lab.obs.listing import Listing, page
from traindeck.lab.obs.records import NULL, Attributes, BucketInfo, ObjectInfo, VersionEntry, check_bucket_name, now_ms
from traindeck.lab.obs.sealing import NO_NONCE, Unsealed, check_key
from traindeck.lab.obs.storage import PLAIN, BodyWriter, Condition, Storage, older
from traindeck.lab.obs.uploads import Uploads
from traindeck.runtime.crc import CRC64

__all__ = ["BodyWriter", "BucketInfo", "Listing", "ObjectInfo", "ObjectStore"]


class ObjectStore(Storage):
    """Everything under the folder `obs` of a root. An object is there whole or not at all, whenever the Lab is killed.

    Order of a write: body file complete, then one index transaction, then the old body removed.
    """

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._appending = threading.Lock()
        self.uploads = Uploads(self)

    def create_bucket(
        self, name: str, owner: str, settings: Mapping[str, str] = NOTHING, versioning: str = ""
    ) -> BucketInfo:
        check_bucket_name(name)
        with self.changing(name) as change:
            present = self.bucket(name)
            if present:
                raise BucketAlreadyOwnedByYou(name) if present.owner == owner else BucketAlreadyExists(name)
            change.insert_bucket(name, owner, now_ms())
            made = change.bucket(name)
            if made and versioning:
                change.set_versioning(made, versioning)
            for setting, value in settings.items():
                if made:
                    change.set_setting(made, setting, value)
        return self.existing(name)

    def delete_bucket(self, name: str) -> None:
        with self.changing(name) as change:
            bucket = self.existing(name)
            if change.holds_anything(bucket):
                raise BucketNotEmpty(name)
            change.delete_bucket(bucket)

    def set_setting(self, bucket: str, name: str, value: str) -> None:
        with self.changing(bucket) as change:
            change.set_setting(self.existing(bucket), name, value)

    def set_versioning(self, bucket: str, state: str) -> None:
        with self.changing(bucket) as change:
            change.set_versioning(self.existing(bucket), state)

    def used(self, bucket: str) -> tuple[int, int]:
        """Bytes and number of what the bucket holds, counted now."""
        with self.index.reading() as rows:
            return rows.used_bytes(self.existing(bucket))

    def put(
        self, bucket: str, key: str, body: bytes, attributes: Attributes = PLAIN, *, condition: Condition | None = None
    ) -> ObjectInfo:
        with self.new_body() as writer:
            writer.write(body)
            return writer.commit(bucket, key, attributes, condition=condition)

    def put_file(self, bucket: str, key: str, source: BinaryIO) -> ObjectInfo:
        with self.new_body() as writer:
            writer.take_from(source)
            return writer.commit(bucket, key)

    def info(self, bucket: str, key: str) -> ObjectInfo | None:
        with self.index.reading() as rows:
            return rows.current(self.existing(bucket), key)

    def found(self, bucket: str, key: str, version: str | None = None) -> ObjectInfo:
        """The object, or one version of it; raises where there is none, or a marker that it was deleted."""
        found = self.existing(bucket)
        with self.index.reading() as rows:
            info = rows.current(found, key)
            if version is None:
                if info:
                    return info
                newest = rows.newest_version(found, key) if found.versioning else None
                raise NoSuchKey(key, marker=newest.version or NULL if newest else "")
            wanted = "" if version == NULL else version
            if info is None or info.version != wanted:
                info = rows.version(found, key, wanted)
        if info is None:
            raise NoSuchVersion(key, version)
        return info

    def open(
        self, bucket: str, key: str, version: str | None = None, customer_key: bytes | None = None
    ) -> tuple[ObjectInfo, BinaryIO | Unsealed]:
        """The object and its bytes as they are now; a later PUT or DELETE does not change what is read."""
        missed: int | None = None
        while True:
            info = self.found(bucket, key, version)
            if info.is_marker:
                raise ObsError(405, "MethodNotAllowed", "The version is a marker that the object was deleted.")
            check_key(info.traits.customer, customer_key)
            try:
                file = self.bodies.path(info.body).open("rb")
            except FileNotFoundError:
                if missed == info.body:
                    raise BodyLost(key) from None
                # Replaced between the two steps: the index has its successor by now.
                missed = info.body
                continue
            size = os.fstat(file.fileno()).st_size
            # Of what is appended some may be there that the index does not have yet.
            if size < info.size or (size > info.size and not info.traits.is_appendable):
                file.close()
                raise BodyLost(key)
            if customer_key is None:
                return info, file
            return info, Unsealed(file, customer_key, info.traits.customer, self.pieces(info))

    def pieces(self, info: ObjectInfo) -> list[tuple[int, str]]:
        """The parts it was joined from, each with its size and nonce; one where it came as a whole."""
        with self.index.reading() as rows:
            return rows.pieces(info.body) or [(info.size, NO_NONCE)]

    def delete(
        self, bucket: str, key: str, version: str | None = None, condition: Condition | None = None
    ) -> ObjectInfo | None:
        """What hides the object from now on, where versions are kept; or the version, which is gone for good."""
        with self.changing() as change:
            found = self.existing(bucket)
            if condition:
                condition(change.current(found, key))
            if version is None:
                return change.remove(found, key)
            return change.remove_version(found, key, "" if version == NULL else version)

    def update(
        self, bucket: str, key: str, version: str | None, changed: Callable[[ObjectInfo], ObjectInfo]
    ) -> ObjectInfo:
        """Change what is said about an object, not its bytes."""
        with self.changing() as change:
            found = self.existing(bucket)
            info = change.current(found, key)
            wanted = "" if version == NULL else version
            is_current = info is not None and wanted in (None, info.version)
            if not is_current:
                info = change.version(found, key, wanted) if wanted is not None else None
            if info is None or info.is_marker:
                raise NoSuchKey(key) if version is None else NoSuchVersion(key, version)
            fresh = changed(info)
            change.keep(OBJECTS if is_current else VERSIONS, found, fresh)
            return fresh

    def listing(
        self, bucket: str, prefix: str = "", marker: str = "", delimiter: str = "", max_keys: int = 1000
    ) -> Listing[ObjectInfo]:
        with self.index.reading() as rows:
            entries = partial(rows.objects, self.existing(bucket))
            return page(entries, prefix, marker, delimiter, max_keys)

    def version_listing(
        self, bucket: str, prefix: str, marker: str, version_marker: str, delimiter: str, max_keys: int
    ) -> Listing[VersionEntry]:
        behind = partial(older, version="" if version_marker == NULL else version_marker) if version_marker else None
        with self.index.reading() as rows:
            entries = partial(rows.versions, self.existing(bucket))
            return page(entries, prefix, marker, delimiter, max_keys, behind)

    def iterate(self, bucket: str, prefix: str = "") -> Iterator[ObjectInfo]:
        """Every object below the prefix, in pages, so that no reader holds the index for long."""
        marker = ""
        while True:
            one = self.listing(bucket, prefix, marker)
            yield from one.contents
            if not one.is_truncated:
                return
            marker = one.next_marker

    def append(self, bucket: str, key: str, position: int, piece: BodyWriter, attributes: Attributes) -> ObjectInfo:
        """Add a body to the end of an object; the next one has to begin there."""
        with self._appending:
            current = self.info(bucket, key)
            length = current.size if current else 0
            if current and not current.traits.is_appendable:
                raise ObsError(409, "ObjectNotAppendable", "The object was not made by appending.")
            if position != length:
                raise _wrong_position(length)
            if current is None:
                traits = replace(attributes.traits, appended=1)

                def still_absent(there: ObjectInfo | None) -> None:
                    if there:
                        raise _wrong_position(there.size)

                return piece.commit(bucket, key, replace(attributes, traits=traits), condition=still_absent)
            piece.add_to(current.body, current.size)
            count = current.traits.appended + 1
            grown = replace(
                current,
                size=current.size + piece.size,
                etag=joined_etag(bytes.fromhex(current.etag.partition("-")[0]) + piece.md5, count),
                modified_ms=now_ms(),
                traits=replace(current.traits, appended=count, checksums={}),
                crc64=str(CRC64.joined(int(current.crc64), piece.crc64, piece.size)) if current.crc64 else "",
            )
            with self.changing() as change:
                found = self.existing(bucket)
                there = change.current(found, key)
                if there is None or there.body != current.body:
                    raise _wrong_position(there.size if there else 0)
                change.check_quota(found, None, piece.size)
                change.keep(OBJECTS, found, grown)
            return grown


def _wrong_position(length: int) -> ObsError:
    headers = {"x-obs-next-append-position": str(length)}
    message = "The position of what is appended is not the length of the object."
    return ObsError(409, "PositionNotEqualToLength", message, headers=headers)
