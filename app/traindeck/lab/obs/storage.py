"""The index and the body files as one thing that is changed whole or not at all."""

from __future__ import annotations

import errno
import re
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from traindeck.lab.obs import index as rows
from traindeck.lab.obs.bodies import FULL, BodyFiles, Reserve
from traindeck.lab.obs.errors import NoSuchBucket, QuotaExceeded, StorageFull
from traindeck.lab.obs.index import ObjectIndex, forget_discarded, note_discarded
from traindeck.lab.obs.records import ENABLED, NO_BODY, BucketInfo, ObjectInfo, VersionEntry

_NO_ROOM = FULL | {errno.EFBIG}


@dataclass
class Change:
    """One transaction of the index; the bodies it discards are removed once it is committed."""

    connection: sqlite3.Connection
    storage: Storage
    discarded: list[int] = field(default_factory=list)
    after: list[Callable[[], None]] = field(default_factory=list)

    def bucket(self, name: str) -> BucketInfo:
        return self.storage.existing(name)

    def discard(self, body: int) -> None:
        self.discarded.append(body)

    def refresh(self, name: str) -> None:
        """The bucket was changed: what is remembered of it is read anew."""
        fresh = rows.bucket_row(self.connection, name)
        self.after.append(lambda: self.storage.remember(name, fresh))


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
        with self.index.reading() as connection:
            self._buckets = {bucket.name: bucket for bucket in rows.all_bucket_rows(connection)}

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

    def remember(self, name: str, bucket: BucketInfo | None) -> None:
        if bucket:
            self._buckets[name] = bucket
        else:
            self._buckets.pop(name, None)

    @contextmanager
    def changing(self) -> Iterator[Change]:
        after: list[Callable[[], None]] = []
        self._reserve.give_up_if_low()
        with full_disk_told(), self.index.writing(after) as connection:
            change = Change(connection, self, after=after)
            yield change
            for body in change.discarded:
                note_discarded(connection, body)
            if change.discarded:
                forget_discarded(connection, self.bodies.take_removed())
        self.bodies.remove(change.discarded)


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


def now_ms() -> int:
    return time.time_ns() // 1_000_000


NULL = "null"
_VERSION = re.compile(r"([0-9A-F]{16})[0-9A-F]{16}")


def place(change: Change, bucket: BucketInfo, old: ObjectInfo | None, info: ObjectInfo) -> ObjectInfo:
    """Make `info` the current object; the versioning of the bucket decides about the one before it."""
    key = info.key.encode("utf-8")
    check_quota(change, bucket, old, info.size)
    placed = info
    if not bucket.versioning:
        if old:
            change.discard(old.body)
    else:
        placed = replace(info, sequence=_sequence(change, bucket, key, old))
        if bucket.versioning == ENABLED:
            placed = replace(placed, version=_new_version(placed.sequence))
        _set_aside(change, bucket, key, old)
    rows.replace_object(change.connection, bucket, placed)
    return placed


def remove(change: Change, bucket: BucketInfo, key: str) -> ObjectInfo | None:
    """Delete the object; where versions are kept, what comes back is the marker that now hides it."""
    encoded = key.encode("utf-8")
    old = rows.object_row(change.connection, bucket, encoded)
    if not bucket.versioning:
        if old:
            rows.delete_object_row(change.connection, bucket, encoded)
            change.discard(old.body)
        return None
    sequence = _sequence(change, bucket, encoded, old)
    _set_aside(change, bucket, encoded, old)
    if old:
        rows.delete_object_row(change.connection, bucket, encoded)
    version = _new_version(sequence) if bucket.versioning == ENABLED else ""
    marker = ObjectInfo(key, 0, "", now_ms(), "", {}, {}, NO_BODY, version, sequence, is_marker=True)
    rows.insert_version(change.connection, bucket, marker)
    return marker


def remove_version(change: Change, bucket: BucketInfo, key: str, version: str) -> ObjectInfo | None:
    """Delete one version for good; the newest of the rest becomes the object."""
    encoded = key.encode("utf-8")
    current = rows.object_row(change.connection, bucket, encoded)
    if current and current.version == version:
        rows.delete_object_row(change.connection, bucket, encoded)
        change.discard(current.body)
        found: ObjectInfo | None = current
        current = None
    else:
        found = rows.version_row(change.connection, bucket, encoded, version)
        if found is None:
            return None
        rows.delete_version_row(change.connection, bucket, found)
        if not found.is_marker:
            change.discard(found.body)
    if current is None:
        newest = rows.newest_version(change.connection, bucket, encoded)
        if newest and not newest.is_marker:
            rows.delete_version_row(change.connection, bucket, newest)
            rows.replace_object(change.connection, bucket, newest)
    return found


def older(entries: Sequence[VersionEntry], version: str) -> list[VersionEntry]:
    """Those of one key behind this version, which may have been deleted since it was the last of a page."""
    known = [entry.info.version for entry in entries]
    if version in known:
        return list(entries[known.index(version) + 1 :])
    told = _VERSION.fullmatch(version)
    # The null version does not tell when it was made: rather twice in a listing than never.
    return [entry for entry in entries if told is None or entry.info.sequence < int(told[1], 16)]


def check_quota(change: Change, bucket: BucketInfo, old: ObjectInfo | None, size: int) -> None:
    """Raise where `size` more bytes, less those of the object they replace, are too many."""
    quota = int(bucket.settings.get("quota") or 0)
    if quota:
        used, _ = rows.used_bytes(change.connection, bucket)
        freed = old.size if old and not bucket.versioning else 0
        if used - freed + size > quota:
            raise QuotaExceeded


def _set_aside(change: Change, bucket: BucketInfo, key: bytes, old: ObjectInfo | None) -> None:
    if old and (old.version or bucket.versioning == ENABLED):
        rows.insert_version(change.connection, bucket, old)
    elif old:
        change.discard(old.body)
    if bucket.versioning == ENABLED:
        return
    # There is one null version at most: the one that comes takes its place.
    null = rows.version_row(change.connection, bucket, key, "")
    if null:
        rows.delete_version_row(change.connection, bucket, null)
        if not null.is_marker:
            change.discard(null.body)


def _sequence(change: Change, bucket: BucketInfo, key: bytes, old: ObjectInfo | None) -> int:
    """Rises with every version of a key, even where the clock goes back."""
    newest = rows.newest_version(change.connection, bucket, key)
    return max([time.time_ns(), *(one.sequence + 1 for one in (old, newest) if one)])


def _new_version(sequence: int) -> str:
    return f"{sequence:016X}{secrets.token_hex(8).upper()}"
