"""The object store behind the Lab's OBS: buckets, whole objects, listings; blocking, safe for threads."""

from __future__ import annotations

import errno
import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Protocol

from traindeck.lab.obs import index as index_rows
from traindeck.lab.obs import listing as object_listing
from traindeck.lab.obs.bodies import BodyFiles
from traindeck.lab.obs.errors import (
    BodyLost,
    BucketAlreadyExists,
    BucketAlreadyOwnedByYou,
    BucketNotEmpty,
    NoSuchBucket,
    NoSuchKey,
    StorageFull,
)
from traindeck.lab.obs.index import BucketInfo, ObjectIndex, ObjectInfo
from traindeck.lab.obs.listing import Listing
from traindeck.lab.obs.names import checked_bucket_name, key_bytes, text_bytes

__all__ = ["BodyWriter", "BucketInfo", "Listing", "ObjectInfo", "ObjectStore"]

DEFAULT_CONTENT_TYPE = "binary/octet-stream"
COPY_BLOCK = 1 << 20
_NOTHING: Mapping[str, str] = {}
_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}

# Looks at the object as it is in the moment of replacement, and raises to keep it.
Condition = Callable[[ObjectInfo | None], None]


class Digest(Protocol):
    """What hashlib's objects offer."""

    def update(self, data: bytes, /) -> None: ...
    def digest(self) -> bytes: ...
    def hexdigest(self) -> str: ...


