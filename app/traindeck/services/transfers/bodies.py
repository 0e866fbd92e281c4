"""What is sent: read from a file that may change at any moment, hashed before it leaves."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from traindeck.domain.errors import AppError, LocalTrouble, Vanished
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.domain.transfers.packing import Member
from traindeck.domain.transfers.records import Item, names_content
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.files import file_stamp, local_error, local_errors
from traindeck.services.storage.data_ports import InFile, InMemory, ObjectHead
from traindeck.services.storage.errors import otherwise_listed
from traindeck.services.transfers.digests import Checksum, blocks, md5
from traindeck.services.transfers.pace import RateLimit

if TYPE_CHECKING:
    from traindeck.services.transfers.active import ActiveTransfer

# Up to here the bytes are read once and kept; above, once to hash and once to send.
IN_MEMORY_BYTES = 16 * 1024 * 1024
_READ_BYTES = 1024 * 1024
CHANGED_TRIES = 3
READ_ONLY = os.O_RDONLY | getattr(os, "O_BINARY", 0)


class SourceChanged(Exception):
    """The file is not what it was when it was looked at."""


async def _limited(data: bytes, limit: RateLimit) -> AsyncIterator[memoryview]:
    """In pieces of the limit: what is read at once would stand still for seconds, and then leap."""
    view, step = memoryview(data), limit.piece_bytes
    for start in range(0, len(view), step):
        piece = view[start : start + step]
        await limit.take(len(piece))
        yield piece


@dataclass(frozen=True, slots=True)
class Content(InMemory):
    """A piece of a file in memory."""

    data: bytes
    md5: bytes
    limit: RateLimit
    crc64: int | None = None

    @property
    def size_bytes(self) -> int:
        return len(self.data)

    @property
    def at_once(self) -> bytes | None:
        return None if self.limit.bytes_per_s else self.data

    async def pieces(self) -> AsyncIterator[memoryview]:
        async for piece in _limited(self.data, self.limit):
            yield piece


@dataclass(frozen=True, slots=True)
class Streamed:
    """What is too large to be kept; it is made again as it leaves."""

    read: Callable[[int, int], Awaitable[bytes]]
    """From the one place to the other; raises when it is no longer what it was."""
    offset: int
    size_bytes: int
    md5: bytes
    limit: RateLimit
    crc64: int | None = None

    async def pieces(self) -> AsyncIterator[memoryview]:
        end = self.offset + self.size_bytes
        for begin in range(self.offset, end, _READ_BYTES):
            async for piece in _limited(await self.read(begin, min(end, begin + _READ_BYTES)), self.limit):
                yield piece


@dataclass(frozen=True, slots=True)
class FileStretch(InFile):
    """A part of a file; it is read again as it leaves, best by the system itself."""

    place: Path
    item: Item
    offset: int
    size_bytes: int
    md5: bytes
    disk: BlockingCalls
    limit: RateLimit
    crc64: int | None = None

    async def opened(self) -> FileIO | None:
        if self.limit.bytes_per_s:
            return None
        held: list[FileIO] = []
        try:
            await self.disk.run(lambda _: held.append(self._open()))
        except BaseException:
            for file in held:  # cancelled when it was open already
                file.close()
            raise
        return held[0]

    def check(self, file: FileIO) -> None:
        check_same(os.fstat(file.fileno()), self.item)

    async def pieces(self) -> AsyncIterator[memoryview]:
        end = self.offset + self.size_bytes
        for begin in range(self.offset, end, _READ_BYTES):
            data = await self.disk.run(partial(self._read, begin, min(_READ_BYTES, end - begin)))
            async for piece in _limited(data, self.limit):
                yield piece

    def _open(self) -> FileIO:
        with local_errors(self.place):
            file = self.place.open("rb", buffering=0)
            try:
                self.check(file)
            except BaseException:
                file.close()
                raise
            return file

    def _read(self, start: int, size: int, _: CancelToken) -> bytes:
        with local_errors(self.place), self._open() as file:
            return read_exactly(file.fileno(), start, size)


def batches(items: Iterable[Item], most: int, most_bytes: int) -> Iterator[list[Item]]:
    """So many at once as one worker reads in one go."""
    batch: list[Item] = []
    size = 0
    for item in items:
        batch.append(item)
        size += item.size_bytes
        if len(batch) >= most or size >= most_bytes:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def look(place: Path, item: Item) -> Item:
    """The same file with what it is like now."""
    try:
        return seen(item, place.stat())
    except OSError as error:
        raise not_read(error, place) from error


def seen(item: Item, found: os.stat_result) -> Item:
    size_bytes, modified_ns, inode = file_stamp(found)
    return replace(item, size_bytes=size_bytes, modified_ns=modified_ns, inode=inode, mode=found.st_mode & 0o7777)


def is_same(one: Item, other: Item) -> bool:
    return (one.size_bytes, one.modified_ns, one.inode) == (other.size_bytes, other.modified_ns, other.inode)


def check_same(found: os.stat_result, item: Item | Member) -> None:
    if not looks_same(found, item):
        raise SourceChanged


def looks_same(found: os.stat_result, item: Item | Member) -> bool:
    return file_stamp(found) == (item.size_bytes, item.modified_ns, item.inode)


def has_changed(place: str, item: Item) -> bool:
    """Whether there is another file now; one that is gone was sent as it was."""
    try:
        return not looks_same(os.stat(place), item)  # noqa: PTH116
    except FileNotFoundError:
        return False
    except OSError:
        return True  # reading it again says what is wrong


def read_exactly(descriptor: int, start: int, size: int) -> bytes:
    os.lseek(descriptor, start, os.SEEK_SET)
    pieces: list[bytes] = []
    left = size
    while left:
        piece = os.read(descriptor, left)
        if not piece:
            raise SourceChanged
        pieces.append(piece)
        left -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def read_whole(place: str, item: Item, limit: RateLimit, most_bytes: int) -> tuple[Item, Content | None]:
    """The item as it is now, and its content; None: it has become too large for that.

    Descriptors and names as text: a file object and a Path cost more than a small file.
    """
    for _ in range(CHANGED_TRIES):
        try:
            descriptor = os.open(place, READ_ONLY)
            try:
                found = os.fstat(descriptor)
                now = item if looks_same(found, item) else seen(item, found)
                if now.size_bytes > most_bytes:
                    return now, None
                data = read_exactly(descriptor, 0, now.size_bytes)
                check_same(os.fstat(descriptor), now)
            finally:
                os.close(descriptor)
        except SourceChanged:
            continue
        except OSError as error:
            raise not_read(error, Path(place)) from error
        return now, Content(data, md5(data).digest(), limit)
    raise keeps_changing(Path(place))


def read_some(
    places: Sequence[tuple[str, Item]], limit: RateLimit, most_bytes: int, token: CancelToken
) -> list[tuple[Item, Content | AppError | None]]:
    """Many small files at once: changing threads costs more than reading one."""
    found: list[tuple[Item, Content | AppError | None]] = []
    for place, item in places:
        token.check()
        try:
            found.append(read_whole(place, item, limit, most_bytes))
        except AppError as error:
            found.append((item, error))
    return found


def stretch(
    place: Path,
    item: Item,
    offset: int,
    size: int,
    disk: BlockingCalls,
    limit: RateLimit,
    token: CancelToken,
    known_md5: bytes = b"",
    most_in_memory: int = IN_MEMORY_BYTES,
    *,
    by_crc64: bool = False,
) -> Content | FileStretch:
    """A part of a file that must still be what it was, with one checksum: its MD5 costs nothing if known. Blocks."""
    checksum = Checksum(known_md5, by_crc64=by_crc64)
    with local_errors(place), place.open("rb", buffering=0) as file:
        check_same(os.fstat(file.fileno()), item)
        data = read_exactly(file.fileno(), offset, size) if size <= most_in_memory else None
        if data is not None:
            checksum.update(data)
        elif not known_md5:
            file.seek(offset)
            for block in blocks(file, size, token):
                checksum.update(block)
        check_same(os.fstat(file.fileno()), item)
    if data is not None:
        return Content(data, checksum.md5, limit, checksum.crc64)
    return FileStretch(place, item, offset, size, checksum.md5, disk, limit, checksum.crc64)


def not_read(error: OSError, place: Path) -> AppError:
    return deleted(place) if isinstance(error, FileNotFoundError) else local_error(error, place)


def size_of(place: Path) -> int:
    """-1 where there is nothing that could be looked at."""
    try:
        return place.stat().st_size
    except OSError:
        return -1


def deleted(place: Path) -> AppError:
    return Vanished(
        text("“{place}” was deleted or moved before it was uploaded.", place=str(place)),
        text("Restore the file and try again, or exclude it."),
    )


def gone(path: ObjectPath) -> AppError:
    return Vanished(
        text("{place} is no longer there.", place=str(path)),
        text("It was deleted or moved since the list was made. Refresh the list."),
    )


def still_named(found: ObjectHead, listed_etag: str) -> ObjectHead:
    """An object that has changed is as good as the one before; one whose content nobody names any more is not."""
    if names_content(listed_etag) and not names_content(found.etag) and not found.is_encrypted:
        raise otherwise_listed(found.path, f"listed {listed_etag}, came {found.etag}")
    return found


def keeps_changing(place: Path) -> AppError:
    return LocalTrouble(
        text("“{place}” keeps changing and was not uploaded.", place=str(place)),
        text("Wait until the program that writes it is done, then try again."),
    )


Result = TypeVar("Result")


class Moved:
    """Counts for one unit of work."""

    def __init__(self, active: ActiveTransfer) -> None:
        self._active = active
        self._bytes = 0

    def count(self, moved_bytes: int) -> None:
        self._bytes += moved_bytes
        self._active.count(moved_bytes)

    async def by(self, work: Awaitable[Result]) -> Result:
        try:
            return await work
        except BaseException:
            self.settle(0)
            raise

    def settle(self, size_bytes: int) -> None:
        """So many have moved, whatever was told on the way."""
        if size_bytes != self._bytes:
            self.count(size_bytes - self._bytes)
