"""The files that hold the bytes of objects, named by number, never by key."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import threading
from collections.abc import Iterable
from io import FileIO
from pathlib import Path

from traindeck.lab.obs.index import (
    ObjectIndex,
    bodies_from,
    body_numbers,
    discarded_bodies,
    forget_discarded,
    set_body_numbers,
)

# The index may write this much before it reuses the room of its journal.
SIZE = 8 << 20
LOW = 1 << 20
FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}


class Reserve:
    """A file without meaning: every deletion is written down first, and takes room before it gives some."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._is_held = path.exists() and path.stat().st_size == SIZE

    def hold(self) -> None:
        """Keep the room back; an OSError tells that there is none."""
        if self._is_held:
            return
        with self._lock:
            # Taken twice, it would be given back and might not be had again.
            if self._is_held:
                return
            try:
                self._take()
            except OSError as error:
                self._path.unlink(missing_ok=True)
                # Where a file cannot be this large for another reason, the Lab goes without.
                if error.errno in FULL:
                    raise
            self._is_held = True

    def give_up_if_low(self) -> None:
        """Give the room to whoever writes next, where little else is left."""
        if self._is_held and shutil.disk_usage(self._path.parent).free < LOW:
            self.give_up()

    def give_up(self) -> None:
        with self._lock:
            self._is_held = False
            self._path.unlink(missing_ok=True)

    def _take(self) -> None:
        with self._path.open("wb") as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, SIZE)
            else:
                file.write(bytes(SIZE))


# Files per folder; a block of numbers is also what one index transaction reserves.
BLOCK = 1000

_log = logging.getLogger(__name__)


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
        with self._lock, self._index.writing() as connection:
            forget_discarded(connection, self._removed)
            if not self._open_numbers:
                set_body_numbers(connection, self._next, self._next)

    def _reserve_block(self) -> None:
        limit = (self._next // BLOCK + 1) * BLOCK
        self.path(self._next).parent.mkdir(exist_ok=True)
        with self._index.writing() as connection:
            settled, _ = body_numbers(connection)
            set_body_numbers(connection, settled, limit)
        self._limit = limit

    def _swept(self) -> int:
        with self._index.writing() as connection:
            settled, reserved = body_numbers(connection)
            known = bodies_from(connection, settled) if settled < reserved else set()
            leftovers = [number for number in range(settled, reserved) if number not in known]
            noted = discarded_bodies(connection)
            stuck = [number for number in (*leftovers, *noted) if not self._unlinked(number)]
            forget_discarded(connection, set(noted).difference(stuck))
            if not set(stuck).difference(noted):
                set_body_numbers(connection, reserved, reserved)
        return reserved

    def _unlinked(self, number: int) -> bool:
        try:
            self.path(number).unlink(missing_ok=True)
        except OSError as error:
            _log.info("the body %s cannot be removed yet: %s", number, error)
            return False
        return True
