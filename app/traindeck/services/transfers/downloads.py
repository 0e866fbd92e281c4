"""From the service to this computer: by way of a .part file, pinned to one version, never outside the target."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

from traindeck.domain.errors import AppError, Conflict, LocalTrouble, NotFound
from traindeck.domain.local_names import System, part_name
from traindeck.domain.texts import text
from traindeck.domain.transfers import (
    MD5_NAME,
    MODE_NAME,
    PART_BYTES_NAME,
    CompareBy,
    Item,
    ItemState,
    SentPart,
    is_plain_md5,
    part_count,
)
from traindeck.runtime.blocking import CancelToken
from traindeck.runtime.platform_files import local_errors
from traindeck.services.data_ports import Found, Sink
from traindeck.services.transfers.bodies import CHANGED_TRIES, IN_MEMORY_BYTES
from traindeck.services.transfers.comparing import has_content, time_of
from traindeck.services.transfers.digests import etag_of_parts, md5, still_there
from traindeck.services.transfers.in_order import InOrder, damaged
from traindeck.services.transfers.lane import Lane, Unit
from traindeck.services.transfers.moved import Moved
from traindeck.services.transfers.pieces import Pieces

RANGE_BYTES = 16 * 1024 * 1024
_MOST_RANGE_BYTES = 64 * 1024 * 1024
_WRITE_AT_ONCE = 64
# Above this, whoever fetched more writes it himself before he fetches the next.
_ARRIVED_BYTES = 64 * 1024 * 1024
_SYSTEM = System(is_windows=os.name == "nt")


@dataclass(slots=True)
class _Arrived:
    """An object in memory, whole and not yet on the disk."""

    item: Item
    content: bytes
    found: Found
    moved: Moved


@dataclass(slots=True)
class Downloads:
    """Makes units out of the objects of one transfer."""

    lane: Lane
    folders: Folders
    arrived: list[_Arrived] = field(default_factory=list)
    arrived_bytes: int = 0
    is_writing: bool = False

    async def feed(self, items: Sequence[Item]) -> None:
        for item in items:
            if item.size_bytes > IN_MEMORY_BYTES or item.part_bytes:
                self.lane.add(RangedDownload(self.lane, self.folders, item).first_unit())
            else:
                is_small = item.size_bytes <= 1024 * 1024
                self.lane.add(Unit(item, partial(self._fetch, item), item.size_bytes, is_small))
        await self.lane.room()

    async def make_folders(self, items: Sequence[Item]) -> None:
        for item in items:
            self.lane.add(Unit(item, partial(self._make_folder, item)))

    async def _make_folder(self, item: Item) -> None:
        place = self.lane.place(item)
        await self.lane.ground.disk.run(lambda _: self.folders.make(place))
        self.lane.ended(item, ItemState.DONE, is_verified=True)

    async def _fetch(self, item: Item) -> None:
        lane, moved = self.lane, Moved(self.lane)
        if lane.is_doubtful(item) and is_plain_md5(item.etag):
            expected = Found(lane.remote(item), item.size_bytes, item.etag)
            if await lane.ground.disk.run(partial(_is_there, lane.place(item), expected)):
                moved.settle(item.size_bytes)
                lane.ended(item, ItemState.DONE, is_verified=True)
                return
        for _ in range(CHANGED_TRIES):
            pieces: list[bytes] = []
            try:
                found = await moved.by(
                    (await lane.plane()).get(lane.remote(item), _sink(lane, moved, pieces), if_match=item.etag)
                )
            except Conflict as error:
                item = await pinned_anew(lane, item, error)
                if item.size_bytes > IN_MEMORY_BYTES:
                    lane.add(RangedDownload(lane, self.folders, item).first_unit())
                    return
                continue
            arrived = _Arrived(item, b"".join(pieces), found, moved)
            if self.arrived_bytes > _ARRIVED_BYTES:
                await moved.by(self._write_batch([arrived]))
                return
            self.arrived.append(arrived)
            self.arrived_bytes += len(arrived.content)
            if not self.is_writing:
                self.is_writing = True
                lane.put_back(Unit(item, self._write, fail=self._cannot_write))
                lane.tell()
            return
        raise _keeps_changing(str(lane.remote(item)))

    async def _write(self) -> None:
        """Put on the disk what has arrived, and what arrives meanwhile; one does it for all."""
        while self.arrived:
            batch = self.arrived[:_WRITE_AT_ONCE]
            await self._write_batch(batch)  # one that is cancelled here is done again
            del self.arrived[: len(batch)]
            self.arrived_bytes -= sum(len(one.content) for one in batch)
        self.is_writing = False

    def _cannot_write(self, error: AppError) -> None:
        """Only a mistake of ours comes here: what the disk refuses is told of each file."""
        self.is_writing = False
        arrived, self.arrived, self.arrived_bytes = self.arrived, [], 0
        for one in arrived:
            one.moved.settle(0)
            self.lane.failed(one.item, error)

    async def _write_batch(self, batch: list[_Arrived]) -> None:
        lane = self.lane
        places = [(lane.place(one.item), one) for one in batch]
        answers = await lane.ground.disk.run(lambda _: [self._keep(place, one) for place, one in places])
        for one, answer in zip(batch, answers, strict=True):
            if isinstance(answer, AppError):
                one.moved.settle(0)
                lane.failed(one.item, answer)
            else:
                one.moved.settle(len(one.content))
                lane.ended(one.item, ItemState.DONE, is_verified=answer)

    def _keep(self, place: Path, one: _Arrived) -> bool | AppError:
        """Whether the content could be verified; blocks."""
        try:
            is_verified = _verified_whole(one.content, one.found, str(self.lane.remote(one.item)))
            with local_errors(place):
                self.folders.make_above(place)
                part = place.with_name(part_name(place.name, _SYSTEM))
                try:
                    part.write_bytes(one.content)
                    settle(self.lane, part, one.found)
                    part.replace(place)
                except BaseException:
                    part.unlink(missing_ok=True)
                    raise
        except AppError as error:
            return error
        return is_verified


@dataclass(slots=True)
class RangedDownload:
    """One large object: fetched in ranges, each written down, hashed in order while the rest arrives."""

    lane: Lane
    folders: Folders
    item: Item
    found: Found | None = None
    kept: dict[int, SentPart] = field(default_factory=dict)
    digest: InOrder | None = None
    has_changed: bool = False
    tries: int = 0
    pieces: Pieces = field(init=False)

    def __post_init__(self) -> None:
        self.pieces = Pieces(self.lane, lambda: self.item, self._close)

    def first_unit(self) -> Unit:
        return self.pieces.first_unit(self._begin)

    @property
    def part(self) -> Path:
        return part_of(self.lane, self.item)

    async def _begin(self) -> None:
        lane, item = self.lane, self.item
        self.tries += 1
        if self.tries > CHANGED_TRIES:
            raise _keeps_changing(str(lane.remote(item)))
        found = await (await lane.plane()).head(lane.remote(item))
        if found is None:
            raise _gone(str(lane.remote(item)))
        await lane.ground.ledger.flush()
        kept = {one.number: one for one in await lane.ground.journal.parts(lane.id, item.key)}
        is_same = (found.etag, found.size_bytes) == (item.etag, item.size_bytes)
        is_here = await lane.ground.disk.run(lambda _: _size_of(self.part) == item.size_bytes)
        self.found, self.has_changed, self.kept = found, False, kept
        may_be_done = bool(item.part_bytes) or lane.is_doubtful(item)
        if may_be_done and is_same and not is_here and await self._is_finished(found):
            lane.count(item.size_bytes - sum(one.size_bytes for one in kept.values()))
            lane.ended(item, ItemState.DONE, is_verified=True)
            return
        if not (item.part_bytes and is_same and is_here):
            lane.count(-sum(one.size_bytes for one in kept.values()))
            self.kept = {}
            size = _range_bytes(found)
            self.item = replace(item, etag=found.etag, size_bytes=found.size_bytes, part_bytes=size)
            place, part, whole = lane.place(item), self.part, found.size_bytes
            await lane.ground.journal.begin_parts(lane.id, self.item)
            await lane.ground.disk.run(lambda _: _prepare(self.folders, place, part, whole))
        wants_whole = _expected_whole(found) and not _has_layout(found, self.item.part_bytes)
        if self.kept and not wants_whole:
            # Their signs are of what came; a power cut may have kept it from the disk.
            still = await lane.ground.disk.run(partial(still_there, self.part, self.item.part_bytes, self.kept))
            lane.count(-sum(one.size_bytes for number, one in self.kept.items() if number not in still))
            self.kept = still
        self.digest = InOrder(self.part, self.item, set(self.kept)) if wants_whole else None
        count = part_count(self.item.size_bytes, self.item.part_bytes)
        missing = [number for number in range(1, count + 1) if number not in self.kept]
        await self.pieces.hand_out(missing, self._size, self._fetch)

    async def _is_finished(self, found: Found) -> bool:
        """Whether an earlier program was done with it, and only did not write that down any more."""
        return await self.lane.ground.disk.run(partial(_is_there, self.lane.place(self.item), found))

    def _size(self, number: int) -> int:
        return min(self.item.part_bytes, self.item.size_bytes - (number - 1) * self.item.part_bytes)

    async def _fetch(self, number: int) -> None:
        if self.has_changed:
            return
        lane, item, part = self.lane, self.item, self.part
        offset, size = (number - 1) * item.part_bytes, self._size(number)
        moved, pieces = Moved(lane), list[bytes]()
        try:
            await moved.by((await lane.plane()).get(
                lane.remote(item), _sink(lane, moved, pieces), offset=offset, length=size, if_match=item.etag
            ))  # fmt: skip
        except Conflict as error:
            await pinned_anew(lane, item, error)
            self.has_changed = True
            return
        sign = await moved.by(lane.ground.disk.run(lambda token: self._keep(part, number, pieces, token)))
        self.kept[number] = SentPart(number, size, sign)
        lane.part_done(item, self.kept[number])

    def _keep(self, part: Path, number: int, pieces: list[bytes], token: CancelToken) -> str:
        """Write a range where it belongs; its MD5 where that helps to verify. Blocks."""
        with local_errors(part), part.open("r+b", buffering=0) as file:
            file.seek((number - 1) * self.item.part_bytes)
            sign = md5()
            for piece in pieces:
                _write_all(file, piece)
                if self.digest is None:
                    sign.update(piece)
        if self.digest is not None:
            self.digest.has(number, token)
            return ""
        return sign.hexdigest()

    async def _close(self) -> None:
        if self.has_changed:
            self._begin_again()
        else:
            await self._finish()

    def _begin_again(self) -> None:
        self.item = replace(self.item, part_bytes=0)
        self.lane.add(self.first_unit())

    async def _finish(self) -> None:
        lane, found, part, place = self.lane, self.found, self.part, self.lane.place(self.item)
        assert found is not None
        is_verified = await lane.ground.disk.run(lambda token: self._verified(found, token))
        if is_verified is False:
            if self.tries < CHANGED_TRIES:
                self._begin_again()
                return
            raise damaged(str(lane.remote(self.item)))
        await lane.ground.disk.run(lambda _: _complete(lane, part, place, found))
        lane.ended(self.item, ItemState.DONE, is_verified=bool(is_verified))

    def _verified(self, found: Found, token: CancelToken) -> bool | None:
        """None: the service does not say what the content should be."""
        if self.digest is not None:
            return self.digest.whole(token) == _expected_whole(found)
        if _has_layout(found, self.item.part_bytes):
            signs = [one.etag for _, one in sorted(self.kept.items())]
            return etag_of_parts([bytes.fromhex(sign) for sign in signs]) == found.etag
        return None


class Folders:
    """Makes folders below one target, and sees that nothing leads out of it."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._known: set[Path] = set()
        self._real: Path | None = None

    def make_above(self, place: Path) -> None:
        if place == self._root:
            place.parent.mkdir(parents=True, exist_ok=True)
        else:
            self.make(place.parent)

    def make(self, folder: Path) -> None:
        if folder in self._known:
            return
        with local_errors(folder):
            if self._real is None:
                self._root.mkdir(parents=True, exist_ok=True)
                self._real = self._root.resolve()
            folder.mkdir(parents=True, exist_ok=True)
            if not folder.resolve().is_relative_to(self._real):
                raise _leads_out(folder)
        self._known.add(folder)


