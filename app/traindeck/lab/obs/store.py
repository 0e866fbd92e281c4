"""The object store behind the Lab's OBS: buckets, whole objects, listings; blocking, safe for threads."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Protocol

from traindeck.lab.obs import index as rows
from traindeck.lab.obs import listing as object_listing
from traindeck.lab.obs import storage as versions
from traindeck.lab.obs.errors import (
    BodyLost,
    BucketAlreadyExists,
    BucketAlreadyOwnedByYou,
    BucketNotEmpty,
    NoSuchKey,
    NoSuchVersion,
    ObsError,
)
from traindeck.lab.obs.listing import Listing
from traindeck.lab.obs.records import (
    DEFAULT_CONTENT_TYPE,
    NOTHING,
    Attributes,
    BucketInfo,
    ObjectInfo,
    VersionEntry,
    checked_bucket_name,
    key_bytes,
    text_bytes,
)
from traindeck.lab.obs.storage import Storage, full_disk_told, now_ms
from traindeck.lab.obs.uploads import Uploads

__all__ = ["BodyWriter", "BucketInfo", "Listing", "ObjectInfo", "ObjectStore"]

COPY_BLOCK = 1 << 20
PLAIN = Attributes()

# Looks at the object as it is in the moment of replacement, and raises to keep it.
Condition = Callable[[ObjectInfo | None], None]


class Digest(Protocol):
    """What hashlib's objects offer."""

    def update(self, data: bytes, /) -> None: ...
    def digest(self) -> bytes: ...
    def hexdigest(self) -> str: ...


