"""The logs of all workers of a run as one, in a file for as long as somebody looks at it. For worker threads."""

from __future__ import annotations

import heapq
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from traindeck.runtime.blocking import CancelToken
from traindeck.runtime.files import local_errors, our_opener
from traindeck.services.logs.log_files import LogFile
from traindeck.services.logs.mark_words import mark_words

_AT_ONCE = 2 << 20
_MOST_BEGIN = 120
_TIME = re.compile(rb"(\d{4})[-/](\d\d)[-/](\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,:](\d{1,6}))?")
_LATEST = b"~"

Timed = tuple[bytes, int, bytes]
"""What a line says of its time, which worker it is of, and the line."""


class _Worker:
    """How far its log is in."""

    def __init__(self, number: int, name: str, file: LogFile) -> None:
        self._number, self._file = number, file
        self._front = f"{name} │ ".encode()
        self._offset = 0
        self._rest = b""
        self._time = b""
        self._generation = file.notes().generation
        self.waiting: list[Timed] = []
        self.has_more = True
        self.tells_time = False
        self.size = 0

    def read(self, *, is_over: bool) -> None:
        """The next lines that are whole; with the last one, if no more will come."""
        data, begin = self._file.read(self._offset, _AT_ONCE), self._offset
        self._offset += len(data)
        self.size = self._offset
        self.has_more = len(data) == _AT_ONCE
        for mark in reversed([mark for mark in self._file.marks() if begin <= mark.offset < self._offset]):
            # A line of our own among them: there is no other place in this file to say it.
            at = mark.offset - begin
            data = data[:at] + b"\n" * (at > 0 and data[at - 1] != 10) + f"{mark_words(mark)}\n".encode() + data[at:]
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > _AT_ONCE or (is_over and self._rest and not self.has_more):
            lines, self._rest = [*lines, self._rest], b""
        for line in lines:
            found = _TIME.search(line[:_MOST_BEGIN])
            if found is not None:
                # A worker keeps its order, whatever it says; a line without a time goes with the one before.
                self._time = max(self._time, b"".join(part or b"" for part in found.groups()))
                self.tells_time = True
            # What is written over the line itself stands behind the name, too: the last of it is what is seen.
            words = line.rstrip(b"\r").replace(b"\r", b"\r" + self._front)
            self.waiting.append((self._time, self._number, self._front + words + b"\n"))

    def ready(self, until: bytes) -> list[Timed]:
        """Those that no other line can come before."""
        count = sum(one[0] <= until for one in self.waiting)
        found, self.waiting = self.waiting[:count], self.waiting[count:]
        return found

    @property
    def began_anew(self) -> bool:
        return self._file.size() < self._offset or self._file.notes().generation != self._generation


class MergedLog:
    """Lines in the order of the times they tell; what comes later is put behind, for nothing is moved any more."""

    def __init__(self, files: Mapping[str, LogFile]) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="traindeck-"))
        self.file = LogFile(self._folder / "merged.log")
        self._workers = [_Worker(number, name, file) for number, (name, file) in enumerate(files.items())]

    @property
    def size(self) -> int:
        """Bytes of all the logs that are in it."""
        return sum(worker.size for worker in self._workers)

    @property
    def is_by_time(self) -> bool:
        """At least two tell times; else lines are in the order in which they came."""
        return sum(worker.tells_time for worker in self._workers) > 1

    def take(self, token: CancelToken, *, is_over: bool) -> bool:
        """Add what has come; whether there is more. `is_over`: no more will come than is there."""
        for worker in self._workers:
            token.check()
            if not worker.waiting:
                worker.read(is_over=is_over)
        # Behind the last line of one that has more there may be others of its that are earlier than those of the rest.
        unsure = [worker.waiting[-1][0] for worker in self._workers if worker.has_more and worker.waiting]
        parts = [worker.ready(min(unsure, default=_LATEST)) for worker in self._workers]
        with local_errors(self.file.path), open(self.file.path, "ab", opener=our_opener) as file:
            file.writelines(line for _, _, line in heapq.merge(*parts))
        return any(worker.has_more or worker.waiting for worker in self._workers)

    @property
    def began_anew(self) -> bool:
        """One of the logs did: what is in the file is no longer true."""
        return any(worker.began_anew for worker in self._workers)

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
