"""Room on the disk kept back from bodies, so that a full disk can still be emptied."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from pathlib import Path

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
