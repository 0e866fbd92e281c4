"""The index and the files of bodies, which have numbers for names, as one thing that is changed whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import re
import secrets
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from io import FileIO
from pathlib import Path
from typing import BinaryIO

from traindeck.lab.obs.errors import NoSuchBucket, QuotaExceeded, StorageFull
from traindeck.lab.obs.index import OBJECTS, VERSIONS, ObjectIndex, Rows
from traindeck.lab.obs.locks import check_unlocked, usual_end_ms
from traindeck.lab.obs.records import ENABLED, NO_BODY, Attributes, BucketInfo, ObjectInfo, Traits, VersionEntry, now_ms
from traindeck.lab.obs.sealing import Seal, Unsealed, sealed_etag
from traindeck.runtime.crc import crc64

_log = logging.getLogger(__name__)
_FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}
_NO_ROOM = _FULL | {errno.EFBIG}
_VERSION = re.compile(r"([0-9A-F]{16})[0-9A-F]{16}")
_COPY_BLOCK = 1 << 20
PLAIN = Attributes()

# Looks at the object as it is in the moment of replacement, and raises to keep it.
Condition = Callable[[ObjectInfo | None], None]

# Files per folder; a block of numbers is also what one index transaction reserves.
BLOCK = 1000
# The index may write this much before it reuses the room of its journal.
SIZE = 8 << 20
LOW = 1 << 20


class Reserve:
    """A file without meaning: every deletion is written down first, and takes room before it gives some."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._is_held = path.exists() and path.stat().st_size == SIZE

    def hold(self) -> None:
        """Keep the room back; an OSError tells that there is none."""
        with self._lock:
            # Taken twice, it would be given back and might not be had again.
            if self._is_held:
                return
            try:
                with self._path.open("wb") as file:
                    if hasattr(os, "posix_fallocate"):
                        os.posix_fallocate(file.fileno(), 0, SIZE)
                    else:
                        file.write(bytes(SIZE))
            except OSError as error:
                self._path.unlink(missing_ok=True)
                # Where a file cannot be this large for another reason, the Lab goes without.
                if error.errno in _FULL:
                    raise
            self._is_held = True

    def give_up_if_low(self) -> None:
        """Give the room to whoever writes next, where little else is left."""
        if self._is_held and shutil.disk_usage(self._path.parent).free < LOW:
            with self._lock:
                self._is_held = False
                self._path.unlink(missing_ok=True)


