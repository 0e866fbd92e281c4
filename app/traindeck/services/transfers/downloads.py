"""From the service to this computer: by way of a .part file, pinned to one version, never outside the target."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import BinaryIO

from traindeck.domain.errors import AppError, Conflict, LocalTrouble, NotFound
from traindeck.domain.storage.objects import MODE_NAME
from traindeck.domain.texts import text
from traindeck.domain.transfers.local_names import System, part_name
from traindeck.domain.transfers.records import (
    CompareBy,
    Item,
    ItemState,
    SentPart,
    is_plain_md5,
)
from traindeck.runtime.blocking import CancelToken
from traindeck.runtime.disk_barrier import on_the_disk, write_for_later
from traindeck.runtime.files import local_error, local_errors
from traindeck.services.storage.data_ports import ObjectHead, Sink
from traindeck.services.transfers.active import ActiveTransfer, Unit
from traindeck.services.transfers.among import Gathering
from traindeck.services.transfers.bodies import (
    CHANGED_TRIES,
    IN_MEMORY_BYTES,
    Moved,
    SourceChanged,
    seen,
)
from traindeck.services.transfers.comparing import has_content, part_layout, time_of, whole_md5
from traindeck.services.transfers.digests import InOrder, damaged, etag_of_parts, md5, still_there
from traindeck.services.transfers.parts import InParts

RANGE_BYTES = 16 * 1024 * 1024
_MOST_RANGE_BYTES = 64 * 1024 * 1024
_WRITE_AT_ONCE = 64
# Above this, whoever fetched more writes it himself before he fetches the next.
_ARRIVED_BYTES = 64 * 1024 * 1024
_SETTLE_AT_ONCE = 4096
_SETTLE_AFTER_S = 0.5
_SYSTEM = System(is_windows=os.name == "nt")


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


@dataclass(slots=True)
class Downloads:
    """Makes units out of the objects of one transfer."""

    active: ActiveTransfer
    folders: Folders
    arrived: Gathering[_Arrived] = field(init=False)
    arrived_bytes: int = 0
    written: Gathering[_Written] = field(init=False)

    def __post_init__(self) -> None:
        self.arrived = Gathering(self.active, self._write, self._cannot_write, most=_WRITE_AT_ONCE)
        self.written = Gathering(
            self.active,
            self._settle,
            lambda one, error: self.active.failed(one.item, error),
            most=_SETTLE_AT_ONCE,
            wait_s=_SETTLE_AFTER_S,
        )

    async def feed(self, items: Sequence[Item]) -> None:
        for item in items:
            if item.size_bytes > IN_MEMORY_BYTES or item.part_bytes:
                self.active.add(RangedDownload(self.active, self.folders, item).first_unit())
            else:
                is_small = item.size_bytes <= 1024 * 1024
                self.active.add(Unit(item, partial(self._fetch, item), item.size_bytes, is_small))
        await self.active.room()

    async def make_folders(self, items: Sequence[Item]) -> None:
        for item in items:
            self.active.add(Unit(item, partial(self._make_folder, item)))

    async def _make_folder(self, item: Item) -> None:
        place = self.active.place(item)
        await self.active.context.disk.run(lambda _: self.folders.make(place))
        self.active.ended(item, ItemState.DONE, is_verified=True)

    async def _fetch(self, item: Item) -> None:
        active, moved = self.active, Moved(self.active)
        if active.is_doubtful(item) and is_plain_md5(item.etag):
            expected = ObjectHead(active.remote(item), item.size_bytes, item.etag)
            if await active.context.disk.run(partial(_is_there, active.place(item), expected)):
                moved.settle(item.size_bytes)
                active.ended(item, ItemState.DONE, is_verified=True)
                return
        for _ in range(CHANGED_TRIES):
            pieces: list[bytes] = []
            try:
                found = await moved.by(
                    (await active.plane()).get(active.remote(item), _sink(active, moved, pieces), if_match=item.etag)
                )
            except Conflict as error:
                item = await pinned_anew(active, item, error)
                if item.size_bytes > IN_MEMORY_BYTES:
                    active.add(RangedDownload(active, self.folders, item).first_unit())
                    return
                continue
            arrived = _Arrived(item, b"".join(pieces), found, moved)
            self.arrived_bytes += len(arrived.content)
            if self.arrived_bytes > _ARRIVED_BYTES + len(arrived.content):
                try:
                    await moved.by(self._write([arrived]))
                except BaseException:
                    self.arrived_bytes -= len(arrived.content)
                    raise
            else:
                self.arrived.add(item, arrived)
            return
        raise _keeps_changing(str(active.remote(item)))

    async def _write(self, batch: Sequence[_Arrived]) -> None:
        active = self.active
        places = [(active.place_words(one.item), one) for one in batch]
        answers = await active.context.disk.run(lambda _: [self._keep(place, one) for place, one in places])
        for one, answer in zip(batch, answers, strict=True):
            self.arrived_bytes -= len(one.content)
            if isinstance(answer, AppError):
                one.moved.settle(0)
                active.failed(one.item, answer)
            else:
                one.moved.settle(len(one.content))
                self.written.add(one.item, answer)

    def _cannot_write(self, one: _Arrived, error: AppError) -> None:
        """Only a mistake of ours comes here: what the disk refuses is told of each file."""
        self.arrived_bytes -= len(one.content)
        one.moved.settle(0)
        self.active.failed(one.item, error)

    def _keep(self, place: str, one: _Arrived) -> _Written | AppError:
        """Whether the content could be verified; blocks. Names as text: a Path costs more than a small file."""
        active = self.active
        above, name = os.path.split(place)
        part = os.path.join(above, _part_name(active, name))  # noqa: PTH118
        try:
            is_verified = _verified_whole(one.content, one.found, active, one.item)
            if not self.folders.knows(above):
                self.folders.make_above(Path(place))
            try:
                write_for_later(part, one.content)
                settle(active, part, one.found)
                here = seen(one.item, os.stat(part)) if active.remembers else None  # noqa: PTH116
                os.replace(part, place)  # noqa: PTH105
            except BaseException:
                with suppress(FileNotFoundError):
                    os.unlink(part)  # noqa: PTH108
                raise
        except OSError as error:
            return local_error(error, Path(place))
        except AppError as error:
            return error
        return _Written(one.item, is_verified, here)

    async def _settle(self, batch: Sequence[_Written]) -> None:
        """Only now it counts as done: a power cut before this costs a second fetch, and no file."""
        active = self.active
        await active.context.disk.run(lambda _: _on_the_disk(self.folders))
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

    @property
    def part(self) -> Path:
        return part_of(self.active, self.item)

    async def take_up(self, kept: Mapping[int, SentPart]) -> dict[int, SentPart] | None:
        active, item = self.active, self.item
        found = await (await active.plane()).head(active.remote(item))
        if found is None:
            raise _gone(str(active.remote(item)))
        # Where the service names no content, nothing tells that it is still the same.
        is_same = bool(item.etag) and (found.etag, found.size_bytes) == (item.etag, item.size_bytes)
        is_here = await active.context.disk.run(lambda _: _size_of(self.part) == item.size_bytes)
        self._found, self._is_damaged = found, False
        may_be_done = bool(item.part_bytes) or active.is_doubtful(item)
        if may_be_done and is_same and not is_here and await self._is_finished(found):
            self.was_done(kept)
            return None
        good = dict(kept)
        if not (item.part_bytes and is_same and is_here):
            good = {}
            size = _range_bytes(found)
            self.item = replace(item, etag=found.etag, size_bytes=found.size_bytes, part_bytes=size)
            place, part, whole = active.place(item), self.part, found.size_bytes
            await active.context.journal.begin_parts(active.id, self.item)
            await active.context.disk.run(lambda _: _prepare(self._folders, place, part, whole))
        is_in_parts = part_layout(found) == self.item.part_bytes
        wants_whole = not is_in_parts and bool(whole_md5(found))
        if good and not wants_whole:
            # Their signs are of what came; a power cut may have kept it from the disk.
            good = await active.context.disk.run(partial(still_there, self.part, self.item.part_bytes, good))
        self._digest = InOrder(self.part, self.item, set(good)) if wants_whole else None
        return good

    async def _is_finished(self, found: ObjectHead) -> bool:
        """Whether an earlier program was done with it, and only did not write that down any more."""
        return await self.active.context.disk.run(partial(_is_there, self.active.place(self.item), found))

    async def move(self, number: int) -> SentPart:
        active, item, part = self.active, self.item, self.part
        offset, size = (number - 1) * item.part_bytes, self.size_of(number)
        moved, pieces = Moved(active), list[bytes]()
        try:
            await moved.by((await active.plane()).get(
                active.remote(item), _sink(active, moved, pieces), offset=offset, length=size, if_match=item.etag
            ))  # fmt: skip
        except Conflict as error:
            await pinned_anew(active, item, error)
            raise SourceChanged from error
        sign = await moved.by(active.context.disk.run(lambda token: self._keep(part, number, pieces, token)))
        return SentPart(number, size, sign)

    def _keep(self, part: Path, number: int, pieces: list[bytes], token: CancelToken) -> str:
        """Write a range where it belongs; its MD5 where that helps to verify. Blocks."""
        with local_errors(part), part.open("r+b", buffering=0) as file:
            file.seek((number - 1) * self.item.part_bytes)
            sign = md5()
            for piece in pieces:
                _write_all(file, piece)
                if self._digest is None:
                    sign.update(piece)
        if self._digest is not None:
            self._digest.has(number, token)
            return ""
        return sign.hexdigest()

    async def finish(self) -> bool:
        active, found, part, place = self.active, self._found, self.part, self.active.place(self.item)
        assert found is not None
        is_verified = await active.context.disk.run(lambda token: self._verified(found, token))
        if is_verified is False:
            self._is_damaged = True
            return False
        here = await active.context.disk.run(lambda _: _complete(active, part, place, self.item, found))
        if active.remembers and is_verified:
            active.remember(here)
        active.ended(self.item, ItemState.DONE, is_verified=bool(is_verified))
        return True

    def _verified(self, found: ObjectHead, token: CancelToken) -> bool | None:
        """None: the service does not say what the content should be."""
        if self._digest is not None:
            return self._digest.whole(token) == whole_md5(found)
        if part_layout(found) == self.item.part_bytes:
            signs = [one.etag for _, one in sorted(self.parts.items())]
            return etag_of_parts([bytes.fromhex(sign) for sign in signs]) == found.etag
        return None

    async def drop(self) -> None:
        part = self.part
        with local_errors(part):
            await self.active.context.disk.run(lambda _: part.unlink(missing_ok=True))
        self.item = replace(self.item, part_bytes=0)

    def given_up(self) -> AppError:
        place = str(self.active.remote(self.item))
        return damaged(place) if self._is_damaged else _keeps_changing(place)


class Folders:
    """Makes folders below one target, and sees that nothing leads out of it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._known: set[str] = set()
        self._real: Path | None = None

    def knows(self, folder: str) -> bool:
        """It was made, or looked at, already."""
        return folder in self._known

    def make_above(self, place: Path) -> None:
        if place == self.root:
            place.parent.mkdir(parents=True, exist_ok=True)
        else:
            self.make(place.parent)

    def make(self, folder: Path) -> None:
        if str(folder) in self._known:
            return
        with local_errors(folder):
            if self._real is None:
                self.root.mkdir(parents=True, exist_ok=True)
                self._real = self.root.resolve()
            folder.mkdir(parents=True, exist_ok=True)
            if not folder.resolve().is_relative_to(self._real):
                raise _leads_out(folder)
        self._known.add(str(folder))


