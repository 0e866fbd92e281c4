"""One worker's log on this disk: its bytes, and where they are not the service's own. For worker threads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from traindeck.domain.jobs.job import LogChunk
from traindeck.domain.texts import text
from traindeck.runtime.files import alone_with, local_errors, our_opener, write_whole

LOCK_S = 10.0
# Read once more in front of new bytes, to see that they continue what is held.
OVERLAP_BYTES = 1024
_NOT_ASCII = bytes(range(0x80, 0x100))
_REPAIRED = "\ufffd".encode()


@dataclass(frozen=True, slots=True)
class Gap:
    """Bytes the service no longer had when we asked, missing before this place of the file."""

    offset: int
    missing: int


@dataclass(frozen=True, slots=True)
class BytesWanted:
    """The service's own bytes are needed from here on; the first `overlap` of them are held already."""

    start: int
    overlap: int


@dataclass(frozen=True, slots=True)
class _Stretch:
    """`length` bytes of the file from `offset` on, in the place of `stands_for` bytes of the service."""

    offset: int
    length: int
    stands_for: int


class LogFile:
    """Only ever appended to; what the service holds under an offset is found by that offset."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._notes = path.with_name(path.name + ".json")

    def size(self) -> int:
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    def read(self, offset: int, max_bytes: int = -1) -> bytes:
        try:
            with self.path.open("rb") as file:
                file.seek(offset)
                return file.read(max_bytes)
        except FileNotFoundError:
            return b""

    def tail(self, most: int) -> str:
        """Its last whole lines."""
        start = max(0, self.size() - most)
        words = self.read(start, most).decode("utf-8", "replace")
        return words.partition("\n")[2] if start else words

    def gaps(self) -> tuple[Gap, ...]:
        return tuple(Gap(part.offset, part.stands_for) for part in self._stretches() if part.length == 0)

    def keep(self, chunk: LogChunk, *, rough: bool) -> int | BytesWanted:
        """Append what is new in a look, so many bytes; where that is not the service's own, only if `rough`."""
        with self._alone():
            held, stretches = self._held()
            seen = _seen(held, stretches)
            if chunk.full_size < seen:
                if not self._differs(chunk, held, stretches):
                    return 0  # an older look that came later
                self._set_aside()
                held, stretches, seen = 0, [], 0
            new = chunk.full_size - seen
            if new <= 0:
                return 0
            if not rough and not _has_exactly(chunk, new):
                return _wanted(held, stretches)
            noted = len(stretches)
            if new > chunk.covered:
                stretches.append(_Stretch(held, 0, new - chunk.covered))
                new = chunk.covered
            fresh = _newest(chunk, new)
            if len(fresh) != new:
                stretches.append(_Stretch(held, len(fresh), new))
            if len(stretches) > noted:
                self._note(stretches)
            return self._append(fresh)

    def wanted(self) -> BytesWanted:
        with self._alone():
            return _wanted(*self._held())

    def add(self, start: int, data: bytes) -> int:
        """Append bytes the service has from its offset `start` on; 0: none are new, or do not continue what is held."""
        with self._alone():
            held, stretches = self._held()
            seen = _seen(held, stretches)
            known = seen - start
            fresh = data[known:] if known >= 0 else b""
            common = min(known, held - _true_from(stretches))
            if not fresh or data[known - common : known] != self.read(held - common, common):
                return 0
            return self._append(fresh)

    def _append(self, fresh: bytes) -> int:
        with open(self.path, "ab", opener=our_opener) as file:
            return file.write(fresh)

    def _held(self) -> tuple[int, list[_Stretch]]:
        held, stretches = self.size(), self._stretches()
        if stretches and stretches[-1].offset + stretches[-1].length > held:
            # Noted, but a crash came before all of it was written: it is taken again.
            held = stretches.pop().offset
            with open(self.path, "ab", opener=our_opener) as file:
                file.truncate(held)
            self._note(stretches)
        return held, stretches

    def _stretches(self) -> list[_Stretch]:
        try:
            return [_Stretch(*entry) for entry in json.loads(self._notes.read_bytes())]
        except FileNotFoundError:
            return []

    def _note(self, stretches: list[_Stretch]) -> None:
        entries = [[part.offset, part.length, part.stands_for] for part in stretches]
        write_whole(self._notes, json.dumps(entries).encode())

    def _differs(self, chunk: LogChunk, held: int, stretches: list[_Stretch]) -> bool:
        """Whether a shorter log is another one; what cannot be compared is taken for the same."""
        # From here to the end the file is the service's byte for byte.
        true_from = _true_from(stretches)
        shift = _seen(held, stretches) - held
        first = max(chunk.full_size - chunk.covered, true_from + shift)
        if first >= chunk.full_size:
            return self._differs_before(chunk, stretches)
        ours = self.read(first - shift, chunk.full_size - first)
        return _differ(ours, _newest(chunk, chunk.full_size - first), exact=chunk.is_exact)

    def _differs_before(self, chunk: LogChunk, stretches: list[_Stretch]) -> bool:
        """The same in front of the first place where the file is not the service's own."""
        end = min(stretches[0].offset, chunk.full_size) if stretches else chunk.full_size
        first = chunk.full_size - chunk.covered
        if not chunk.is_exact or first >= end:
            return False
        return self.read(first, end - first) != chunk.data[: end - first]

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """The window and a command may follow the same run: one at a time."""
        busy = text("Another TrainDeck is using the log “{path}”.", path=str(self.path))
        hint = text("Close the one not responding. Nothing is lost; the log is downloaded on the next refresh.")
        with local_errors(self.path), alone_with(self.path, LOCK_S, busy, hint):
            yield

    def _set_aside(self) -> None:
        """The service began a new log: the old one is kept beside it under a number."""
        number = 1
        while (older := self.path.with_name(f"{self.path.stem}.{number}{self.path.suffix}")).exists():
            number += 1
        self.path.replace(older)
        self._notes.unlink(missing_ok=True)