def part_of(lane: Lane, item: Item) -> Path:
    """Where the object is while it is not whole."""
    place = lane.place(item)
    return place.with_name(part_name(place.name, _SYSTEM))


def _sink(lane: Lane, moved: Moved, pieces: list[bytes]) -> Sink:
    limit = lane.ground.limit

    def take(piece: bytes) -> Awaitable[None] | None:
        pieces.append(piece)
        moved.count(len(piece))
        return limit.take(len(piece)) if limit.bytes_per_s else None

    return take


async def pinned_anew(lane: Lane, item: Item, error: Conflict) -> Item:
    """The item as the service has it now, after it was found to be another; `error` where it is not."""
    found = await (await lane.plane()).head(lane.remote(item))
    if found is None:
        raise _gone(str(lane.remote(item)))
    if found.etag == item.etag:
        raise error
    return replace(item, etag=found.etag, size_bytes=found.size_bytes, part_bytes=0)


def settle(lane: Lane, place: Path, found: Found) -> None:
    """Time and rights as they were asked for; blocks."""
    rules = lane.record.order.rules
    if rules.keep_times or rules.compare is CompareBy.SIZE_AND_TIME:
        kept = time_of(found.metadata)
        if kept is None and found.modified is not None:
            kept = round(found.modified.timestamp() * 1000) * 1_000_000
        if kept is not None:
            os.utime(place, ns=(kept, kept))
    mode = found.metadata.get(MODE_NAME, "")
    if rules.keep_modes and mode and all(letter in "01234567" for letter in mode):
        place.chmod(int(mode, 8) & 0o777)