def part_of(active: ActiveTransfer, item: Item) -> Path:
    """Where the object is while it is not whole; no two transfers share one."""
    place = active.place(item)
    return place.with_name(_part_name(active, place.name))


def _part_name(active: ActiveTransfer, name: str) -> str:
    return part_name(name, _SYSTEM, _mark(active.id, active.record.created))


@cache
def _mark(transfer_id: int, created: datetime) -> str:
    """The time is of use against another program, whose journal counts from one as well."""
    return hashlib.blake2b(f"{transfer_id} {created}".encode(), digest_size=4).hexdigest()


def _sink(active: ActiveTransfer, moved: Moved, pieces: list[bytes]) -> Sink:
    limit = active.context.limit

    def take(piece: bytes) -> Awaitable[None] | None:
        pieces.append(piece)
        moved.count(len(piece))
        return limit.take(len(piece)) if limit.bytes_per_s else None

    return take


async def pinned_anew(active: ActiveTransfer, item: Item, error: Conflict) -> Item:
    """The item as the service has it now, after it was found to be another; `error` where it is not."""
    found = await (await active.plane()).head(active.remote(item))
    if found is None:
        raise _gone(str(active.remote(item)))
    if found.etag == item.etag:
        raise error
    return replace(item, etag=found.etag, size_bytes=found.size_bytes, part_bytes=0)


