"""Whether a file and an object are the same: from the listing where that tells, else by a closer look."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from traindeck.domain.errors import LocalTrouble
from traindeck.domain.storage.objects import MD5_NAME, PART_BYTES_NAME, TIME_NAME, ObjectPath, ObjectRow
from traindeck.domain.transfers.object_limits import (
    LEAST_PART_BYTES,
    MOST_PARTS,
    SINGLE_PUT_BYTES,
    part_bytes,
    part_count,
)
from traindeck.domain.transfers.orders import CompareBy, Kind, Order, known_place
from traindeck.domain.transfers.records import Action, Item, Known, is_plain_md5
from traindeck.domain.transfers.sync_rules import Side, Verdict, is_same_time, remote_and_remote
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.clock import clamped_ns
from traindeck.runtime.files import local_errors
from traindeck.runtime.tasks import gather_or_raise
from traindeck.services.storage.data_ports import ObjectHead
from traindeck.services.transfers.digests import etag_of_parts, file_crc64, file_digests

if TYPE_CHECKING:
    from traindeck.services.storage.wire.data_plane import DataPlane
    from traindeck.store.transfer_journal import TransferJournal


_OF_PARTS = re.compile(r"[0-9a-f]{32}-([1-9][0-9]{0,4})")
_MEBIBYTE = 1024 * 1024
# What programs that move data send by default, in MiB.
_USUAL = (5, 6, 8, 9, 10, 12, 15, 16, 20, 24, 25, 32, 48, 50, 64, 96, 100, 128, 200, 250, 256, 500, 512, 1000, 1024)


def whole_md5(found: ObjectHead) -> str:
    """The MD5 of all of it as the service reports it, or as who sent it wrote it down; empty: neither."""
    if not found.is_encrypted and is_plain_md5(found.etag):
        return found.etag
    kept = found.metadata.get(MD5_NAME, "")
    return kept if is_plain_md5(kept) else ""


def count_in(etag: str) -> int:
    """Of how many parts an ETag is; 0: it does not say."""
    match = _OF_PARTS.fullmatch(etag)
    return int(match[1]) if match else 0


def part_layout(found: ObjectHead) -> int:
    """The size of the parts it was sent in, where who sent it wrote that down and it can be; else 0."""
    kept = found.metadata.get(PART_BYTES_NAME, "")
    size = int(kept) if kept.isascii() and kept.isdecimal() and len(kept) < 16 else 0
    return size if _fits(found, size) else 0


def likely_layouts(found: ObjectHead) -> list[int]:
    """Sizes of parts that would give as many parts as the ETag counts, what is written down with it before others."""
    if not found.is_encrypted and count_in(found.etag) == 1:
        return [max(found.size_bytes, LEAST_PART_BYTES)]
    sizes = {part_bytes(found.size_bytes), *(count * _MEBIBYTE for count in _USUAL)}
    return [size for size in dict.fromkeys([part_layout(found), *sorted(sizes)]) if _fits(found, size)]


def says_all(found: ObjectHead) -> bool:
    """The service itself names the content. What else is said of it was written down by somebody, and need not be so:
    programs that make another object of it may copy that along."""
    return not found.is_encrypted and (is_plain_md5(found.etag) or count_in(found.etag) == 1)


def _fits(found: ObjectHead, size: int) -> bool:
    count = count_in(found.etag)
    if found.is_encrypted or not count or count > MOST_PARTS or size < LEAST_PART_BYTES:
        return False
    return part_count(found.size_bytes, size) == count


_LOOKS_AT_ONCE = 32
_READ_AT_ONCE = 50


@dataclass(frozen=True, slots=True)
class Doubt:
    """A pair of which the listing does not tell; `index` is where its item stands in the batch."""

    index: int
    place: Path
    local: Known
    row: ObjectRow


class Match(Enum):
    """What a content is beside an object."""

    YES = auto()
    NO = auto()
    NOT_AS_NOTED = auto()
    """Another than somebody wrote down with the object, which need not be true."""
    UNKNOWN = auto()
    """Nothing tells."""


class Sameness(Enum):
    """Why two files are taken for the same."""

    NO = auto()
    BY_TIME = auto()
    BY_CONTENT = auto()


@dataclass(frozen=True, slots=True)
class Comparing:
    """How one transfer compares, with what this computer remembers from earlier ones."""

    order: Order
    plane: DataPlane
    disk: BlockingCalls
    by: CompareBy
    journal: TransferJournal | None = None

    async def known(self, root: Path, keys: Sequence[str]) -> dict[str, Known]:
        """What is remembered of these, which come in the order of a listing."""
        if self.journal is None or self.by is not CompareBy.SIZE_AND_TIME or not keys:
            return {}
        return await self.journal.known(known_place(self.order, str(root)), keys[0], keys[-1])

    async def remember(self, root: Path, doubts: Sequence[Doubt]) -> None:
        items = [
            Item(one.row.key, "", one.local.size_bytes, one.local.modified_ns, one.local.inode, etag=one.row.etag)
            for one in doubts
            if one.row.etag
        ]
        if items and self.journal is not None:
            await self.journal.remember(known_place(self.order, str(root)), items)

    async def looked_at(self, doubts: Sequence[Doubt]) -> list[Sameness]:
        """Whether they are the same after all."""
        # Their MD5s are in the listing: many in one go, without a request.
        plain = [doubt for doubt in doubts if self._is_read_first(doubt)]
        read = dict(zip(map(id, plain), await self._md5s_of(plain), strict=True))
        rest = [doubt for doubt in doubts if read.get(id(doubt)) != doubt.row.etag]
        limit = asyncio.Semaphore(_LOOKS_AT_ONCE)
        answers = await gather_or_raise(self._limited(limit, doubt, is_read=id(doubt) in read) for doubt in rest)
        known = dict(zip(map(id, rest), answers, strict=True))
        return [known.get(id(doubt), Sameness.BY_CONTENT) for doubt in doubts]

    def _is_read_first(self, doubt: Doubt) -> bool:
        # Of a larger one the head may tell the CRC-64.
        return doubt.row.size_bytes <= SINGLE_PUT_BYTES and is_plain_md5(doubt.row.etag)

    async def _md5s_of(self, doubts: Sequence[Doubt]) -> list[str]:
        places = [doubt.place for doubt in doubts]
        batches = [places[at : at + _READ_AT_ONCE] for at in range(0, len(places), _READ_AT_ONCE)]
        found = await gather_or_raise(self.disk.run(partial(_md5s, batch)) for batch in batches)
        return [md5 for batch in found for md5 in batch]

    async def _limited(self, limit: asyncio.Semaphore, doubt: Doubt, *, is_read: bool) -> Sameness:
        async with limit:
            try:
                return await self._closer(doubt, is_read=is_read)
            except LocalTrouble:
                return Sameness.NO  # moving it says what is wrong

    async def _closer(self, doubt: Doubt, *, is_read: bool) -> Sameness:
        """`is_read`: its MD5 is not the ETag, which says all where nothing is encrypted."""
        row, local = doubt.row, doubt.local
        found = await self.plane.head(ObjectPath(self.order.remote.bucket, row.key))
        if found is None or found.size_bytes != local.size_bytes:
            return Sameness.NO
        if is_read and found.etag == row.etag and not found.is_encrypted:
            return Sameness.NO
        kept = time_of(found.metadata)
        if self.by is CompareBy.SIZE_AND_TIME and kept is not None and is_same_time(kept, local.modified_ns):
            return Sameness.BY_TIME
        match = await matched(self.plane, self.disk, doubt.place, found)
        if match is Match.UNKNOWN and self.by is CompareBy.SIZE_AND_TIME and self.order.kind is not Kind.UPLOAD:
            # Fetched by a program that gave it the time of the object.
            return Sameness.BY_TIME if is_same_time(time_ns(row), local.modified_ns) else Sameness.NO
        return Sameness.BY_CONTENT if match is Match.YES else Sameness.NO


def _md5s(places: Sequence[Path], token: CancelToken) -> list[str]:
    """Empty where one cannot be read: sending or fetching it will say why."""
    found: list[str] = []
    for place in places:
        try:
            found.append(file_digests(place, token)[0])
        except OSError:
            found.append("")
    return found


def item_of(row: ObjectRow, name: str, action: Action = Action.MOVE) -> Item:
    """What is to be done with an object of a listing."""
    return Item(row.key, name, row.size_bytes, time_ns(row), etag=row.etag, action=action)


def side_of(row: ObjectRow) -> Side:
    return Side(row.size_bytes, time_ns(row), row.etag)


def time_ns(row: ObjectRow) -> int:
    return time_ns_of(row.modified)


def time_ns_of(modified: datetime | None) -> int:
    return round(modified.timestamp() * 1000) * 1_000_000 if modified else 0


def time_of(metadata: Mapping[str, str]) -> int | None:
    """The time of the file that an object was made from, where whoever sent it wrote it down."""
    # Without a float between: it would lose the last digits.
    whole, _, rest = metadata.get(TIME_NAME, "").partition(".")
    try:
        kept = int(whole) * 1_000_000_000 + int((rest + "000000000")[:9])
    except ValueError:
        return None
    return clamped_ns(kept)


async def alike_there(plane: DataPlane, order: Order, pairs: Iterable[tuple[ObjectRow, ObjectRow]]) -> set[str]:
    """The keys of the sources that have the content of the object at the target, where only their CRC-64 tells."""
    by, limit = order.rules.compare, asyncio.Semaphore(_LOOKS_AT_ONCE)
    source, target = order.remote_source.bucket, order.remote_target.bucket

    async def is_alike(row: ObjectRow, there: ObjectRow) -> bool:
        async with limit:
            one = await plane.head(ObjectPath(source, row.key))
            other = await plane.head(ObjectPath(target, there.key)) if one and one.crc64 is not None else None
        return one is not None and other is not None and (one.size_bytes, one.crc64) == (other.size_bytes, other.crc64)

    doubts = [
        (row, there)
        for row, there in pairs
        if by is not None and remote_and_remote(side_of(row), side_of(there), by) is Verdict.LOOK_CLOSER
    ]
    answers = await gather_or_raise(is_alike(row, there) for row, there in doubts)
    return {row.key for (row, _), is_same in zip(doubts, answers, strict=True) if is_same}


async def matched(plane: DataPlane, disk: BlockingCalls, place: Path, found: ObjectHead) -> Match:
    """Whether a file has the content of an object; the service is asked how it came where nothing else helps."""
    match = await disk.run(partial(_matched, place, found))
    if match in (Match.YES, Match.NO) or found.is_encrypted or not count_in(found.etag):
        return match
    told = await plane.part_bytes(found)
    if not _fits(found, told):
        return match
    if await disk.run(partial(_in_parts, place, told)) == found.etag:
        return Match.YES
    return Match.NO if told == part_layout(found) else match  # else its parts may be of many sizes


def _matched(place: Path, found: ObjectHead, token: CancelToken) -> Match:
    whole = whole_md5(found)
    with local_errors(place):
        if place.stat().st_size != found.size_bytes:
            return Match.NO
        if found.crc64 is not None:
            return Match.YES if file_crc64(place, token) == found.crc64 else Match.NO
        if not is_plain_md5(found.etag) or not whole:
            for size in likely_layouts(found):
                if _in_parts(place, size, token) == found.etag:
                    return Match.YES
        if whole and file_digests(place, token)[0] == whole:
            return Match.YES
    if says_all(found):
        return Match.NO
    return Match.NOT_AS_NOTED if whole or part_layout(found) else Match.UNKNOWN


def _in_parts(place: Path, size: int, token: CancelToken) -> str:
    """What the ETag of a file would be that was sent so."""
    with local_errors(place):
        return etag_of_parts(file_digests(place, token, size)[1])
