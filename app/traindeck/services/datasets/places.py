"""The folder a dataset is in, here or in a service: what is in it, and the content of some of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Protocol, TypeVar

from traindeck.domain.datasets.places import DatasetFolder
from traindeck.domain.errors import AppError, InvalidInput, NotFound
from traindeck.domain.storage.objects import ObjectPath, size_words
from traindeck.domain.texts import text
from traindeck.domain.transfers.orders import Links
from traindeck.domain.transfers.sync_rules import IgnoreRules
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.files import local_errors
from traindeck.runtime.tasks import gather_or_raise
from traindeck.services.storage.content_check import checked
from traindeck.services.storage.listing import Piece, Sweep, nothing_there
from traindeck.services.storage.planes import Planes
from traindeck.services.storage.wire.data_plane import DataPlane
from traindeck.services.transfers.local_tree import LocalEntry, LocalTree, goes_through_link
from traindeck.services.transfers.sides import some_entries

TakeFile = Callable[[str, int, str], object]
"""A name below the folder, its size, and its ETag where it is an object; called in a thread of its own."""
TakeContent = Callable[[str, bytes | AppError], Awaitable[None]]

Result = TypeVar("Result")

_READS_AT_ONCE = 32
_PIECE = 1 << 20


class DatasetPlace(Protocol):
    """What is asked of a folder of either kind."""

    async def each(self, take: TakeFile, *, may_be_empty: bool = False) -> list[LocalEntry]:
        """Every file in it; the answer is what could not be read, or is a link."""
        ...

    async def read(self, name: str, most_bytes: int) -> bytes:
        """All of one; InvalidInput: it is larger than that."""
        ...

    async def head(self, name: str, most_bytes: int) -> bytes:
        """The beginning of one that is not empty."""
        ...

    async def read_some(self, names: Sequence[str], most_bytes: int, take: TakeContent) -> None:
        """Several at a time; each is handed on as it comes, or why it could not be read."""
        ...

    async def with_file(self, name: str, call: Callable[[BinaryIO], Result]) -> Result | None:
        """What a call makes of an open file, which blocks; None: the file is not on this computer."""
        ...


class LocalPlace:
    """A folder of this computer; links in it are neither followed nor read through."""

    def __init__(self, folder: Path, disk: BlockingCalls) -> None:
        self.folder = folder
        self._disk = disk

    async def each(self, take: TakeFile, *, may_be_empty: bool = False) -> list[LocalEntry]:
        if may_be_empty and not self.folder.exists():
            return []
        walk = LocalTree(self.folder, IgnoreRules(()), Links.SKIP).entries()
        left: list[LocalEntry] = []
        with local_errors(self.folder):
            while await self._disk.run(lambda token: _handed_on(walk, take, left, token)):
                pass
        return left

    async def read(self, name: str, most_bytes: int) -> bytes:
        return await self._disk.run(lambda token: self._content(name, most_bytes, token))

    async def head(self, name: str, most_bytes: int) -> bytes:
        def begun(file: BinaryIO) -> bytes:
            return file.read(most_bytes)

        return await self.with_file(name, begun)

    async def with_file(self, name: str, call: Callable[[BinaryIO], Result]) -> Result:
        def work(_: CancelToken) -> Result:
            place = self._refuse_link(name)
            with local_errors(place), place.open("rb") as file:
                return call(file)

        return await self._disk.run(work)

    async def read_some(self, names: Sequence[str], most_bytes: int, take: TakeContent) -> None:
        for name in names:
            try:
                content: bytes | AppError = await self.read(name, most_bytes)
            except AppError as error:
                content = error
            await take(name, content)

    def _content(self, name: str, most_bytes: int, token: CancelToken) -> bytes:
        place, pieces, size = self._refuse_link(name), list[bytes](), 0
        with local_errors(place), place.open("rb") as file:
            while piece := file.read(_PIECE):
                token.check()
                size += len(piece)
                if size > most_bytes:
                    raise _too_large(str(place), most_bytes)
                pieces.append(piece)
        return b"".join(pieces)

    def _refuse_link(self, name: str) -> Path:
        place = self.folder / name
        if goes_through_link(self.folder, place):
            raise NotFound(
                text("“{place}” is a link, and links are skipped.", place=str(place)),
                text("To transfer the targets of links, follow links."),
            )
        if not place.is_file():  # whoever opens a pipe waits for its other end
            raise NotFound(
                text("“{place}” does not exist.", place=str(place)),
                text("Check the spelling, and whether the file was moved."),
            )
        return place


class BucketPlace:
    """A folder of a bucket, with the keys of a profile."""

    def __init__(self, folder: ObjectPath, planes: Planes, profile: str) -> None:
        self.folder = folder.as_folder() if not folder.is_bucket else folder
        self._planes = planes
        self._profile = profile

    async def each(self, take: TakeFile, *, may_be_empty: bool = False) -> list[LocalEntry]:
        start, is_empty = len(self.folder.key), True

        async def hand_on(piece: Piece) -> None:
            nonlocal is_empty
            for row in piece.rows:
                is_empty = False
                if not row.key.endswith("/"):
                    take(row.key[start:], row.size_bytes, row.etag)

        await self._planes.run(self._profile, lambda plane: Sweep(plane, self.folder).run(hand_on))
        if is_empty and not may_be_empty:
            raise nothing_there(self.folder)
        return []

    async def read(self, name: str, most_bytes: int) -> bytes:
        return await self._planes.run(self._profile, lambda plane: self._content(plane, name, most_bytes))

    async def head(self, name: str, most_bytes: int) -> bytes:
        path, pieces = ObjectPath(self.folder.bucket, self.folder.key + name), list[bytes]()
        await self._planes.run(
            self._profile, lambda plane: plane.get(path, lambda piece: pieces.append(bytes(piece)), length=most_bytes)
        )
        return b"".join(pieces)

    async def with_file(self, name: str, call: Callable[[BinaryIO], Result]) -> Result | None:
        return None

    async def read_some(self, names: Sequence[str], most_bytes: int, take: TakeContent) -> None:
        waiting = iter(names)

        async def work(plane: DataPlane) -> None:
            for name in waiting:
                try:
                    content: bytes | AppError = await self._content(plane, name, most_bytes)
                except AppError as error:
                    content = error
                await take(name, content)

        async def all_of_it(plane: DataPlane) -> None:
            await gather_or_raise([work(plane) for _ in range(min(_READS_AT_ONCE, len(names)))])

        await self._planes.run(self._profile, all_of_it)

    async def _content(self, plane: DataPlane, name: str, most_bytes: int) -> bytes:
        path, pieces, size = ObjectPath(self.folder.bucket, self.folder.key + name), list[bytes](), 0

        def take(piece: bytes) -> None:
            nonlocal size
            size += len(piece)
            if size > most_bytes:
                raise _too_large(str(path), most_bytes)
            pieces.append(bytes(piece))

        found = await plane.get(path, take)
        return checked(found, b"".join(pieces))


def _handed_on(walk: Iterator[LocalEntry], take: TakeFile, left: list[LocalEntry], token: CancelToken) -> bool:
    """In the worker, too: what is done with a name, done a million times, would keep a window waiting."""
    entries = some_entries(walk, token)
    for entry in entries:
        if entry.problem is not None:
            left.append(entry)
        elif not entry.name.endswith("/"):
            take(entry.name, entry.size_bytes, "")
    return bool(entries)


def _too_large(place: str, most_bytes: int) -> InvalidInput:
    return InvalidInput(
        text("“{place}” is larger than {most} and was not read.", place=place, most=size_words(most_bytes)),
        text("Split it into smaller files, or remove it from the folder."),
    )


def dataset_place(
    place: DatasetFolder, disk: BlockingCalls, planes: Planes, profile: Callable[[], str]
) -> DatasetPlace:
    """`profile` is asked only where keys are needed."""
    return LocalPlace(place, disk) if isinstance(place, Path) else BucketPlace(place, planes, profile())
