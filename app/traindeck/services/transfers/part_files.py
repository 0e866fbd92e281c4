"""Files of this computer that get their names when all of them is there."""

from __future__ import annotations

import os
import secrets
import sys
from io import FileIO
from pathlib import Path

from traindeck.domain.storage.objects import ObjectPath, ObjectVersion
from traindeck.domain.transfers.local_names import part_of
from traindeck.domain.transfers.records import is_plain_md5
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.files import local_errors
from traindeck.services.storage.wire.data_plane import DataPlane
from traindeck.services.transfers.digests import Checksum, blocks, damaged, md5

_HELD_BYTES = 4 * 1024 * 1024


class PartFile:
    """Is written beside its place, and removed unless it was finished. Every call blocks."""

    def __init__(self, place: Path, mark: str = "") -> None:
        self._place = place
        self._part = part_of(place, mark)
        with local_errors(self._part):
            self._file = self._part.open("w+b", buffering=0)

    def write(self, content: bytes) -> None:
        with local_errors(self._part):
            write_all(self._file, content)

    def read_back(self, token: CancelToken) -> bytes:
        """The MD5 of what is in the file now."""
        digest = md5()
        with local_errors(self._part):
            self._file.seek(0)
            for block in blocks(self._file, sys.maxsize, token):
                digest.update(block)
        return digest.digest()

    def finish(self, *, is_safe: bool = False, modified_ns: int | None = None) -> None:
        """`is_safe`: from a power cut, too; `modified_ns`: with this time from its first moment on."""
        with local_errors(self._place):
            if is_safe:
                os.fsync(self._file.fileno())
            self._file.close()
            if modified_ns is not None:
                os.utime(self._part, ns=(modified_ns, modified_ns))
            self._part.replace(self._place)

    def drop(self) -> None:
        """After `finish` there is nothing left to be removed."""
        with local_errors(self._part):
            self._file.close()
            self._part.unlink(missing_ok=True)


def write_all(file: FileIO, content: bytes | memoryview) -> None:
    view = memoryview(content)
    while view:
        view = view[file.write(view) :]


async def fetch_version(
    plane: DataPlane, disk: BlockingCalls, path: ObjectPath, version: ObjectVersion, target: Path
) -> None:
    """One version of an object as a file."""
    # A name of its own: what else is called like it may be somebody's file, or another download.
    part = await disk.run(lambda _: PartFile(target, secrets.token_hex(4)))
    digest, by_crc64 = Checksum(), Checksum(by_crc64=True)
    held: list[bytes] = []

    async def take(piece: bytes) -> None:
        digest.update(piece)
        by_crc64.update(piece)
        held.append(piece)
        if sum(map(len, held)) >= _HELD_BYTES:
            await write()

    async def write() -> None:
        content = b"".join(held)
        held.clear()
        await disk.run(lambda _: part.write(content))

    try:
        found = await plane.get(path, take, version=version.version, listed_bytes=version.size_bytes)
        is_other = is_plain_md5(found.etag) and not found.is_encrypted and digest.md5.hex() != found.etag
        if is_other or found.crc64 not in (None, by_crc64.crc64):
            raise damaged(str(path))
        await write()
        await disk.run(lambda _: part.finish())
    finally:
        await disk.run(lambda _: part.drop())
