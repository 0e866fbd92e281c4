"""The index and the body files as one thing that is changed whole or not at all."""

from __future__ import annotations

import errno
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from traindeck.lab.obs import rows
from traindeck.lab.obs.bodies import BodyFiles
from traindeck.lab.obs.errors import NoSuchBucket, StorageFull
from traindeck.lab.obs.index import ObjectIndex, forget_discarded, note_discarded
from traindeck.lab.obs.records import BucketInfo
from traindeck.lab.obs.reserve import FULL, Reserve

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
