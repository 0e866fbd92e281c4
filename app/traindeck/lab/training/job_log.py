"""Reads, extends and bounds the log file of a worker, which the job's processes write by themselves."""

import codecs
import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

PREVIEW_BYTES = 5 * 1024 * 1024
MAX_LOG_BYTES = 1024**3
SERVICE_MARK = "[ModelArts Service Log]"
_BLOCK = 1 << 20


@dataclass(frozen=True)
class LogTail:
    """The newest part of a log; sizes are bytes of the file, so they differ from the text's where that was repaired."""

    content: str
    current_size: int
    full_size: int


def add_service_line(path: Path, text: str, max_bytes: int = MAX_LOG_BYTES) -> None:
    """Append a line of the platform; it starts on a line of its own. A log at its limit stays as it is."""
    stamp = datetime.now().astimezone().isoformat(timespec="milliseconds")
    line = f"{stamp} {SERVICE_MARK} {text}\n"
    with path.open("ab+") as file:
        if file.tell() >= max_bytes:
            return
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                line = "\n" + line
        file.write(line.encode("utf-8", "replace"))


def cut(path: Path, max_bytes: int) -> None:
    """Take away what was written beyond the limit; the job goes on, silently."""
    # On Windows a writer goes on at its old place, behind a hole; there, readers alone keep to the limit.
    if os.name == "posix" and path.stat().st_size > max_bytes:
        os.truncate(path, max_bytes)


def tail(path: Path, *, is_growing: bool, limit: int = PREVIEW_BYTES, max_bytes: int = MAX_LOG_BYTES) -> LogTail | None:
    """The last `limit` bytes on character borders; None while there is no log.

    While the file grows, a character whose last bytes are not written yet is left for the next call.
    """
    try:
        with path.open("rb") as file:
            size = min(file.seek(0, os.SEEK_END), max_bytes)
            start = max(0, size - limit)
            file.seek(start)
            data = file.read(size - start)
    except FileNotFoundError:
        return None
    if start:
        data = _without_broken_start(data)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    content = decoder.decode(data, final=not is_growing)
    pending = len(decoder.getstate()[0])
    return LogTail(content, len(data) - pending, size - pending)


class CardLog:
    """The output of one card's process, which goes on into the log of its worker line by line."""

    def __init__(self, path: Path, target: Path, max_bytes: int) -> None:
        self.path = path
        self._target = target
        self._max_bytes = max_bytes
        self._passed_on = 0

    def pass_on(self, *, is_last: bool = False) -> None:
        """Append what is new; a line that is not complete yet waits, unless nothing more will come."""
        with self.path.open("rb") as file, self._target.open("ab") as target:
            file.seek(self._passed_on)
            while data := file.read(_BLOCK):
                whole = data if is_last else data[: data.rfind(b"\n") + 1]
                if not whole and len(data) == _BLOCK:
                    whole = data  # a line longer than any screen
                room = self._max_bytes - target.tell()
                target.write(whole[: max(room, 0)])
                self._passed_on += len(whole)
                if len(whole) < len(data):
                    return


def _without_broken_start(data: bytes) -> bytes:
    for index, byte in enumerate(data[:4]):
        if byte & 0xC0 != 0x80:
            return data[index:]
    return data