def _verified_whole(content: bytes, found: Found, place: str) -> bool:
    if len(content) != found.size_bytes:
        raise damaged(place)
    expected = _expected_whole(found)
    if expected:
        if md5(content).hexdigest() != expected:
            raise damaged(place)
        return True
    size = found.metadata.get(PART_BYTES_NAME, "")
    if size.isdecimal() and int(size) and _has_layout(found, int(size)):
        parts = [md5(content[at : at + int(size)]).digest() for at in range(0, len(content), int(size))]
        if etag_of_parts(parts) != found.etag:
            raise damaged(place)
        return True
    return False


def _expected_whole(found: Found) -> str:
    if not found.is_encrypted and is_plain_md5(found.etag):
        return found.etag
    kept = found.metadata.get(MD5_NAME, "")
    return kept if is_plain_md5(kept) else ""


def _has_layout(found: Found, size: int) -> bool:
    return not found.is_encrypted and "-" in found.etag and found.metadata.get(PART_BYTES_NAME, "") == str(size)


def _range_bytes(found: Found) -> int:
    """The parts it was sent in, where that is known: then each can be verified alone."""
    kept = found.metadata.get(PART_BYTES_NAME, "")
    size = int(kept) if kept.isdecimal() else 0
    return size if 0 < size <= _MOST_RANGE_BYTES and _has_layout(found, size) else RANGE_BYTES


