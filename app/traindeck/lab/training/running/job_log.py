"""Reads, extends and bounds the log file of a worker, which the job's processes write by themselves."""

from __future__ import annotations

import base64
import codecs
import hashlib
import hmac
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote, urlencode

from traindeck.lab.accounts import LabAccount
from traindeck.lab.training.api.routes import RefusedError, whole_in

PREVIEW_BYTES = 5 * 1024 * 1024
MAX_LOG_BYTES = 1024**3
SERVICE_MARK = "[ModelArts Service Log]"
# What a job may not fill of its log, for what the platform says at the end.
_RESERVE_BYTES = 64 * 1024
_RESERVE_SHARE = 4
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


def room_of_job(max_bytes: int) -> int:
    """How much of a log the job itself may fill."""
    return max_bytes - min(_RESERVE_BYTES, max_bytes // _RESERVE_SHARE)


def cut(path: Path, max_bytes: int, *, is_over: bool = False) -> bool:
    """Take away what was written beyond the room of the job, which goes on, silently; whether there was anything.

    `is_over`: nothing is written any more.
    """
    room = room_of_job(max_bytes)
    # On Windows a writer goes on at its old place, behind a hole; there, readers alone keep to the limit.
    if (os.name != "posix" and not is_over) or not path.exists() or path.stat().st_size <= room:
        return False
    os.truncate(path, room)
    return True


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
                # One byte too many, by which the end of the log is known to be missing.
                room = room_of_job(self._max_bytes) + 1 - target.tell()
                target.write(whole[: max(room, 0)])
                self._passed_on += len(whole)
                if len(whole) < len(data):
                    return


def _without_broken_start(data: bytes) -> bytes:
    begins = (index for index, byte in enumerate(data[:4]) if byte & 0xC0 != 0x80)
    return data[next(begins, 0) :]


# Ids of the service are long numbers; these have as many digits for as long as a log is below a petabyte.
_FIRST_ID = 1_700_000_000_000_000_000
_MAX_LINES = 500
_DEFAULT_LINES = 50
_READ_BLOCK = 1 << 16


def page_of(path: Path, query: Mapping[str, str]) -> dict[str, Any] | None:
    """Whole lines in the order of the log, with the ids of the first and the last; None while there is no log.

    With the order `asc` what follows the base line, with `desc` what stands before it, or before the end of the log.
    """
    order = query.get("order") or "desc"
    if order not in ("asc", "desc"):
        raise RefusedError("2764", "order must be asc or desc")
    base_line = query.get("base_line") or ""
    if base_line and not (base_line.isascii() and base_line.isdigit() and len(base_line) == len(str(_FIRST_ID))):
        raise RefusedError("2764", f"{base_line!r} is not the id of a line")
    count = whole_in(query, "lines", _DEFAULT_LINES, 1, _MAX_LINES)
    base = int(base_line) - _FIRST_ID if base_line else None
    try:
        with path.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            if order == "asc" and base is not None:
                file.seek(min(max(base, 0), end))
                if base >= 0:
                    file.readline()
                start = file.tell()
                found = [line for _ in range(count) if (line := file.readline()).endswith(b"\n")]
            else:
                start, found = _before(file, end if base is None else min(max(base, 0), end), count)
    except FileNotFoundError:
        return None
    first = start if found or base is None else base
    return {
        "start_line": str(_FIRST_ID + first),
        "end_line": str(_FIRST_ID + first + sum(map(len, found[:-1]))),
        "lines": len(found),
        "content": b"".join(found).decode("utf-8", "replace"),
    }


def _before(file: BinaryIO, stop: int, count: int) -> tuple[int, list[bytes]]:
    """The last `count` whole lines that end at or before `stop`, and where they start."""
    data, place = b"", stop
    while place > 0 and data.count(b"\n") <= count + 1:
        step = min(_READ_BLOCK, place)
        place -= step
        file.seek(place)
        data = file.read(step) + data
    end = data.rfind(b"\n") + 1
    # By line feed alone: a progress bar's carriage returns stay inside its line.
    lines = [line + b"\n" for line in data[:end].split(b"\n")[:-1]][-count:]
    return place + end - sum(map(len, lines)), lines


def signed_link(obs_url: str, account: LabAccount, bucket: str, key: str, expires: int) -> str:
    """A GET link signed as the cloud signs the links to its logs; `expires` is in seconds since 1970."""
    path = f"/{bucket}/{quote(key, safe='/~')}"
    text = f"GET\n\n\n{expires}\n{path}"
    digest = hmac.new(account.secret_key.encode("utf-8"), text.encode("utf-8"), hashlib.sha1).digest()
    query = {
        "AccessKeyId": account.access_key,
        "Expires": str(expires),
        "Signature": base64.b64encode(digest).decode("ascii"),
    }
    return f"{obs_url.rstrip('/')}{path}?{urlencode(query)}"