def settle(active: ActiveTransfer, place: str | Path, found: ObjectHead) -> None:
    """Time and rights as they were asked for; blocks."""
    rules = active.record.order.rules
    if rules.keep_times or rules.compare is CompareBy.SIZE_AND_TIME:
        kept = time_of(found.metadata)
        if kept is None and found.modified is not None:
            kept = round(found.modified.timestamp() * 1000) * 1_000_000
        if kept is not None:
            os.utime(place, ns=(kept, kept))
    mode = found.metadata.get(MODE_NAME, "")
    if rules.keep_modes and mode and all(letter in "01234567" for letter in mode):
        Path(place).chmod(int(mode, 8) & 0o777)


def _verified_whole(content: bytes, found: ObjectHead, active: ActiveTransfer, item: Item) -> bool:
    if len(content) != found.size_bytes:
        raise damaged(str(active.remote(item)))
    size = part_layout(found)
    if size:
        parts = [md5(content[at : at + size]).digest() for at in range(0, len(content), size)]
        if etag_of_parts(parts) != found.etag:
            raise damaged(str(active.remote(item)))
        return True
    expected = whole_md5(found)
    if expected and md5(content).hexdigest() != expected:
        raise damaged(str(active.remote(item)))
    return bool(expected)


def _range_bytes(found: ObjectHead) -> int:
    """The parts it was sent in, where that is known: then each can be verified alone."""
    size = part_layout(found)
    return size if 0 < size <= _MOST_RANGE_BYTES else RANGE_BYTES


def _is_there(place: Path, found: ObjectHead, token: CancelToken) -> bool:
    return _size_of(place) == found.size_bytes and bool(has_content(place, found, token))


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


def _complete(active: ActiveTransfer, part: Path, place: Path, item: Item, found: ObjectHead) -> Item:
    with local_errors(place):
        with part.open("r+b") as file:
            os.fsync(file.fileno())
        settle(active, part, found)
        here = seen(item, part.stat())
        part.replace(place)
    return here


def _on_the_disk(folders: Folders) -> None:
    folder = folders.root if folders.root.is_dir() else folders.root.parent
    with local_errors(folder):
        on_the_disk(folder)


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
