"""Files out of shards, by the ranges their index names: all of them, or a few without fetching the rest."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from traindeck.domain.errors import AppError, LocalTrouble, NotFound, NotUnderstood
from traindeck.domain.outcomes import of_file, worst
from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.texts import text
from traindeck.domain.transfers.local_names import LocalNames, part_of
from traindeck.domain.transfers.orders import LINK_ENDING, MOST_LINK_BYTES, Links
from traindeck.domain.transfers.packing import INDEX_NAME, SUMMARY_NAME, IndexEntry, stretches
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.files import local_errors
from traindeck.runtime.tasks import gather_or_raise
from traindeck.services.http.calls import retried
from traindeck.services.storage.wire.data_plane import DataPlane
from traindeck.services.transfers.bodies import size_of
from traindeck.services.transfers.digests import has_md5, md5
from traindeck.services.transfers.ledger import OnBytes
from traindeck.services.transfers.local_tree import kept_link
from traindeck.services.transfers.packing.shard_reading import BlockingSink
from traindeck.services.transfers.part_files import PartFile
from traindeck.services.transfers.placing import Folders, make_link
from traindeck.services.transfers.sides import system_of

_INDEX_STEP = 4 * 1024 * 1024
_MOST_SUMMARY = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class PackedPlace(ABC):
    """One packing."""

    folder: ObjectPath | Path
    disk: BlockingCalls

    @abstractmethod
    async def found(self, name: str) -> tuple[int, str] | None:
        """Size and ETag of a file of the packing; None: it is not there."""

    @abstractmethod
    async def read(self, name: str, offset: int, size_bytes: int, etag: str = "") -> bytes: ...

    async def index(self) -> AsyncIterator[bytes]:
        """The index piece by piece; NotFound where there is none."""
        found = await self.found(INDEX_NAME)
        if found is None:
            raise no_index(str(self.folder))
        size_bytes, etag = found
        for offset in range(0, size_bytes, _INDEX_STEP):
            yield await self.read(INDEX_NAME, offset, min(_INDEX_STEP, size_bytes - offset), etag)

    async def summary(self) -> bytes | None:
        found = await self.found(SUMMARY_NAME)
        return None if found is None or found[0] > _MOST_SUMMARY else await self.read(SUMMARY_NAME, 0, *found)

    async def feed(self, shard: str, offset: int, size_bytes: int, take: BlockingSink) -> None:
        """For what is too large to be kept."""
        for done in range(0, size_bytes, _INDEX_STEP):
            step = min(_INDEX_STEP, size_bytes - done)
            content = await self.read(shard, offset + done, step)
            if len(content) != step and (error := self.shortage(shard)) is not None:
                raise error
            await self.disk.run(lambda _, content=content: take(content))  # type: ignore[misc]

    def shortage(self, shard: str) -> AppError | None:
        """What to say where it ends before its index says so; None: nothing more than its MD5 tells."""
        return None


@dataclass(frozen=True, slots=True)
class PackedBucket(PackedPlace):
    """A packing in a folder of a service; used on the loop of its plane."""

    folder: ObjectPath
    plane: DataPlane

    async def found(self, name: str) -> tuple[int, str] | None:
        head = await self.plane.head(self.folder.join(name))
        return None if head is None else (head.size_bytes, head.etag)

    async def read(self, name: str, offset: int, size_bytes: int, etag: str = "") -> bytes:
        if not size_bytes:
            return b""

        async def attempt() -> bytes:
            pieces: list[bytes] = []
            path = self.folder.join(name)
            await self.plane.get(path, pieces.append, offset=offset, length=size_bytes, if_match=etag)
            return b"".join(pieces)

        return await retried(attempt)

    def shortage(self, shard: str) -> AppError | None:
        return NotUnderstood(text("{place} is shorter than its index says.", place=shard), text("Pack it again."))


@dataclass(frozen=True, slots=True)
class PackedFolder(PackedPlace):
    """A packing in a folder of this computer."""

    folder: Path

    async def found(self, name: str) -> tuple[int, str] | None:
        size_bytes = await self.disk.run(lambda _: size_of(self.folder / name))
        return None if size_bytes < 0 else (size_bytes, "")

    async def read(self, name: str, offset: int, size_bytes: int, etag: str = "") -> bytes:
        place = self.folder / name

        def content(_: CancelToken) -> bytes:
            with local_errors(place), place.open("rb") as file:
                file.seek(offset)
                return file.read(size_bytes)

        return await self.disk.run(content)


async def entries(place: PackedPlace) -> AsyncIterator[list[IndexEntry]]:
    """The lines of the index, some at a time; LocalTrouble names the first that is none."""
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
        raise LocalTrouble(
            text("Line {number} of the index of {place} cannot be read.", number=number, place=str(place.folder)),
            text("The index is damaged, or of another program. Pack the files again."),
            str(error),
        ) from error


async def packed_bytes(place: PackedPlace) -> int | None:
    """How many bytes all of its files have, where it says so."""
    content = await place.summary()
    try:
        size = json.loads(content)["bytes"] if content else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return size if isinstance(size, int) else None


def no_index(place: str) -> NotFound:
    return NotFound(
        text("There is no index of shards at {place}.", place=place),
        text("Specify the folder with the packed files. There is no index until packing has finished."),
    )


# Eight of them at once are what is in memory.
_STRETCH_BYTES = 8 * 1024 * 1024
_GAP_BYTES = 64 * 1024
_AT_ONCE = 8
_MOST_FAILURES = 1000


@dataclass(slots=True)
class UnpackResult:
    """What became of the files."""

    files: int = 0
    equal: int = 0
    bytes: int = 0
    failed: int = 0
    failures: list[tuple[str, AppError]] = field(default_factory=list)  # the first of them
    worst: AppError | None = None  # of all


@dataclass(slots=True)
class _Wanted:
    """A file, and where it goes."""

    entry: IndexEntry
    place: Path


class Unpacking:
    """One packing on its way into a folder; what is there already is left alone."""

    def __init__(
        self,
        place: PackedPlace,
        target: Path,
        disk: BlockingCalls,
        only: Sequence[str] = (),
        *,
        links: Links = Links.SKIP,
    ) -> None:
        self._place = place
        self._target = target
        self._disk = disk
        self._only = tuple(only)
        self._keeps_links = links is Links.KEEP
        self._links: list[tuple[_Wanted, bytes]] = []  # made after all files, so that none is written through one
        self._folders = Folders(target, follows_links=links is Links.FOLLOW)
        self._done = UnpackResult()
        self._progress: OnBytes | None = None
        self._total: int | None = None

    async def run(self, progress: OnBytes | None = None) -> UnpackResult:
        """Damaged files are counted and named; what concerns all of them is raised."""
        self._progress = progress
        if not self._only:
            self._total = await packed_bytes(self._place)
        system = await self._disk.run(lambda _: system_of(self._target))
        names = LocalNames(system)
        is_empty, limit = True, asyncio.Semaphore(_AT_ONCE)

        async def fetched(some: Sequence[_Wanted]) -> None:
            async with limit:
                await self._fetch(some)

        async for batch in self._wanted(names):
            is_empty = False
            await gather_or_raise(fetched(some) for some in batch)
        if is_empty:
            raise NotFound(
                text("No file of that name is in {place}.", place=str(self._place.folder)),
                text("Use --list to see the files."),
            )
        for one, content in self._links:
            await self._make_link(one, content)
        return self._done

    async def _make_link(self, one: _Wanted, content: bytes) -> None:
        try:
            await self._disk.run(lambda _: make_link(self._folders, one.place, part_of(one.place), content))
        except AppError as error:
            self._fail([one], error)
        else:
            self._well(one)

    def _is_link(self, entry: IndexEntry) -> bool:
        is_small = entry.size_bytes <= MOST_LINK_BYTES
        return self._keeps_links and is_small and entry.path.endswith(LINK_ENDING)

    def _name(self, entry: IndexEntry) -> str:
        return entry.path.removesuffix(LINK_ENDING) if self._is_link(entry) else entry.path

    async def _wanted(self, names: LocalNames) -> AsyncIterator[list[list[_Wanted]]]:
        """Stretches of what is not here yet."""
        async for batch in entries(self._place):
            placed = {entry: self._target / names.place(self._name(entry)) for entry in batch}
            chosen = [entry for entry in batch if self._is_wanted(entry)]
            if not chosen:
                continue
            wanted = [_Wanted(one, placed[one]) for one in chosen]
            links = [one for one in wanted if self._is_link(one.entry)]
            files = [one for one in wanted if not self._is_link(one.entry)]
            missing = await self._disk.run(partial(_missing, files))
            missing += await self._disk.run(partial(_links_to_make, links))
            missing.sort(key=lambda one: (one.entry.shard, one.entry.offset))
            self._done.equal += len(chosen) - len(missing)
            self._moved(sum(one.size_bytes for one in chosen) - sum(one.entry.size_bytes for one in missing))
            found = stretches((one.entry for one in missing), _STRETCH_BYTES, _GAP_BYTES)
            yield [[_Wanted(entry, placed[entry]) for entry in stretch] for stretch in found]

    def _is_wanted(self, entry: IndexEntry) -> bool:
        return not self._only or any(fnmatchcase(entry.path, pattern) for pattern in self._only)

    def _moved(self, size_bytes: int) -> None:
        self._done.bytes += size_bytes
        if self._progress is not None:
            self._progress(self._done.bytes, self._total)

    async def _fetch(self, wanted: Sequence[_Wanted]) -> None:
        first, last = wanted[0].entry, wanted[-1].entry
        try:
            if last.end - first.offset > _STRETCH_BYTES:
                await self._fetch_large(wanted[0])
            else:
                content = await self._place.read(first.shard, first.offset, last.end - first.offset)
                await self._keep(wanted, content)
        except NotFound as error:
            self._fail(wanted, error)

    async def _keep(self, wanted: Sequence[_Wanted], content: bytes) -> None:
        start = wanted[0].entry.offset

        def keep(one: _Wanted) -> AppError | None:
            data = content[one.entry.offset - start : one.entry.end - start]
            if len(data) != one.entry.size_bytes or not _is_md5(one.entry, md5(data).hexdigest()):
                return _damaged(one)
            if self._is_link(one.entry):
                self._links.append((one, data))
                return None
            with local_errors(one.place):
                self._folders.make_above(one.place)
                part = part_of(one.place)
                try:
                    part.write_bytes(data)
                    part.replace(one.place)
                except BaseException:
                    part.unlink(missing_ok=True)
                    raise
            return None

        problems = await self._disk.run(lambda _: [keep(one) for one in wanted])
        for one, problem in zip(wanted, problems, strict=True):
            if problem is None and not self._is_link(one.entry):
                self._well(one)
            elif problem is not None:
                self._fail([one], problem)

    async def _fetch_large(self, one: _Wanted) -> None:
        digest, disk = md5(), self._disk

        def begun() -> PartFile:
            with local_errors(one.place):
                self._folders.make_above(one.place)
            return PartFile(one.place)

        part = await disk.run(lambda _: begun())

        def take(content: bytes) -> None:
            digest.update(content)
            part.write(content)

        try:
            await self._place.feed(one.entry.shard, one.entry.offset, one.entry.size_bytes, take)
            is_good = _is_md5(one.entry, digest.hexdigest())
            if is_good:
                await disk.run(lambda _: part.finish())
        finally:
            await disk.run(lambda _: part.drop())
        if is_good:
            self._well(one)
        else:
            self._fail([one], _damaged(one))

    def _well(self, one: _Wanted) -> None:
        self._done.files += 1
        self._moved(one.entry.size_bytes)

    def _fail(self, wanted: Sequence[_Wanted], error: AppError) -> None:
        self._done.failed += len(wanted)
        self._done.worst = worst(filter(None, (self._done.worst, of_file(error))))
        room = _MOST_FAILURES - len(self._done.failures)
        self._done.failures += [(one.entry.path, error) for one in wanted[:room]]


def _is_md5(entry: IndexEntry, found: str) -> bool:
    return not entry.md5 or entry.md5 == found


def _missing(wanted: Sequence[_Wanted], token: CancelToken) -> list[_Wanted]:
    return [one for one in wanted if not has_md5(one.place, one.entry.size_bytes, one.entry.md5, token)]


def _links_to_make(wanted: Sequence[_Wanted], _: CancelToken) -> list[_Wanted]:
    return [one for one in wanted if not _is_made(one)]


def _is_made(one: _Wanted) -> bool:
    if not one.place.is_symlink():
        return False
    found = kept_link(one.place, "")
    return bool(one.entry.md5) and md5(found.link.encode(errors="replace")).hexdigest() == one.entry.md5


def _damaged(one: _Wanted) -> AppError:
    return LocalTrouble(
        text("“{file}” is not in {shard} as the index says.", file=one.entry.path, shard=one.entry.shard),
        text("The shard was changed or is damaged. Pack the files again."),
    )
