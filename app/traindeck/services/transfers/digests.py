"""MD5 of files, of stretches of them, and of those still on their way, set against what a service reports."""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from io import FileIO
from pathlib import Path

from traindeck.domain.errors import AppError, LocalTrouble
from traindeck.domain.texts import text
from traindeck.domain.transfers.records import Item, SentPart
from traindeck.runtime.blocking import CancelToken
from traindeck.runtime.crc import crc64
from traindeck.runtime.files import local_errors

# Small enough to stay in the memory of a core from the reading to the hashing.
_BLOCK = 1 << 19


def md5(content: bytes = b"") -> hashlib._Hash:
    return hashlib.md5(content, usedforsecurity=False)


class Checksum:
    """The MD5 of what comes, unless it is known, or the CRC-64, which costs a thirtieth of it."""

    __slots__ = ("_digest", "_known_md5", "crc64")

    def __init__(self, known_md5: bytes = b"", *, by_crc64: bool = False) -> None:
        self._known_md5 = known_md5
        self._digest = None if known_md5 or by_crc64 else md5()
        self.crc64: int | None = 0 if by_crc64 and not known_md5 else None

    def update(self, data: bytes | memoryview) -> None:
        if self._digest is not None:
            self._digest.update(data)
        elif self.crc64 is not None:
            self.crc64 = crc64(data, self.crc64)

    @property
    def md5(self) -> bytes:
        """Empty where the CRC-64 is made instead."""
        return self._digest.digest() if self._digest is not None else self._known_md5


def blocks(file: FileIO, size_bytes: int, token: CancelToken) -> Iterator[memoryview]:
    """What comes next, up to so many bytes; each is good until the next one is asked for."""
    block = memoryview(bytearray(min(size_bytes, _BLOCK)))
    while size_bytes and (length := file.readinto(block[:size_bytes])):
        token.check()
        yield block[:length]
        size_bytes -= length


def file_digests(place: Path, token: CancelToken, part_bytes: int = 0) -> tuple[str, list[bytes]]:
    """MD5 of the whole file (empty where parts are asked for) and of each part of this size."""
    parts: list[bytes] = []
    with place.open("rb", buffering=0) as file:
        if not part_bytes:
            whole = md5()
            for block in blocks(file, sys.maxsize, token):
                whole.update(block)
            return whole.hexdigest(), []
        while True:
            part, size = md5(), 0
            for block in blocks(file, part_bytes, token):
                part.update(block)
                size += len(block)
            if size or not parts:
                parts.append(part.digest())
            if size < part_bytes:
                return "", parts


def file_crc64(place: Path, token: CancelToken) -> int:
    """Of the whole file."""
    checksum = 0
    with place.open("rb", buffering=0) as file:
        for block in blocks(file, sys.maxsize, token):
            checksum = crc64(block, checksum)
    return checksum


def has_md5(place: Path, size_bytes: int, expected: str, token: CancelToken) -> bool:
    """Whether there is a file of this size whose content is known, and this."""
    token.check()
    with local_errors(place):
        try:
            is_likely = place.is_file() and place.stat().st_size == size_bytes
        except NotADirectoryError:
            return False
        return is_likely and bool(expected) and file_digests(place, token)[0] == expected


def all_digests(place: Path, part_bytes: int, token: CancelToken) -> tuple[str, list[bytes]]:
    """MD5 of the whole file and of each part; it is read once, and two cores work on it at the same time."""
    whole = md5()
    parts: list[hashlib._Hash] = []
    at, left = 0, part_bytes
    blocks = [bytearray(min(_BLOCK, part_bytes)) for _ in range(2)]
    ahead: list[Future[None]] = []
    with local_errors(place), place.open("rb", buffering=0) as file, ThreadPoolExecutor(1, "digest") as beside:
        while length := file.readinto(view := memoryview(blocks[at])[:left]):
            token.check()
            if left == part_bytes:
                parts.append(md5())
            ahead.append(beside.submit(parts[-1].update, view[:length]))
            whole.update(view[:length])
            if len(ahead) > 1:  # the block that is filled next is no longer being looked at
                ahead.pop(0).result()
            at, left = 1 - at, left - length or part_bytes
    return whole.hexdigest(), [part.digest() for part in parts]


def still_there(place: Path, part_bytes: int, kept: Mapping[int, SentPart], token: CancelToken) -> dict[int, SentPart]:
    """Those of the parts whose content the file has, where each belongs."""

    def is_there(file: FileIO, part: SentPart) -> bool:
        file.seek((part.number - 1) * part_bytes)
        checksum = Checksum(by_crc64=part.crc64 is not None)
        for block in blocks(file, part_bytes, token):
            checksum.update(block)
        return (checksum.md5.hex(), checksum.crc64) == (part.etag, part.crc64)

    with local_errors(place), place.open("rb", buffering=0) as file:
        return {number: part for number, part in kept.items() if is_there(file, part)}


def etag_of_parts(parts: Sequence[bytes]) -> str:
    """How a service names a whole made of parts."""
    return f"{md5(b''.join(parts)).hexdigest()}-{len(parts)}"


class InOrder:
    """MD5 of a file whose pieces come in any order; hashes what is there up to the first gap."""

    def __init__(self, part: Path, item: Item, numbers: set[int]) -> None:
        self._part = part
        self._item = item
        self._numbers = numbers
        self._next = 1
        self._digest = md5()
        self._busy = threading.Lock()

    def has(self, number: int, token: CancelToken) -> None:
        """Blocks; whoever comes while another hashes leaves it to that one."""
        self._numbers.add(number)
        while self._next in self._numbers and self._busy.acquire(blocking=False):
            try:
                self._resume(token)
            finally:
                self._busy.release()

    def whole(self, token: CancelToken) -> str:
        with self._busy:
            self._resume(token)
        return self._digest.hexdigest()

    def _resume(self, token: CancelToken) -> None:
        with local_errors(self._part), self._part.open("rb", buffering=0) as file:
            while self._next in self._numbers:
                offset = (self._next - 1) * self._item.part_bytes
                left = min(self._item.part_bytes, self._item.size_bytes - offset)
                file.seek(offset)
                digest = self._digest.copy()
                for block in blocks(file, left, token):
                    digest.update(block)
                    left -= len(block)
                if left:
                    raise damaged(str(self._part))
                self._digest = digest
                self._next += 1


def damaged(place: str) -> AppError:
    return LocalTrouble(
        text("{place} was corrupted in transit and was not stored.", place=place),
        text("Try again. If it happens again, there is a problem with the object or the network."),
    )