def _is_there(place: Path, found: Found, token: CancelToken) -> bool:
    return _size_of(place) == found.size_bytes and has_content(place, found, token)


def _size_of(place: Path) -> int:
    try:
        return place.stat().st_size
    except OSError:
        return -1


def _prepare(folders: Folders, place: Path, part: Path, size: int) -> None:
    with local_errors(part):
        folders.make_above(place)
        part.unlink(missing_ok=True)
        if shutil.disk_usage(part.parent).free < size:  # better told now than after hours
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(part))
        with part.open("wb") as file:
            file.truncate(size)


def _complete(lane: Lane, part: Path, place: Path, found: Found) -> None:
    with local_errors(place):
        with part.open("r+b") as file:
            os.fsync(file.fileno())
        settle(lane, part, found)
        part.replace(place)


def _write_all(file: BinaryIO, piece: bytes) -> None:
    view = memoryview(piece)
    while view:
        view = view[file.write(view) :]


def _gone(place: str) -> AppError:
    return NotFound(
        text("{place} is no longer there.", place=place),
        text("It was deleted or moved since the list was made. Refresh the list."),
    )


def _keeps_changing(place: str) -> AppError:
    return Conflict(
        text("{place} changes all the time and was not fetched.", place=place),
        text("Wait until whoever writes it is done, then try again."),
    )


def _leads_out(folder: Path) -> AppError:
    return LocalTrouble(
        text("“{place}” is a link that leads out of the target folder.", place=str(folder)),
        text("Nothing was written there. Remove the link, or choose another folder."),
    )
