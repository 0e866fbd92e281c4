"""Where a packing lies, in a service or in a folder of this computer: its index, and stretches of its shards."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from traindeck.domain.errors import InvalidInput, NotFound, ServiceTrouble
from traindeck.domain.objects import ObjectPath
from traindeck.domain.shards import INDEX_NAME, SUMMARY_NAME, IndexEntry
from traindeck.domain.texts import text
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.platform_files import local_errors
from traindeck.services.data_ports import DataPlane
from traindeck.services.retrying import retried

_INDEX_STEP = 4 * 1024 * 1024
_MOST_SUMMARY = 256 * 1024 * 1024

Take = Callable[[bytes], object]
"""Is given the bytes in order; blocks."""


class PackedPlace(Protocol):
    """One packing."""

    @property
    def words(self) -> str: ...

    def index(self) -> AsyncIterator[bytes]:
        """The index piece by piece; NotFound where there is none."""

    async def summary(self) -> bytes | None: ...

    async def read(self, shard: str, offset: int, size_bytes: int) -> bytes: ...

    async def feed(self, shard: str, offset: int, size_bytes: int, take: Take) -> None:
        """For what is too large to be kept."""


@dataclass(frozen=True, slots=True)
class PackedBucket:
    """A packing in a folder of a service; used on the loop of its plane."""

    folder: ObjectPath
    plane: DataPlane
    disk: BlockingCalls

    @property
    def words(self) -> str:
        return str(self.folder)

    async def index(self) -> AsyncIterator[bytes]:
        path = self.folder.join(INDEX_NAME)
        found = await self.plane.head(path)
        if found is None:
            raise no_index(self.words)
        for offset in range(0, found.size_bytes, _INDEX_STEP):
            yield await self._stretch(path, offset, min(_INDEX_STEP, found.size_bytes - offset), found.etag)

    async def summary(self) -> bytes | None:
        path = self.folder.join(SUMMARY_NAME)
        found = await self.plane.head(path)
        if found is None or found.size_bytes > _MOST_SUMMARY:
            return None
        return await self._stretch(path, 0, found.size_bytes, found.etag)

    async def read(self, shard: str, offset: int, size_bytes: int) -> bytes:
        return await self._stretch(self.folder.join(shard), offset, size_bytes, "")

    async def _stretch(self, path: ObjectPath, offset: int, size_bytes: int, etag: str) -> bytes:
        if not size_bytes:
            return b""

        async def attempt() -> bytes:
            pieces: list[bytes] = []
            await self.plane.get(path, pieces.append, offset=offset, length=size_bytes, if_match=etag)
            return b"".join(pieces)

        return await retried(attempt)

    async def feed(self, shard: str, offset: int, size_bytes: int, take: Take) -> None:
        done = 0
        while done < size_bytes:
            step = min(_INDEX_STEP, size_bytes - done)
            content = await self.read(shard, offset + done, step)
            if len(content) != step:
                raise ServiceTrouble(
                    text("{place} is shorter than its index says.", place=shard), text("Pack it again.")
                )
            await self.disk.run(lambda _, content=content: take(content))  # type: ignore[misc]
            done += step


@dataclass(frozen=True, slots=True)
class PackedFolder:
    """A packing in a folder of this computer."""

    folder: Path
    disk: BlockingCalls

    @property
    def words(self) -> str:
        return str(self.folder)

    async def index(self) -> AsyncIterator[bytes]:
        place = self.folder / INDEX_NAME
        if not await self.disk.run(lambda _: place.is_file()):
            raise no_index(self.words)
        offset = 0
        while content := await self.read(INDEX_NAME, offset, _INDEX_STEP):
            offset += len(content)
            yield content

    async def summary(self) -> bytes | None:
        place = self.folder / SUMMARY_NAME

        def content(_: CancelToken) -> bytes | None:
            with local_errors(place):
                return place.read_bytes() if place.is_file() else None

        return await self.disk.run(content)

    async def read(self, shard: str, offset: int, size_bytes: int) -> bytes:
        place = self.folder / shard

        def content(_: CancelToken) -> bytes:
            with local_errors(place), place.open("rb", buffering=0) as file:
                file.seek(offset, os.SEEK_SET)
                pieces: list[bytes] = []
                left = size_bytes
                while left and (piece := file.read(left)):
                    pieces.append(piece)
                    left -= len(piece)
                return b"".join(pieces)

        return await self.disk.run(content)

    async def feed(self, shard: str, offset: int, size_bytes: int, take: Take) -> None:
        for done in range(0, size_bytes, _INDEX_STEP):
            content = await self.read(shard, offset + done, min(_INDEX_STEP, size_bytes - done))
            await self.disk.run(lambda _, content=content: take(content))  # type: ignore[misc]


async def entries(place: PackedPlace) -> AsyncIterator[list[IndexEntry]]:
    """The lines of the index, some at a time; InvalidInput names the first that is none."""
    rest, number = b"", 0
    async for content in place.index():
        *lines, rest = (rest + content).split(b"\n")
        yield [_entry(line, number + at, place) for at, line in enumerate(lines, 1) if line.strip()]
        number += len(lines)
    if rest.strip():
        yield [_entry(rest, number + 1, place)]


def _entry(line: bytes, number: int, place: PackedPlace) -> IndexEntry:
    try:
        return IndexEntry.parse(line)
    except ValueError as error:
        raise InvalidInput(
            text("Line {number} of the index of {place} cannot be read.", number=number, place=place.words),
            text("The index is damaged, or of another program. Pack the files again."),
            str(error),
        ) from error


async def packed_bytes(place: PackedPlace) -> int | None:
    """How many bytes all of its files have, where it says so."""
    content = await place.summary()
    try:
        size = json.loads(content)["bytes"] if content else None
    except (ValueError, KeyError, TypeError):
        return None
    return size if isinstance(size, int) else None


def no_index(place: str) -> NotFound:
    return NotFound(
        text("There is no index of shards at {place}.", place=place),
        text("Name the folder that files were packed into; one whose packing was not finished has no index yet."),
    )
