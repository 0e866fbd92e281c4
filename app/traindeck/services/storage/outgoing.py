"""The bytes of an upload: read, hashed, counted, and given up when nobody waits for them."""

from __future__ import annotations

import base64
import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from traindeck.runtime.blocking import CancelToken
from traindeck.runtime.platform_files import local_errors
from traindeck.services.ports import Progress

# Up to here the bytes are read once and kept; above, once to hash and once to send.
IN_MEMORY_BYTES = 8 * 1024 * 1024
_READ_BYTES = 1024 * 1024


class FileChanged(Exception):
    """The file is not what it was when its upload began."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a file looked like; two equal looks are taken for the same content."""

    size_bytes: int
    modified_ns: int

    @classmethod
    def at(cls, path: Path) -> Look:
        with local_errors(path):
            found = path.stat()
        return cls(found.st_size, found.st_mtime_ns)


class Outgoing:
    """What the SDK reads from: the announced bytes, or an exception."""

    def __init__(
        self, source: BinaryIO, size_bytes: int, md5: bytes, token: CancelToken, progress: Progress | None = None
    ) -> None:
        self.size_bytes = size_bytes
        self.md5_hex = md5.hex()
        self.content_md5 = base64.b64encode(md5).decode()
        self.sent_bytes = 0
        self._source = source
        name = getattr(source, "name", None)  # a stretch in memory has none
        self._place = Path(name) if name else None
        self._token = token
        self._progress = progress

    def read(self, wanted: int) -> bytes:
        self._token.check()
        wanted = min(wanted, self.size_bytes - self.sent_bytes)
        with local_errors(self._place):
            data = self._source.read(wanted)
        if wanted and not data:
            raise FileChanged
        self.sent_bytes += len(data)
        if self._progress and data:
            self._progress(len(data))
        return data

    def take_back(self) -> None:
        """What was counted did not arrive."""
        if self._progress and self.sent_bytes:
            self._progress(-self.sent_bytes)
        self.sent_bytes = 0


def from_bytes(content: bytes, token: CancelToken, progress: Progress | None = None) -> Outgoing:
    return Outgoing(io.BytesIO(content), len(content), _md5(content), token, progress)


def from_file(
    file: BinaryIO, offset: int, size_bytes: int, token: CancelToken, progress: Progress | None = None
) -> Outgoing:
    """A stretch of an open file, hashed before it is sent: the hash goes into a header."""
    with local_errors(Path(file.name)):
        file.seek(offset)
        if size_bytes <= IN_MEMORY_BYTES:
            content = file.read(size_bytes)
            if len(content) != size_bytes:
                raise FileChanged
            return from_bytes(content, token, progress)
        digest = hashlib.md5(usedforsecurity=False)
        left = size_bytes
        while left:
            token.check()
            data = file.read(min(_READ_BYTES, left))
            if not data:
                raise FileChanged
            digest.update(data)
            left -= len(data)
        file.seek(offset)
    return Outgoing(file, size_bytes, digest.digest(), token, progress)


def _md5(content: bytes) -> bytes:
    return hashlib.md5(content, usedforsecurity=False).digest()
