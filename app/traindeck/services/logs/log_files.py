"""One worker's log on this disk: its bytes, and what is noted beside them. For worker threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from traindeck.domain.texts import text
from traindeck.runtime.files import alone_with, local_errors, our_opener, write_whole
from traindeck.services.logs.log_notes import Gap, LogMark, LogNotes

LOCK_S = 10.0

# Of a log that is not there, and of the folder it would be in.
_ABSENT = (FileNotFoundError, NotADirectoryError)


class LogFile:
    """What readers ask, and what `HeldLog` writes with; its bytes are only ever appended to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._notes = path.with_name(path.name + ".json")

    def size(self) -> int:
        with local_errors(self.path):
            try:
                return self.path.stat().st_size
            except _ABSENT:
                return 0

    def read(self, offset: int, max_bytes: int = -1) -> bytes:
        with local_errors(self.path):
            try:
                with self.path.open("rb") as file:
                    file.seek(offset)
                    return file.read(max_bytes)
            except _ABSENT:
                return b""

    def tail(self, most: int) -> str:
        """Its last whole lines."""
        start = max(0, self.size() - most)
        words = self.read(start, most).decode("utf-8", "replace")
        return words.partition("\n")[2] if start else words

    def notes(self) -> LogNotes:
        with local_errors(self._notes):
            try:
                notes = LogNotes.from_json(self._notes.read_bytes())
            except _ABSENT:
                return LogNotes()
        if notes.mending:
            # A crash came before the mended file was in its place, or just after.
            is_done = not self.path.with_name(notes.mending).exists()
            notes = replace(notes, mending="")
            return replace(notes, stretches=(), generation=notes.generation + 1) if is_done else notes
        return notes

    def marks(self) -> tuple[LogMark, ...]:
        """Where it is not what the service has, and why, in the order of the file."""
        return self.notes().marks(self.size())

    def gaps(self) -> tuple[Gap, ...]:
        return tuple(mark for mark in self.marks() if isinstance(mark, Gap))

    # For the one who writes

    @contextmanager
    def alone(self) -> Iterator[None]:
        """The window and a command may follow the same run: one at a time."""
        with alone_with_log(self.path, LOCK_S):
            yield

    def note(self, notes: LogNotes) -> None:
        write_whole(self._notes, notes.to_json())
        if notes.is_whole:
            # What programs left that were killed while they noted something; nobody does meanwhile.
            for left in self._notes.parent.glob(f".{self._notes.name}.*"):
                left.unlink(missing_ok=True)

    def append(self, fresh: bytes) -> int:
        with open(self.path, "ab", opener=our_opener) as file:
            return file.write(fresh)

    def cut(self, size: int) -> None:
        with open(self.path, "ab", opener=our_opener) as file:
            file.truncate(size)

    def name_aside(self) -> str:
        number = 1
        while (older := self.path.with_name(f"{self.path.stem}.{number}{self.path.suffix}")).exists():
            number += 1
        return older.name

    def set_aside(self, name: str) -> None:
        """Keep the bytes beside, under this name."""
        if self.path.exists():
            self.path.replace(self.path.with_name(name))

    def mend(self, mended: Path, whole_bytes: int) -> bool:
        """Take the file `mended`, the service's own bytes, for what it has so many bytes of, unless more came since."""
        with self.alone():
            notes = self.notes()
            if notes.seen(self.size()) != whole_bytes or not notes.stretches:
                return False
            with mended.open("r+b") as file:
                file.truncate(whole_bytes)
            self.note(replace(notes, mending=mended.name))
            mended.replace(self.path)
            self.note(self.notes())
            return True


@contextmanager
def alone_with_log(path: Path, patience_s: float) -> Iterator[None]:
    """With a log, or with what is noted beside one: no other program of ours is meanwhile."""
    busy = text("Another TrainDeck is using the log “{path}”.", path=str(path))
    hint = text("Close the one not responding. Nothing is lost; the log is downloaded on the next refresh.")
    with local_errors(path), alone_with(path, patience_s, busy, hint):
        yield
