"""A bucket in memory that is listed by the Lab's own rules."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from traindeck.domain.storage.objects import ObjectRow
from traindeck.lab.obs.listing import page
from traindeck.services.storage.data_ports import ListingPage

_WHEN = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _Name:
    key: str


class ListedNames:
    """Gives pages, counts them, and knows how many were asked for at once."""

    def __init__(self, keys: Iterable[str], most: int = 1000) -> None:
        self.keys = sorted(key.encode() for key in keys)
        self.most = most
        self.asked = 0
        self.at_once = 0
        self._now = 0

    async def page(
        self, bucket: str, prefix: str = "", *, delimiter: str = "", marker: str = "", most: int = 1000
    ) -> ListingPage:
        self.asked += 1
        self._now += 1
        self.at_once = max(self.at_once, self._now)
        await asyncio.sleep(0)
        self._now -= 1
        found = page(self._rows, prefix, marker, delimiter, min(most, self.most))
        rows = [ObjectRow(entry.key, len(entry.key), _WHEN, "etag", "STANDARD") for entry in found.contents]
        return ListingPage(rows, found.common_prefixes, found.next_marker if found.is_truncated else "")

    def _rows(self, start: bytes, after: bool, end: bytes | None) -> Iterator[_Name]:
        at = bisect_left(self.keys, start)
        while at < len(self.keys) and (end is None or self.keys[at] < end):
            if not after or self.keys[at] != start:
                yield _Name(self.keys[at].decode())
            at += 1
