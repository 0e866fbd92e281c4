"""Reads and extends the log file of a worker, which the job's processes write by themselves."""

import codecs
import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

PREVIEW_BYTES = 5 * 1024 * 1024
SERVICE_MARK = "[ModelArts Service Log]"


@dataclass(frozen=True)
class LogTail:
    """The newest part of a log; sizes are bytes of the file, so they differ from the text's where that was repaired."""

    content: str
    current_size: int
    full_size: int


def add_service_line(path: Path, text: str) -> None:
    """Append a line of the platform; it starts on a line of its own."""
    stamp = datetime.now().astimezone().isoformat(timespec="milliseconds")
    line = f"{stamp} {SERVICE_MARK} {text}\n"
    with path.open("ab+") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                line = "\n" + line
        file.write(line.encode("utf-8", "replace"))


def tail(path: Path, *, is_growing: bool, limit: int = PREVIEW_BYTES) -> LogTail | None:
    """The last `limit` bytes on character borders; None while there is no log.

    While the file grows, a character whose last bytes are not written yet is left for the next call.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
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


def _without_broken_start(data: bytes) -> bytes:
    for index, byte in enumerate(data[:4]):
        if byte & 0xC0 != 0x80:
            return data[index:]
    return data
