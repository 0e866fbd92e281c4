"""From the service to this computer: by way of a .part file, pinned to one version, never outside the target."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Lock

from traindeck.domain.errors import AppError, Conflict
from traindeck.domain.storage.objects import MODE_NAME
from traindeck.domain.texts import text
from traindeck.domain.transfers.local_names import HERE, part_name
from traindeck.domain.transfers.orders import MOST_LINK_BYTES, CompareBy
from traindeck.domain.transfers.records import Action, Item, ItemState, SentPart, is_plain_md5
from traindeck.runtime.blocking import CancelToken
from traindeck.runtime.crc import crc64, crc64_of_pieces
from traindeck.runtime.disk_barrier import on_the_disk, write_for_later
from traindeck.runtime.files import local_error, local_errors
from traindeck.services.storage.data_ports import ObjectHead, Sink
from traindeck.services.transfers.active import ActiveTransfer
from traindeck.services.transfers.among import Gathering
from traindeck.services.transfers.bodies import (
    CHANGED_TRIES,
    IN_MEMORY_BYTES,
    Moved,
    SourceChanged,
    seen,
    size_of,
)
from traindeck.services.transfers.comparing import (
    Match,
    matched,
    part_layout,
    says_all,
    time_ns_of,
    time_of,
    whole_md5,
)
from traindeck.services.transfers.digests import (
    Checksum,
    InOrder,
    damaged,
    etag_of_parts,
    file_digests,
    md5,
    still_there,
)
from traindeck.services.transfers.parts import InParts
from traindeck.services.transfers.placing import Folders, leads_out, make_link, put_in_place
from traindeck.services.transfers.range_writing import RangeWriter
from traindeck.services.transfers.ready import Unit

RANGE_BYTES = 16 * 1024 * 1024
_MOST_RANGE_BYTES = 64 * 1024 * 1024
_WRITE_AT_ONCE = 256
# Above this, whoever fetched more writes some of it before he fetches the next.
_ARRIVED_BYTES = 16 * 1024 * 1024
_SETTLE_AT_ONCE = 4096
_SETTLE_AFTER_S = 0.5


@dataclass(slots=True)
class _Arrived:
    """An object in memory, whole and not yet on the disk."""

    item: Item
    content: bytes
    found: ObjectHead
    moved: Moved


@dataclass(frozen=True, slots=True)
class _Written:
    """A file under its name, which a power cut could still take away."""

    item: Item
    is_verified: bool
    here: Item | None  # what it is like on this computer, where that is worth remembering


class Downloads:
    """Makes units out of the objects of one transfer."""

    def __init__(self, active: ActiveTransfer, folders: Folders) -> None:
        self.active = active
        self.folders = folders
        self.arrived_bytes = 0
        self._helping = asyncio.Lock()
        self.arrived = Gathering[_Arrived](active, self._write, self._cannot_write, most=_WRITE_AT_ONCE)
        self.written = Gathering[_Written](
            active,
            self._settle,
            lambda one, error: active.failed(one.item, error),
            most=_SETTLE_AT_ONCE,
            wait_s=_SETTLE_AFTER_S,
        )

    async def feed(self, items: Sequence[Item]) -> None:
        for item in items:
            if item.action is Action.MAKE_FOLDER:
                self.active.add(Unit(item, partial(self._make_folder, item)))
            elif item.action is Action.LINK:
                self.active.add(Unit(item, partial(self._make_link, item)))
            elif item.size_bytes > IN_MEMORY_BYTES or item.part_bytes:
                self.active.add(RangedDownload(self.active, self.folders, item).first_unit())
            else:
                is_small = item.size_bytes <= 1024 * 1024
                self.active.add(Unit(item, partial(self._fetch, item), item.size_bytes, is_small))
        await self.active.room()

    async def _make_folder(self, item: Item) -> None:
        place = self.active.place(item)
        await self.active.engine.disk.run(lambda _: self.folders.make(place))
        self.active.ended(item, ItemState.DONE, is_verified=True)

    async def _make_link(self, item: Item) -> None:
        """After all files: what somebody wrote into an object leads nobody out of the target, nor any file."""
        active, moved, place = self.active, Moved(self.active), self.active.place(item)
        if item.size_bytes > MOST_LINK_BYTES:
            raise leads_out(str(place))
        pieces: list[bytes] = []
        await moved.by(
            (await active.plane()).get(active.remote(item), _sink(active, moved, pieces), if_match=item.etag)
        )
        content = b"".join(pieces)
        await active.engine.disk.run(
            lambda _: make_link(
                self.folders, place, active.part(item), content, only_new=active.record.order.rules.keeps_existing
            )
        )
        moved.settle(item.size_bytes)
        active.ended(item, ItemState.DONE, is_verified=md5(content).hexdigest() == item.etag)

    async def _fetch(self, item: Item) -> None:
        active, moved = self.active, Moved(self.active)
        if active.is_doubtful(item) and is_plain_md5(item.etag):
            expected = ObjectHead(active.remote(item), item.size_bytes, item.etag)
            if await _is_there(active, active.place(item), expected):
                moved.settle(item.size_bytes)
                active.ended(item, ItemState.DONE, is_verified=True)
                return
        for _ in range(CHANGED_TRIES):
            pieces: list[bytes] = []
            try:
                found = await moved.by(
                    (await active.plane()).get(
                        active.remote(item),
                        _sink(active, moved, pieces),
                        if_match=item.etag,
                        listed_bytes=item.size_bytes,
                    )
                )
            except Conflict as error:
                item = await pinned_anew(active, item, error)
                if item.size_bytes > IN_MEMORY_BYTES:
                    active.add(RangedDownload(active, self.folders, item).first_unit())
                    return
                continue
            if self.arrived_bytes > _ARRIVED_BYTES:
                await moved.by(self._make_room())
            arrived = _Arrived(item, b"".join(pieces), found, moved)
            self.arrived_bytes += len(arrived.content)
            self.arrived.add(item, arrived)
            return
        raise _keeps_changing(str(active.remote(item)))

    async def _make_room(self) -> None:
        """One helps, and the others wait: each would only write the few that came in between."""
        async with self._helping:
            if self.arrived_bytes > _ARRIVED_BYTES:
                await self.arrived.work_off()

    async def _write(self, batch: Sequence[_Arrived]) -> None:
        active = self.active
        places = [(active.place_words(one.item), one) for one in batch]
        answers = await active.engine.disk.run(lambda _: [self._keep(place, one) for place, one in places])
        for one, answer in zip(batch, answers, strict=True):
            self.arrived_bytes -= len(one.content)
            if isinstance(answer, AppError):
                one.moved.settle(0)
                active.failed(one.item, answer)
            elif answer is None:
                one.moved.settle(0)
                active.add(RangedDownload(active, self.folders, one.item).first_unit())
            else:
                one.moved.settle(len(one.content))
                self.written.add(one.item, answer)

    def _cannot_write(self, one: _Arrived, error: AppError) -> None:
        """Only a mistake of ours comes here: what the disk refuses is told of each file."""
        self.arrived_bytes -= len(one.content)
        one.moved.settle(0)
        self.active.failed(one.item, error)

    def _keep(self, place: str, one: _Arrived) -> _Written | AppError | None:
        """Whether the content could be verified; blocks. None: what is written down with it speaks against it.

        Names as text: a Path costs more than a small file.
        """
        active = self.active
        above, name = os.path.split(place)
        part = os.path.join(above, part_name(name, HERE, active.mark))  # noqa: PTH118
        try:
            is_verified = _verified_whole(one.content, one.found)
            if is_verified is False:
                return damaged(str(active.remote(one.item))) if says_all(one.found) else None
            if not self.folders.knows(above):
                self.folders.make_above(Path(place))
            try:
                write_for_later(part, one.content)
                settle(active, part, one.found)
                here = seen(one.item, os.stat(part)) if active.remembers else None  # noqa: PTH116
                put_in_place(part, place, only_new=active.record.order.rules.keeps_existing)
            except BaseException:
                with suppress(FileNotFoundError):
                    os.unlink(part)  # noqa: PTH108
                raise
        except OSError as error:
            return local_error(error, Path(place))
        except AppError as error:
            return error
        return _Written(one.item, bool(is_verified), here)

    async def _settle(self, batch: Sequence[_Written]) -> None:
        """Only now it counts as done: a power cut before this costs a second fetch, and no file."""
        active = self.active
        await active.engine.disk.run(lambda _: _on_the_disk(self.folders))
        for one in batch:
            if one.here is not None and one.is_verified:
                active.remember(one.here)
            active.ended(one.item, ItemState.DONE, is_verified=one.is_verified)


class RangedDownload(InParts):
    """One large object: fetched in ranges, each written down, hashed in order while the rest arrives."""

    def __init__(self, active: ActiveTransfer, folders: Folders, item: Item) -> None:
        super().__init__(active, item)
        self._folders = folders
        self._found: ObjectHead | None = None
        self._digest: InOrder | None = None
        self._is_damaged = False
        self._came = ""  # the MD5 of what is not as somebody wrote down
        self._turn = Lock()

    async def take_up(self, kept: Mapping[int, SentPart]) -> dict[int, SentPart] | None:
        active, item, part = self.active, self.item, self.active.part(self.item)
        found = await active.head(item)
        # Where the service names no content, nothing tells that it is still the same.
        is_same = bool(item.etag) and (found.etag, found.size_bytes) == (item.etag, item.size_bytes)
        is_here = await active.engine.disk.run(lambda _: size_of(part) == item.size_bytes)
        self._found, self._is_damaged = found, False
        may_be_done = is_same and not is_here and (item.part_bytes or active.is_doubtful(item))
        if may_be_done and await _is_there(active, active.place(item), found):
            self.was_done(kept)
            return None
        good = dict(kept)
        if not (item.part_bytes and is_same and is_here):
            good = {}
            size = _range_bytes(found)
            self.item = replace(item, etag=found.etag, size_bytes=found.size_bytes, part_bytes=size)
            place, whole = active.place(item), found.size_bytes
            await active.engine.journal.begin_parts(active.id, self.item)
            await active.engine.disk.run(lambda _: _prepare(self._folders, place, part, whole))
        is_in_parts = part_layout(found) == self.item.part_bytes
        wants_whole = found.crc64 is None and not is_in_parts and bool(whole_md5(found))
        if good and not wants_whole:
            # An earlier program, or the service then, may have had another kind of checksum.
            good = {number: one for number, one in good.items() if (one.crc64 is None) == (found.crc64 is None)}
            # They are of what came; a power cut may have kept it from the disk.
            good = await active.engine.disk.run(partial(still_there, part, self.item.part_bytes, good))
        self._digest = InOrder(part, self.item, set(good)) if wants_whole else None
        return good

    async def move(self, number: int) -> SentPart:
        active, item, part = self.active, self.item, self.active.part(self.item)
        offset, size = self.offset_of(number), self.size_of(number)
        moved, engine = Moved(active), active.engine
        is_by_crc64 = self._found is not None and self._found.crc64 is not None
        checksum = Checksum(by_crc64=is_by_crc64) if self._digest is None else None
        writer = RangeWriter(part, offset, size, engine.disk, moved.count, engine.limit, self._turn, checksum=checksum)
        try:
            await moved.by((await active.plane()).get(
                active.remote(item), writer, offset=offset, length=size, if_match=item.etag
            ))  # fmt: skip
        except Conflict as error:
            await pinned_anew(active, item, error)
            raise SourceChanged from error
        await moved.by(writer.empty())
        if self._digest is not None:
            await moved.by(engine.disk.run(partial(self._digest.has, number)))
        return SentPart(number, size, checksum.md5.hex(), checksum.crc64) if checksum else SentPart(number, size)

    async def finish(self) -> bool:
        active, found, part, place = self.active, self._found, self.active.part(self.item), self.active.place(self.item)
        assert found is not None
        is_verified = await active.engine.disk.run(lambda token: self._verified(found, token))
        if is_verified is False:
            match = await matched(await active.plane(), active.engine.disk, part, found)
            if match is Match.NO or (match is not Match.YES and not await self._came_before(part)):
                self._is_damaged = True
                return False
            is_verified = match is Match.YES
        here = await active.engine.disk.run(lambda _: _complete(active, part, place, self.item, found))
        if active.remembers and is_verified:
            active.remember(here)
        active.ended(self.item, ItemState.DONE, is_verified=bool(is_verified))
        return True

    def _verified(self, found: ObjectHead, token: CancelToken) -> bool | None:
        """None: the service does not say what the content should be."""
        if found.crc64 is not None:
            ordered = [(part.crc64 or 0, part.size_bytes) for _, part in sorted(self.parts.items())]
            return crc64_of_pieces(ordered) == found.crc64
        if self._digest is not None:
            return self._digest.whole(token) == whole_md5(found)
        if part_layout(found) == self.item.part_bytes:
            signs = [one.etag for _, one in sorted(self.parts.items())]
            return etag_of_parts([bytes.fromhex(sign) for sign in signs]) == found.etag
        return None

    async def _came_before(self, part: Path) -> bool:
        """Whether the same came the last time: then the service has it so, and what is written down is not true."""
        came, _ = await self.active.engine.disk.run(partial(file_digests, part))
        before, self._came = self._came, came
        return came == before

    async def drop(self) -> None:
        part = self.active.part(self.item)
        with local_errors(part):
            await self.active.engine.disk.run(lambda _: part.unlink(missing_ok=True))
        self.item = replace(self.item, part_bytes=0)

    def given_up(self) -> AppError:
        place = str(self.active.remote(self.item))
        return damaged(place) if self._is_damaged else _keeps_changing(place)


def _sink(active: ActiveTransfer, moved: Moved, pieces: list[bytes]) -> Sink:
    limit = active.engine.limit

    def take(piece: bytes) -> Awaitable[None] | None:
        pieces.append(piece)
        moved.count(len(piece))
        return limit.take(len(piece)) if limit.bytes_per_s else None

    return take


async def pinned_anew(active: ActiveTransfer, item: Item, error: Conflict) -> Item:
    """The item as the service has it now, after it was found to be another; `error` where it is not."""
    found = await active.head(item)
    if found.etag == item.etag:
        raise error
    return replace(item, etag=found.etag, size_bytes=found.size_bytes, part_bytes=0)


def settle(active: ActiveTransfer, place: str | Path, found: ObjectHead) -> None:
    """Time and rights as they were asked for; blocks."""
    rules = active.record.order.rules
    if rules.keep_times or rules.compare is CompareBy.SIZE_AND_TIME:
        kept = time_of(found.metadata)
        if kept is None and found.modified is not None:
            kept = time_ns_of(found.modified)
        if kept is not None:
            os.utime(place, ns=(kept, kept))
    mode = found.metadata.get(MODE_NAME, "")
    if rules.keep_modes and mode and all(letter in "01234567" for letter in mode):
        Path(place).chmod(int(mode, 8) & 0o777)


def _verified_whole(content: bytes, found: ObjectHead) -> bool | None:
    """None: nobody says what it should be."""
    if found.crc64 is not None and (found.is_encrypted or not is_plain_md5(found.etag)):
        return crc64(content) == found.crc64
    if size := part_layout(found):
        parts = [md5(content[at : at + size]).digest() for at in range(0, len(content), size)]
        return etag_of_parts(parts) == found.etag
    expected = whole_md5(found)
    return md5(content).hexdigest() == expected if expected else None


def _range_bytes(found: ObjectHead) -> int:
    """The parts it was sent in, where that is known and each can be verified only so."""
    size = part_layout(found) if found.crc64 is None else 0
    return size if 0 < size <= _MOST_RANGE_BYTES else RANGE_BYTES


async def _is_there(active: ActiveTransfer, place: Path, found: ObjectHead) -> bool:
    disk = active.engine.disk
    if await disk.run(lambda _: size_of(place)) != found.size_bytes:
        return False
    return await matched(await active.plane(), disk, place, found) is Match.YES


def _prepare(folders: Folders, place: Path, part: Path, size: int) -> None:
    with local_errors(part):
        folders.make_above(place)
        part.unlink(missing_ok=True)
        if shutil.disk_usage(part.parent).free < size:  # better told now than after hours
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(part))
        with part.open("wb") as file:
            file.truncate(size)


def _complete(active: ActiveTransfer, part: Path, place: Path, item: Item, found: ObjectHead) -> Item:
    with local_errors(place):
        with part.open("r+b") as file:
            os.fsync(file.fileno())
        settle(active, part, found)
        here = seen(item, part.stat())
        put_in_place(part, place, only_new=active.record.order.rules.keeps_existing)
    return here


def _on_the_disk(folders: Folders) -> None:
    folder = folders.root if folders.root.is_dir() else folders.root.parent
    with local_errors(folder):
        on_the_disk(folder)


def _keeps_changing(place: str) -> AppError:
    return Conflict(
        text("{place} keeps changing and was not downloaded.", place=place),
        text("Wait until it is no longer written, then try again."),
    )