class ObjectStore:
    """Owns the folder `obs` of a root. An object is there whole or not at all, whenever the process is killed.

    Order of a write: body file complete, then one index transaction, then the old body removed.
    """

    def __init__(self, root: Path) -> None:
        folder = root / "obs"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._index = ObjectIndex(folder / "index.sqlite3")
        try:
            self._bodies = BodyFiles(folder / "bodies", self._index)
        except BaseException:
            self._index.close()
            raise
        self._is_open = True

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._bodies.close()
            self._index.close()

    def create_bucket(self, name: str, owner: str) -> BucketInfo:
        checked_bucket_name(name)
        with _full_disk_told(), self._index.writing() as connection:
            present = index_rows.bucket_row(connection, name)
            if present:
                raise BucketAlreadyOwnedByYou(name) if present.owner == owner else BucketAlreadyExists(name)
            index_rows.insert_bucket(connection, name, owner, _now_ms())
            return _existing(connection, name)

    def delete_bucket(self, name: str) -> None:
        with _full_disk_told(), self._index.writing() as connection:
            bucket = _existing(connection, name)
            if index_rows.holds_objects(connection, bucket):
                raise BucketNotEmpty(name)
            index_rows.delete_bucket_row(connection, bucket)

    def bucket(self, name: str) -> BucketInfo | None:
        with self._index.reading() as connection:
            return index_rows.bucket_row(connection, name)

    def buckets(self, owner: str) -> list[BucketInfo]:
        with self._index.reading() as connection:
            return index_rows.bucket_rows(connection, owner)

    def put(
        self,
        bucket: str,
        key: str,
        body: bytes,
        *,
        content_type: str = DEFAULT_CONTENT_TYPE,
        metadata: Mapping[str, str] = _NOTHING,
        headers: Mapping[str, str] = _NOTHING,
        condition: Condition | None = None,
    ) -> ObjectInfo:
        with self.new_body() as writer:
            writer.write(body)
            return writer.commit(
                bucket, key, content_type=content_type, metadata=metadata, headers=headers, condition=condition
            )

    def put_file(
        self,
        bucket: str,
        key: str,
        path: Path,
        *,
        content_type: str = DEFAULT_CONTENT_TYPE,
        metadata: Mapping[str, str] = _NOTHING,
        headers: Mapping[str, str] = _NOTHING,
        condition: Condition | None = None,
    ) -> ObjectInfo:
        with self.new_body() as writer, path.open("rb") as source:
            while block := source.read(COPY_BLOCK):
                writer.write(block)
            return writer.commit(
                bucket, key, content_type=content_type, metadata=metadata, headers=headers, condition=condition
            )

    def new_body(self) -> BodyWriter:
        """A body still without a key; leaving its `with` block without a commit discards it."""
        with _full_disk_told():
            number, file = self._bodies.create()
        return BodyWriter(self, number, file)

    def info(self, bucket: str, key: str) -> ObjectInfo | None:
        encoded = key_bytes(key)
        with self._index.reading() as connection:
            return index_rows.object_row(connection, _existing(connection, bucket), encoded)

    def open(self, bucket: str, key: str) -> tuple[ObjectInfo, BinaryIO]:
        """The object and its bytes as they are now; a later PUT or DELETE does not change what is read."""
        missed: int | None = None
        while True:
            info = self.info(bucket, key)
            if info is None:
                raise NoSuchKey(key)
            try:
                file = self._bodies.path(info.body).open("rb")
            except FileNotFoundError:
                if missed == info.body:
                    raise BodyLost(key) from None
                # Replaced between the two steps: the index has its successor by now.
                missed = info.body
                continue
            if os.fstat(file.fileno()).st_size != info.size:
                file.close()
                raise BodyLost(key)
            return info, file

    def delete(self, bucket: str, key: str, *, condition: Condition | None = None) -> bool:
        encoded = key_bytes(key)
        with _full_disk_told(), self._index.writing() as connection:
            found = _existing(connection, bucket)
            info = index_rows.object_row(connection, found, encoded)
            if condition:
                condition(info)
            if info is None:
                return False
            index_rows.delete_object_row(connection, found, encoded)
            self._note_discarded(connection, info.body)
        self._bodies.remove([info.body])
        return True

    def listing(
        self, bucket: str, prefix: str = "", marker: str = "", delimiter: str = "", max_keys: int = 1000
    ) -> Listing:
        with self._index.reading() as connection:
            found = _existing(connection, bucket)

            def rows(start: bytes, after: bool, end: bytes | None) -> Iterator[ObjectInfo]:
                return index_rows.object_rows(connection, found, start, after=after, end=end)

            texts = (text_bytes(prefix), text_bytes(marker), text_bytes(delimiter))
            return object_listing.page(rows, *texts, max_keys)

    def iterate(self, bucket: str, prefix: str = "") -> Iterator[ObjectInfo]:
        """Every object below the prefix, in pages, so that no reader holds the index for long."""
        marker = ""
        while True:
            one = self.listing(bucket, prefix, marker)
            yield from one.contents
            if not one.is_truncated:
                return
            marker = one.next_marker

    def commit_body(self, bucket: str, info: ObjectInfo, condition: Condition | None) -> None:
        """Put a complete body file under its key; for BodyWriter."""
        encoded = key_bytes(info.key)
        with _full_disk_told(), self._index.writing() as connection:
            found = _existing(connection, bucket)
            old = index_rows.object_row(connection, found, encoded)
            if condition:
                condition(old)
            index_rows.replace_object(connection, found, info)
            if old:
                self._note_discarded(connection, old.body)
        self._bodies.settle()
        if old:
            self._bodies.remove([old.body])

    def discard_body(self, number: int) -> None:
        """Remove a body that never got a key; for BodyWriter."""
        self._bodies.path(number).unlink(missing_ok=True)
        self._bodies.settle()

    def _note_discarded(self, connection: sqlite3.Connection, body: int) -> None:
        index_rows.note_discarded(connection, body)
        index_rows.forget_discarded(connection, self._bodies.take_removed())


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

    def write(self, data: bytes | memoryview) -> None:
        self._md5.update(bytes(data) if isinstance(data, memoryview) else data)
        left = memoryview(data)
        with _full_disk_told():
            while left:
                # A raw file may take a part only, at the end of a disk for example.
                written = self._file.write(left) or 0
                left = left[written:]
        self.size += len(data)

    def commit(
        self,
        bucket: str,
        key: str,
        *,
        content_type: str = DEFAULT_CONTENT_TYPE,
        metadata: Mapping[str, str] = _NOTHING,
        headers: Mapping[str, str] = _NOTHING,
        condition: Condition | None = None,
    ) -> ObjectInfo:
        with _full_disk_told():
            self._file.close()
        info = ObjectInfo(
            key=key,
            size=self.size,
            etag=self._md5.hexdigest(),
            modified_ms=_now_ms(),
            content_type=content_type,
            metadata=dict(metadata),
            headers=dict(headers),
            body=self._number,
        )
        self._store.commit_body(bucket, info, condition)
        self._is_open = False
        return info

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


def _existing(connection: sqlite3.Connection, name: str) -> BucketInfo:
    bucket = index_rows.bucket_row(connection, name)
    if bucket is None:
        raise NoSuchBucket(name)
    return bucket


@contextmanager
def _full_disk_told() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise StorageFull from error
        raise
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_FULL:
            raise StorageFull from error
        raise


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
