"""How what the service shows of a log continues what is held of it. For worker threads."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from traindeck.domain.jobs.job import LogChunk
from traindeck.services.logs.log_notes import LogNotes, Substitute

# Read once more in front of new bytes, to see that they continue what is held.
OVERLAP_BYTES = 1024
_NOT_ASCII = bytes(range(0x80, 0x100))
_REPAIRED = "\ufffd".encode()


class LogStorage(Protocol):
    """Where the bytes go: a file of this disk, or on to whoever reads them."""

    def size(self) -> int: ...

    def read(self, offset: int, max_bytes: int = ..., /) -> bytes: ...

    def notes(self) -> LogNotes: ...

    def alone(self) -> AbstractContextManager[None]: ...

    def note(self, notes: LogNotes, /) -> None: ...

    def append(self, fresh: bytes, /) -> int: ...

    def cut(self, size: int, /) -> None: ...

    def name_aside(self) -> str: ...

    def set_aside(self, name: str, /) -> None: ...


@dataclass(frozen=True, slots=True)
class BytesWanted:
    """The service's own bytes are needed from here on; the first `overlap` of them are held already."""

    start: int
    overlap: int


@dataclass(frozen=True, slots=True)
class HeldLog:
    """Only ever appended to; what the service holds under an offset is found by that offset."""

    storage: LogStorage

    def keep(self, chunk: LogChunk, *, rough: bool) -> int | BytesWanted:
        """Append what is new in a look, so many bytes; where that is not the service's own, only if `rough`."""
        with self.storage.alone():
            held, notes = self._held()
            seen = notes.seen(held)
            if chunk.full_size < seen:
                if not self._differs(chunk, held, notes):
                    return 0  # an older look that came later
                held, notes, seen = 0, self._set_aside(notes), 0
            elif not self._continues(chunk, held, notes):
                held, notes, seen = 0, self._set_aside(notes), 0
            new = chunk.full_size - seen
            if new <= 0:
                return 0
            if not rough and not _has_exactly(chunk, new):
                return _wanted(held, notes)
            stretches = notes.stretches
            if new > chunk.covered:
                stretches = (*stretches, Substitute(held, 0, new - chunk.covered))
                new = chunk.covered
            fresh = _newest(chunk, new)
            if len(fresh) != new or _REPAIRED in fresh:
                stretches = (*stretches, Substitute(held, len(fresh), new))
            if stretches != notes.stretches:
                self.storage.note(notes.with_stretches(stretches))
            return self.storage.append(fresh)

    def wanted(self) -> BytesWanted:
        with self.storage.alone():
            return _wanted(*self._held())

    def add(self, start: int, data: bytes) -> int:
        """Append bytes the service has from its offset `start` on; 0: none are new, or do not continue what is held."""
        with self.storage.alone():
            held, notes = self._held()
            known = notes.seen(held) - start
            fresh = data[known:] if known >= 0 else b""
            common = min(known, held - notes.true_from)
            if not fresh or data[known - common : known] != self.storage.read(held - common, common):
                return 0
            return self.storage.append(fresh)

    def seen(self) -> int:
        """How many bytes of the service's log are held, or known to be missing."""
        with self.storage.alone():
            held, notes = self._held()
            return notes.seen(held)

    def ends_with(self, data: bytes) -> bool:
        with self.storage.alone():
            held, notes = self._held()
            return len(data) <= held - notes.true_from and self.storage.read(held - len(data), len(data)) == data

    def end(self, *, gone: datetime | None = None) -> None:
        """No more of it will come; `gone`: because the service had it no longer then."""
        with self.storage.alone():
            _, notes = self._held()
            said = notes.gone or (gone.isoformat() if gone else "")
            if not notes.is_whole or notes.gone != said:
                self.storage.note(replace(notes, is_whole=True, gone=said))

    def _held(self) -> tuple[int, LogNotes]:
        held, notes = self.storage.size(), self.storage.notes()
        stretches = notes.stretches
        if stretches and stretches[-1].offset + stretches[-1].length > held:
            # Noted, but a crash came before all of it was written: it is taken again.
            held = stretches[-1].offset
            self.storage.cut(held)
            notes = notes.with_stretches(stretches[:-1])
            self.storage.note(notes)
        return held, notes

    def _set_aside(self, notes: LogNotes) -> LogNotes:
        """The service began a new log."""
        size, name = self.storage.size(), self.storage.name_aside()
        fresh = LogNotes(generation=notes.generation + 1, kept_as=name, kept_bytes=size)
        # Noted first: what a crash leaves then differs from what the service has, and is set aside at the next look.
        self.storage.note(fresh)
        self.storage.set_aside(name)
        return fresh

    def _continues(self, chunk: LogChunk, held: int, notes: LogNotes) -> bool:
        """Whether what stands in front of the new bytes is what is held; what cannot be compared is taken for it."""
        seen = notes.seen(held)
        common = min(OVERLAP_BYTES, held - notes.true_from, chunk.covered - (chunk.full_size - seen))
        if common <= 0:
            return True
        ours = self.storage.read(held - common, common)
        new = chunk.full_size - seen
        if chunk.is_exact:
            return chunk.data[len(chunk.data) - new - common : len(chunk.data) - new] == ours
        # Every way of repairing leaves ASCII as it is; theirs may begin a little earlier, and goes on.
        return ours.translate(None, _NOT_ASCII) in _newest(chunk, new + common).translate(None, _NOT_ASCII)

    def _differs(self, chunk: LogChunk, held: int, notes: LogNotes) -> bool:
        """Whether a shorter log is another one; what cannot be compared is taken for the same."""
        shift = notes.seen(held) - held
        first = max(chunk.full_size - chunk.covered, notes.true_from + shift)
        if first >= chunk.full_size:
            return self._differs_before(chunk, notes.stretches)
        ours = self.storage.read(first - shift, chunk.full_size - first)
        return _differ(ours, _newest(chunk, chunk.full_size - first), exact=chunk.is_exact)

    def _differs_before(self, chunk: LogChunk, stretches: tuple[Substitute, ...]) -> bool:
        """The same in front of the first place where the file is not the service's own."""
        end = min(stretches[0].offset, chunk.full_size) if stretches else chunk.full_size
        first = chunk.full_size - chunk.covered
        if not chunk.is_exact or first >= end:
            return False
        return self.storage.read(first, end - first) != chunk.data[: end - first]


def _wanted(held: int, notes: LogNotes) -> BytesWanted:
    overlap = min(OVERLAP_BYTES, held - notes.true_from)
    return BytesWanted(notes.seen(held) - overlap, overlap)


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