def _seen(held: int, stretches: list[_Stretch]) -> int:
    """How many bytes of the service's log the file stands for."""
    return held + sum(part.stands_for - part.length for part in stretches)


def _true_from(stretches: list[_Stretch]) -> int:
    return stretches[-1].offset + stretches[-1].length if stretches else 0


def _wanted(held: int, stretches: list[_Stretch]) -> BytesWanted:
    overlap = min(OVERLAP_BYTES, held - _true_from(stretches))
    return BytesWanted(_seen(held, stretches) - overlap, overlap)


def _has_exactly(chunk: LogChunk, new: int) -> bool:
    """Whether the newest `new` bytes are in it as the service has them; a repaired character is not."""
    return new <= chunk.covered and _REPAIRED not in chunk.data[-(new + len(_REPAIRED) - 1) :]


def _newest(chunk: LogChunk, count: int) -> bytes:
    """The text of the newest `count` bytes of the service; rather a byte too much than one lost."""
    if count >= chunk.covered:
        return chunk.data
    begin = len(chunk.data) - count
    if len(chunk.data) != chunk.covered:
        # Most repaired characters are one byte at the service and three here.
        while begin > 0 and (short := count - _at_service(chunk.data[begin:])) > 0:
            begin = max(0, begin - short)
        while 0 < begin < len(chunk.data) and chunk.data[begin] & 0xC0 == 0x80:
            begin -= 1
    return chunk.data[begin:]


def _at_service(data: bytes) -> int:
    return len(data) - data.count(_REPAIRED) * (len(_REPAIRED) - 1)


def _differ(ours: bytes, theirs: bytes, *, exact: bool) -> bool:
    if exact:
        return ours != theirs
    # Every way of repairing leaves ASCII as it is; theirs may begin a little earlier.
    plain_ours, plain_theirs = (data.translate(None, _NOT_ASCII) for data in (ours, theirs))
    return not plain_theirs.endswith(plain_ours)
