"""Whether a file and an object are the same: from the listing where that tells, else by a closer look."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from traindeck.domain.objects import ObjectPath
from traindeck.domain.sync_rules import Side, Verdict, is_same_time, local_and_remote
from traindeck.domain.transfers import MD5_NAME, PART_BYTES_NAME, TIME_NAME, CompareBy, is_plain_md5
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.platform_files import local_errors
from traindeck.runtime.together import together
from traindeck.services.data_ports import DataPlane, Found, Row
from traindeck.services.transfers.digests import etag_of_parts, file_digests

_LOOKS_AT_ONCE = 32
_MOST_NS = 1 << 63  # no system takes more, and it need not be we who wrote it


@dataclass(frozen=True, slots=True)
class Doubt:
    """A pair of which the listing does not tell; `index` is where its item stands in the batch."""

    index: int
    place: Path
    local: Side
    row: Row


@dataclass(frozen=True, slots=True)
class Comparing:
    """How one transfer compares."""

    plane: DataPlane
    disk: BlockingCalls
    by: CompareBy
    bucket: str
    is_upload: bool

    def verdict(self, local: Side, row: Row) -> Verdict:
        return local_and_remote(local, side_of(row), self.by, is_upload=self.is_upload)

    async def equal_among(self, doubts: Sequence[Doubt]) -> list[int]:
        """The places in the batch of those that are the same after all."""
        if not doubts:
            return []
        limit = asyncio.Semaphore(_LOOKS_AT_ONCE)

        async def looked_at(doubt: Doubt) -> bool:
            async with limit:
                return await self._is_same(doubt)

        answers = await together(looked_at(doubt) for doubt in doubts)
        return [doubt.index for doubt, is_equal in zip(doubts, answers, strict=True) if is_equal]

    async def _is_same(self, doubt: Doubt) -> bool:
        remote, row = ObjectPath(self.bucket, doubt.row.key), doubt.row
        found: Found | None = Found(remote, row.size_bytes, row.etag)
        if self.by is not CompareBy.MD5 or not is_plain_md5(row.etag):
            found = await self.plane.head(remote)
        if found is None:
            return False
        if self.by is CompareBy.SIZE_AND_TIME:
            kept = time_of(found.metadata)
            return kept is not None and is_same_time(kept, doubt.local.modified_ns)
        return await self.disk.run(partial(has_content, doubt.place, found))


def side_of(row: Row) -> Side:
    return Side(row.size_bytes, time_ns(row), row.etag)


def time_ns(row: Row) -> int:
    return time_ns_of(row.modified)


def time_ns_of(modified: datetime | None) -> int:
    return round(modified.timestamp() * 1000) * 1_000_000 if modified else 0


def time_of(metadata: Mapping[str, str]) -> int | None:
    """The time of the file that an object was made from, where whoever sent it wrote it down."""
    try:
        kept = _nanoseconds(metadata[TIME_NAME])
    except (KeyError, ValueError):
        return None
    return kept if abs(kept) < _MOST_NS else None


def _nanoseconds(seconds: str) -> int:
    """Without a float between: it would lose the last digits."""
    whole, _, rest = seconds.partition(".")
    return int(whole) * 1_000_000_000 + int((rest + "000000000")[:9])


def has_content(place: Path, found: Found, token: CancelToken) -> bool:
    """Whether a file has the content an object says it has; False also where the object does not say."""
    known = found.metadata.get(MD5_NAME, "") or ("" if found.is_encrypted else found.etag)
    sizes = found.metadata.get(PART_BYTES_NAME, "")
    with local_errors(place):
        if is_plain_md5(known):
            return file_digests(place, token)[0] == known
        if sizes.isdecimal() and int(sizes) > 0 and not found.is_encrypted:
            _, parts = file_digests(place, token, int(sizes))
            return etag_of_parts(parts) == found.etag
    return False