class ObjectStore:
    """Everything under the folder `obs` of a root. An object is there whole or not at all, whenever the Lab is killed.

    Order of a write: body file complete, then one index transaction, then the old body removed.
    """

    def __init__(self, root: Path) -> None:
        self._storage = Storage(root)
        self._appending = threading.Lock()
        self.uploads = Uploads(self._storage)

    def close(self) -> None:
        self._storage.close()

    def create_bucket(self, name: str, owner: str, settings: Mapping[str, str] = NOTHING) -> BucketInfo:
        checked_bucket_name(name)
        with self._storage.changing() as change:
            present = self._storage.bucket(name)
            if present:
                raise BucketAlreadyOwnedByYou(name) if present.owner == owner else BucketAlreadyExists(name)
            rows.insert_bucket(change.connection, name, owner, now_ms())
            made = rows.bucket_row(change.connection, name)
            for setting, value in settings.items():
                if made:
                    rows.set_setting(change.connection, made, setting, value)
            change.refresh(name)
        return self._storage.existing(name)

    def delete_bucket(self, name: str) -> None:
        with self._storage.changing() as change:
            bucket = change.bucket(name)
            if rows.holds_anything(change.connection, bucket):
                raise BucketNotEmpty(name)
            rows.delete_bucket_row(change.connection, bucket)
            change.refresh(name)

    def bucket(self, name: str) -> BucketInfo | None:
        return self._storage.bucket(name)

    def buckets(self, owner: str) -> list[BucketInfo]:
        return self._storage.buckets(owner)

    def set_setting(self, bucket: str, name: str, value: str) -> None:
        with self._storage.changing() as change:
            rows.set_setting(change.connection, change.bucket(bucket), name, value)
            change.refresh(bucket)

    def set_versioning(self, bucket: str, state: str) -> None:
        with self._storage.changing() as change:
            rows.set_versioning(change.connection, change.bucket(bucket), state)
            change.refresh(bucket)

    def used(self, bucket: str) -> tuple[int, int]:
        """Bytes and number of what the bucket holds, counted now."""
        with self._storage.index.reading() as connection:
            return rows.used_bytes(connection, self._storage.existing(bucket))

    def put(
        self,
        bucket: str,
        key: str,
        body: bytes,
        *,
        content_type: str = DEFAULT_CONTENT_TYPE,
        metadata: Mapping[str, str] = NOTHING,
        headers: Mapping[str, str] = NOTHING,
        condition: Condition | None = None,
    ) -> ObjectInfo:
        with self.new_body() as writer:
            writer.write(body)
            return writer.commit(bucket, key, Attributes(content_type, metadata, headers), condition=condition)

    def put_file(self, bucket: str, key: str, path: Path) -> ObjectInfo:
        with self.new_body() as writer, path.open("rb") as source:
            writer.take_from(source)
            return writer.commit(bucket, key)

    def new_body(self) -> BodyWriter:
        """A body still without a key; leaving its `with` block without a commit discards it."""
        with full_disk_told():
            number, file = self._storage.bodies.create()
        return BodyWriter(self, number, file)

    def info(self, bucket: str, key: str) -> ObjectInfo | None:
        encoded = key_bytes(key)
        with self._storage.index.reading() as connection:
            return rows.object_row(connection, self._storage.existing(bucket), encoded)

    def found(self, bucket: str, key: str, version: str | None = None) -> ObjectInfo:
        """The object, or one version of it; raises where there is none, or a marker that it was deleted."""
        encoded = key_bytes(key)
        found = self._storage.existing(bucket)
        with self._storage.index.reading() as connection:
            info = rows.object_row(connection, found, encoded)
            if version is None:
                if info:
                    return info
                newest = rows.newest_version(connection, found, encoded) if found.versioning else None
                raise NoSuchKey(key, marker=newest.version or versions.NULL if newest else "")
            wanted = "" if version == versions.NULL else version
            if info is None or info.version != wanted:
                info = rows.version_row(connection, found, encoded, wanted)
        if info is None:
            raise NoSuchVersion(key, version)
        return info

    def open(self, bucket: str, key: str, version: str | None = None) -> tuple[ObjectInfo, BinaryIO]:
        """The object and its bytes as they are now; a later PUT or DELETE does not change what is read."""
        missed: int | None = None
        while True:
            info = self.found(bucket, key, version)
            if info.is_marker:
                raise ObsError(405, "MethodNotAllowed", "The version is a marker that the object was deleted.")
            try:
                file = self._storage.bodies.path(info.body).open("rb")
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
            return info, file

    def delete(self, bucket: str, key: str) -> ObjectInfo | None:
        """What hides the object from now on, where versions are kept."""
        key_bytes(key)
        with self._storage.changing() as change:
            return versions.remove(change, change.bucket(bucket), key)

    def delete_version(self, bucket: str, key: str, version: str) -> ObjectInfo | None:
        key_bytes(key)
        wanted = "" if version == versions.NULL else version
        with self._storage.changing() as change:
            return versions.remove_version(change, change.bucket(bucket), key, wanted)

    def update(
        self, bucket: str, key: str, version: str | None, changed: Callable[[ObjectInfo], ObjectInfo]
    ) -> ObjectInfo:
        """Change what is said about an object, not its bytes."""
        encoded = key_bytes(key)
        with self._storage.changing() as change:
            found = change.bucket(bucket)
            info = rows.object_row(change.connection, found, encoded)
            wanted = "" if version == versions.NULL else version
            is_current = info is not None and wanted in (None, info.version)
            if not is_current:
                info = rows.version_row(change.connection, found, encoded, wanted) if wanted is not None else None
            if info is None or info.is_marker:
                raise NoSuchKey(key) if version is None else NoSuchVersion(key, version)
            fresh = changed(info)
            (rows.replace_object if is_current else rows.replace_version)(change.connection, found, fresh)
            return fresh

    def listing(
        self, bucket: str, prefix: str = "", marker: str = "", delimiter: str = "", max_keys: int = 1000
    ) -> Listing[ObjectInfo]:
        texts = (text_bytes(prefix), text_bytes(marker), text_bytes(delimiter))
        with self._storage.index.reading() as connection:
            found = self._storage.existing(bucket)

            def entries(start: bytes, after: bool, end: bytes | None) -> Iterator[ObjectInfo]:
                return rows.object_rows(connection, found, start, after=after, end=end)

            return object_listing.page(entries, *texts, max_keys)

    def version_listing(
        self, bucket: str, prefix: str, marker: str, version_marker: str, delimiter: str, max_keys: int
    ) -> Listing[VersionEntry]:
        texts = (text_bytes(prefix), text_bytes(marker), text_bytes(delimiter))
        behind = "" if version_marker == versions.NULL else version_marker
        with self._storage.index.reading() as connection:
            found = self._storage.existing(bucket)

            def entries(start: bytes, after: bool, end: bytes | None) -> Iterator[VersionEntry]:
                return rows.all_version_rows(connection, found, start, after=after, end=end)

            rest: list[VersionEntry] = []
            if version_marker:
                same_key = list(entries(texts[1], False, texts[1] + b"\x00"))
                rest = versions.older(same_key, behind) if texts[1].startswith(texts[0]) else []
            return object_listing.page(entries, *texts, max_keys, rest)

    def iterate(self, bucket: str, prefix: str = "") -> Iterator[ObjectInfo]:
        """Every object below the prefix, in pages, so that no reader holds the index for long."""
        marker = ""
        while True:
            one = self.listing(bucket, prefix, marker)
            yield from one.contents
            if not one.is_truncated:
                return
            marker = one.next_marker

    def append(
        self, bucket: str, key: str, position: int, piece: BodyWriter, attributes: Attributes
    ) -> tuple[ObjectInfo, int]:
        """Add a body to the end of an object; the second value is where the next one has to begin."""
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

                made = piece.commit(bucket, key, replace(attributes, traits=traits), condition=still_absent)
                return made, made.size
            piece.add_to(self._storage.bodies.path(current.body), current.size)
            etags = bytes.fromhex(current.etag.partition("-")[0]) + piece.md5
            count = current.traits.appended + 1
            grown = replace(
                current,
                size=current.size + piece.size,
                etag=f"{hashlib.md5(etags, usedforsecurity=False).hexdigest()}-{count}",
                modified_ms=now_ms(),
                traits=replace(current.traits, appended=count, crc64="", checksums={}),
            )
            with self._storage.changing() as change:
                found = change.bucket(bucket)
                there = rows.object_row(change.connection, found, key_bytes(key))
                if there is None or there.body != current.body:
                    raise _wrong_position(there.size if there else 0)
                versions.check_quota(change, found, None, piece.size)
                rows.replace_object(change.connection, found, grown)
            return grown, grown.size

    def commit_body(self, bucket: str, info: ObjectInfo, condition: Condition | None) -> ObjectInfo:
        """Put a complete body file under its key; for BodyWriter."""
        encoded = key_bytes(info.key)
        with self._storage.changing() as change:
            found = change.bucket(bucket)
            old = rows.object_row(change.connection, found, encoded)
            if condition:
                condition(old)
            placed = versions.place(change, found, old, info)
        self._storage.bodies.settle()
        return placed

    def body_path(self, number: int) -> Path:
        return self._storage.bodies.path(number)

    def discard_body(self, number: int) -> None:
        """Remove a body that never got a key; for BodyWriter."""
        self._storage.bodies.path(number).unlink(missing_ok=True)
        self._storage.bodies.settle()