class BodyFiles:
    """Gives out body files, removes those nobody needs, and at the start those a killed Lab left.

    A number is reserved in the index before its file exists, so a leftover is always found among few numbers,
    without comparing the whole folder with the whole index.
    """

    def __init__(self, folder: Path, index: ObjectIndex, reserve: Reserve) -> None:
        self._folder = folder
        self._index = index
        self._reserve = reserve
        self._lock = threading.Lock()
        self._removed: list[int] = []
        self._stuck: set[int] = set()
        self._open_numbers = 0
        folder.mkdir(exist_ok=True)
        self._next = self._swept()
        self._limit = self._next

    def path(self, number: int) -> Path:
        return self._folder / f"{number // BLOCK:06d}" / f"{number % BLOCK:03d}"

    def create(self) -> tuple[int, FileIO]:
        self._reserve.hold()
        with self._lock:
            if self._next == self._limit:
                self._reserve_block()
            number = self._next
            self._next += 1
            self._open_numbers += 1
        try:
            return number, FileIO(self.path(number), "xb")
        except BaseException:
            self.settle()
            raise

    def settle(self) -> None:
        """A number given out is now in the index, or its file is gone."""
        with self._lock:
            self._open_numbers -= 1

    def remove(self, numbers: Iterable[int]) -> None:
        """Remove bodies the index has noted as discarded, and try again those that were held open before."""
        with self._lock:
            wanted = [*numbers, *self._stuck]
            self._stuck.clear()
        for number in wanted:
            # Windows refuses to remove a file somebody reads, and disks fail: its turn comes with a later removal or
            # the next start. What took its place is in the index by now and must not pay for it.
            if self._unlinked(number):
                self._removed.append(number)
            else:
                with self._lock:
                    self._stuck.add(number)

    def take_removed(self) -> list[int]:
        """Numbers whose note in the index can go, to be forgotten in the caller's transaction."""
        taken = self._removed[:BLOCK]
        del self._removed[: len(taken)]
        return taken

    def close(self) -> None:
        with self._lock, self._index.writing() as rows:
            rows.forget_discarded(self._removed)
            if not self._open_numbers:
                rows.set_body_numbers(self._next, self._next)

    def _reserve_block(self) -> None:
        limit = (self._next // BLOCK + 1) * BLOCK
        self.path(self._next).parent.mkdir(exist_ok=True)
        with self._index.writing() as rows:
            settled, _ = rows.body_numbers()
            rows.set_body_numbers(settled, limit)
        self._limit = limit

    def _swept(self) -> int:
        with self._index.writing() as rows:
            settled, reserved = rows.body_numbers()
            known = rows.bodies_from(settled) if settled < reserved else set()
            leftovers = [number for number in range(settled, reserved) if number not in known]
            noted = rows.discarded_bodies()
            stuck = [number for number in (*leftovers, *noted) if not self._unlinked(number)]
            rows.forget_discarded(set(noted).difference(stuck))
            if not set(stuck).difference(noted):
                rows.set_body_numbers(reserved, reserved)
        return reserved

    def _unlinked(self, number: int) -> bool:
        try:
            self.path(number).unlink(missing_ok=True)
        except OSError as error:
            _log.info("the body %s cannot be removed yet: %s", number, error)
            return False
        return True


@dataclass
class Change(Rows):
    """One transaction of the index; the bodies it discards are removed once it is committed."""

    discarded: list[int] = field(default_factory=list)

    def place(self, bucket: BucketInfo, old: ObjectInfo | None, info: ObjectInfo) -> ObjectInfo:
        """Make `info` the current object; the versioning of the bucket decides about the one before it."""
        self.check_quota(bucket, old, info.size)
        if not info.traits.locked_until_ms and (end_ms := usual_end_ms(bucket, info.modified_ms)):
            info = replace(info, traits=replace(info.traits, locked_until_ms=end_ms))
        if bucket.versioning:
            sequence = self._sequence(bucket, info.key, old)
            info = replace(info, sequence=sequence, version=_new_version(bucket, sequence))
            self._set_aside(bucket, info.key, old)
        elif old:
            self.discarded.append(old.body)
        self.keep(OBJECTS, bucket, info)
        return info

    def remove(self, bucket: BucketInfo, key: str) -> ObjectInfo | None:
        """Delete the object; where versions are kept, what comes back is the marker that now hides it."""
        old = self.current(bucket, key)
        if old:
            self.delete_object(bucket, key)
        if not bucket.versioning:
            self.discarded += [old.body] if old else []
            return None
        sequence = self._sequence(bucket, key, old)
        self._set_aside(bucket, key, old)
        version = _new_version(bucket, sequence)
        marker = ObjectInfo(key, 0, "", now_ms(), "", {}, {}, NO_BODY, version, sequence, is_marker=True)
        self.keep(VERSIONS, bucket, marker)
        return marker

    def remove_version(self, bucket: BucketInfo, key: str, version: str) -> ObjectInfo | None:
        """Delete one version for good; the newest of the rest becomes the object."""
        current = self.current(bucket, key)
        if current and current.version == version:
            check_unlocked(current.traits, now_ms())
            self.delete_object(bucket, key)
            self.discarded.append(current.body)
            found: ObjectInfo | None = current
            current = None
        else:
            found = self._without_version(bucket, key, version)
        if found and current is None:
            newest = self.newest_version(bucket, key)
            if newest and not newest.is_marker:
                self.delete_version(bucket, newest)
                self.keep(OBJECTS, bucket, newest)
        return found

    def check_quota(self, bucket: BucketInfo, old: ObjectInfo | None, size: int) -> None:
        """Raise where `size` more bytes, less those of the object they replace, are too many."""
        quota = int(bucket.settings.get("quota") or 0)
        if quota:
            used, _ = self.used_bytes(bucket)
            freed = old.size if old and not bucket.versioning else 0
            if used - freed + size > quota:
                raise QuotaExceeded

    def _set_aside(self, bucket: BucketInfo, key: str, old: ObjectInfo | None) -> None:
        if old and (old.version or bucket.versioning == ENABLED):
            self.keep(VERSIONS, bucket, old)
        elif old:
            self.discarded.append(old.body)
        # There is one null version at most: the one that comes takes its place.
        if bucket.versioning != ENABLED:
            self._without_version(bucket, key, "")

    def _without_version(self, bucket: BucketInfo, key: str, version: str) -> ObjectInfo | None:
        """What was that older version, gone now."""
        found = self.version(bucket, key, version)
        if found:
            check_unlocked(found.traits, now_ms())
            self.delete_version(bucket, found)
            self.discarded += [] if found.is_marker else [found.body]
        return found

    def _sequence(self, bucket: BucketInfo, key: str, old: ObjectInfo | None) -> int:
        """Rises with every version of a key, even where the clock goes back."""
        newest = self.newest_version(bucket, key)
        return max([time.time_ns(), *(one.sequence + 1 for one in (old, newest) if one)])


class Storage:
    """Owns the folder `obs` of a root, and remembers its buckets."""

    def __init__(self, root: Path) -> None:
        folder = root / "obs"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.index = ObjectIndex(folder / "index.sqlite3")
        self._reserve = Reserve(folder / "reserve")
        try:
            # A Lab on a full disk starts all the same: only then can it be emptied.
            with suppress(OSError):
                self._reserve.hold()
            self._reserve.give_up_if_low()
            self.bodies = BodyFiles(folder / "bodies", self.index, self._reserve)
        except BaseException:
            self.index.close()
            raise
        self._is_open = True
        with self.index.reading() as rows:
            self._buckets = {bucket.name: bucket for bucket in rows.buckets()}

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self.bodies.close()
            self.index.close()

    def bucket(self, name: str) -> BucketInfo | None:
        return self._buckets.get(name)

    def buckets(self, owner: str) -> list[BucketInfo]:
        found = [bucket for bucket in list(self._buckets.values()) if bucket.owner == owner]
        return sorted(found, key=lambda bucket: bucket.name)

    def existing(self, name: str) -> BucketInfo:
        bucket = self._buckets.get(name)
        if bucket is None:
            raise NoSuchBucket(name)
        return bucket

    @contextmanager
    def changing(self, altered: str = "") -> Iterator[Change]:
        """A transaction; the bucket that it alters, where one is named, is remembered as it is then."""
        after: list[Callable[[], None]] = []
        self._reserve.give_up_if_low()
        with full_disk_told(), self.index.writing(after) as rows:
            change = Change(rows.connection)
            yield change
            for body in change.discarded:
                change.note_discarded(body)
            if change.discarded:
                change.forget_discarded(self.bodies.take_removed())
            if altered:
                after.append(partial(self._remember, altered, change.bucket(altered)))
        self.bodies.remove(change.discarded)

    def new_body(self, seal: Seal | None = None) -> BodyWriter:
        """A body still without a key; leaving its `with` block without a commit discards it."""
        with full_disk_told():
            return BodyWriter(self, *self.bodies.create(), seal)

    def _remember(self, name: str, bucket: BucketInfo | None) -> None:
        if bucket:
            self._buckets[name] = bucket
        else:
            self._buckets.pop(name, None)


class BodyWriter:
    """Bytes on their way in: hashed while written, then committed under a key or discarded."""

    def __init__(self, storage: Storage, number: int, file: FileIO, seal: Seal | None = None) -> None:
        self._storage = storage
        self._seal = seal
        # Sees what is copied, before it is sealed.
        self.watch: Callable[[bytes], None] | None = None
        self._number = number
        self._file = file
        self._is_open = True
        self._md5 = hashlib.md5(usedforsecurity=False)
        self.crc64 = 0
        self.size = 0

    @property
    def md5(self) -> bytes:
        return self._md5.digest()

    @property
    def nonce(self) -> str:
        return self._seal.nonce if self._seal else ""

    def etag(self, traits: Traits) -> str:
        return sealed_etag(self.md5) if traits.is_encrypted else self.md5.hex()

    def write(self, data: bytes) -> None:
        self.digest([data])
        self.keep_bytes([data])

    def digest(self, block: Sequence[bytes]) -> None:
        """The hashing half of `write`; the halves may run side by side, each block after block."""
        for piece in block:
            self._md5.update(piece)
            self.crc64 = crc64(piece, self.crc64)

    def keep_bytes(self, block: Sequence[bytes]) -> None:
        """The writing half of `write`."""
        with full_disk_told():
            for piece in block:
                left = memoryview(self._seal.encrypt(piece) if self._seal else piece)
                while left:
                    # A raw file may take a part only, at the end of a disk for example.
                    written = self._file.write(left) or 0
                    left = left[written:]
                self.size += len(piece)

    def take_from(self, source: BinaryIO | Unsealed, length: int | None = None) -> None:
        """Copy from a file: `length` bytes, or to its end."""
        left = length
        while left is None or left > 0:
            block = source.read(_COPY_BLOCK if left is None else min(_COPY_BLOCK, left))
            if not block:
                return
            self.write(block)
            if self.watch:
                self.watch(block)
            left = None if left is None else left - len(block)

    def add_to(self, body: int, size: int) -> None:
        """Copy what was written behind the first `size` bytes of another body, and whatever a killed Lab left there."""
        path = self._storage.bodies.path
        with full_disk_told(), path(body).open("r+b") as target, path(self._number).open("rb") as source:
            target.truncate(size)
            target.seek(size)
            while block := source.read(_COPY_BLOCK):
                target.write(block)

    def info(self, key: str, attributes: Attributes) -> ObjectInfo:
        """The object that the body will be, complete on disk."""
        said = (attributes.content_type, dict(attributes.metadata), dict(attributes.headers))
        etag = self.etag(attributes.traits)
        traits, crc64 = attributes.traits, str(self.crc64)
        return ObjectInfo(key, self.size, etag, now_ms(), *said, self.closed(), traits=traits, crc64=crc64)

    def commit(
        self, bucket: str, key: str, attributes: Attributes = PLAIN, *, condition: Condition | None = None
    ) -> ObjectInfo:
        info = self.info(key, attributes)
        with self._storage.changing() as change:
            found = self._storage.existing(bucket)
            old = change.current(found, key)
            if condition:
                condition(old)
            placed = change.place(found, old, info)
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
        self._storage.bodies.settle()

    def discard(self) -> None:
        if self._is_open:
            self._is_open = False
            self._file.close()
            self._storage.bodies.path(self._number).unlink(missing_ok=True)
            self._storage.bodies.settle()

    def __enter__(self) -> BodyWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()


@contextmanager
def full_disk_told() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise StorageFull from error
        raise
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_FULL:
            raise StorageFull from error
        raise


def older(entries: Sequence[VersionEntry], version: str) -> list[VersionEntry]:
    """Those of one key behind this version, which may have been deleted since it was the last of a page."""
    known = [entry.info.version for entry in entries]
    if version in known:
        return list(entries[known.index(version) + 1 :])
    told = _VERSION.fullmatch(version)
    # The null version does not tell when it was made: rather twice in a listing than never.
    return [entry for entry in entries if told is None or entry.info.sequence < int(told[1], 16)]


def _new_version(bucket: BucketInfo, sequence: int) -> str:
    """The null version has none."""
    return f"{sequence:016X}{secrets.token_hex(8).upper()}" if bucket.versioning == ENABLED else ""
