"""A log of which nothing more can be written down: what is on the disk, and behind it in memory what came since."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from traindeck.domain.errors import LocalTrouble
from traindeck.domain.texts import text
from traindeck.services.logs.log_files import LogFile
from traindeck.services.logs.log_notes import LogNotes

MOST_BYTES = 64 << 20


class UnwrittenLog(LogFile):
    """For those who look at it, while the disk takes nothing; gone with the program."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._lock = threading.RLock()
        self._on_disk = super().size()
        self._behind = bytearray()
        self._noted = super().notes()

    def size(self) -> int:
        return self._on_disk + len(self._behind)

    def read(self, offset: int, max_bytes: int = -1) -> bytes:
        with self._lock:
            end = self.size() if max_bytes < 0 else min(self.size(), offset + max_bytes)
            written = super().read(offset, min(end, self._on_disk) - offset) if offset < self._on_disk else b""
            return written + bytes(self._behind[max(0, offset - self._on_disk) : max(0, end - self._on_disk)])

    def notes(self) -> LogNotes:
        return self._noted

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self._lock:
            yield

    def note(self, notes: LogNotes) -> None:
        self._noted = notes

    def append(self, fresh: bytes) -> int:
        if len(self._behind) + len(fresh) > MOST_BYTES:
            raise LocalTrouble(
                text("More of this log came than fits into memory while nothing can be written."),
                text("Make room on the disk. Then the rest is downloaded."),
            )
        self._behind += fresh
        return len(fresh)

    def cut(self, size: int) -> None:
        self._on_disk = min(self._on_disk, size)
        del self._behind[size - self._on_disk :]

    def name_aside(self) -> str:
        return ""

    def set_aside(self, name: str) -> None:
        self._on_disk = 0
        self._behind.clear()