class BodyWriter:
    """Bytes on their way in: hashed while written, then committed under a key or discarded."""

    def __init__(self, store: ObjectStore, number: int, file: FileIO) -> None:
        self._store = store
        self._number = number
        self._file = file
        self._is_open = True
        self._md5: Digest = hashlib.md5(usedforsecurity=False)
        self.size = 0

    @property
    def md5(self) -> bytes:
        return self._md5.digest()

    def write(self, data: bytes) -> None:
        self.digest([data])
        self.keep_bytes([data])

    def digest(self, block: Sequence[bytes]) -> None:
        """The hashing half of `write`; the halves may run side by side, each block after block."""
        for piece in block:
            self._md5.update(piece)

    def keep_bytes(self, block: Sequence[bytes]) -> None:
        """The writing half of `write`."""
        with full_disk_told():
            for piece in block:
                left = memoryview(piece)
                while left:
                    # A raw file may take a part only, at the end of a disk for example.
                    written = self._file.write(left) or 0
                    left = left[written:]
                self.size += len(piece)

    def take_from(self, source: BinaryIO, length: int | None = None) -> None:
        """Copy from a file: `length` bytes, or to its end."""
        left = length
        while left is None or left > 0:
            block = source.read(COPY_BLOCK if left is None else min(COPY_BLOCK, left))
            if not block:
                return
            self.write(block)
            left = None if left is None else left - len(block)

    def add_to(self, path: Path, size: int) -> None:
        """Copy what was written behind the first `size` bytes of another body, and whatever a killed Lab left there."""
        with full_disk_told(), path.open("r+b") as target, self._store.body_path(self._number).open("rb") as source:
            target.truncate(size)
            target.seek(size)
            while block := source.read(COPY_BLOCK):
                target.write(block)

    def commit(
        self,
        bucket: str,
        key: str,
        attributes: Attributes = PLAIN,
        *,
        condition: Condition | None = None,
    ) -> ObjectInfo:
        info = ObjectInfo(
            key=key,
            size=self.size,
            etag=self._md5.hexdigest(),
            modified_ms=now_ms(),
            content_type=attributes.content_type,
            metadata=dict(attributes.metadata),
            headers=dict(attributes.headers),
            body=self.closed(),
            traits=attributes.traits,
        )
        placed = self._store.commit_body(bucket, info, condition)
        self.keep()
        return placed

    def closed(self) -> int:
        """The number of the body, complete on disk."""
        with full_disk_told():
            self._file.close()
        return self._number

    def keep(self) -> None:
        """The index has the body now."""
        self._is_open = False

    def discard(self) -> None:
        if self._is_open:
            self._is_open = False
            self._file.close()
            self._store.discard_body(self._number)

    def __enter__(self) -> BodyWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.discard()


def _wrong_position(length: int) -> ObsError:
    headers = {"x-obs-next-append-position": str(length)}
    message = "The position of what is appended is not the length of the object."
    return ObsError(409, "PositionNotEqualToLength", message, headers=headers)
