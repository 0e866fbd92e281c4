"""Many at once: objects looked up by listings instead of one by one, and what many small files need at their end."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from traindeck.domain.errors import AppError
from traindeck.domain.storage.objects import MAX_KEY_BYTES, ObjectPath, ObjectRow, ObjectVersion, shared_beginning
from traindeck.domain.transfers.records import Item
from traindeck.services.storage.page_count import PageCount
from traindeck.services.storage.wire.data_plane import DataPlane
from traindeck.services.transfers.active import ActiveTransfer
from traindeck.services.transfers.ready import Unit

ListPage = Callable[[str, str], Awaitable[tuple[Sequence[ObjectRow], str]]]
"""A page of a listing: from a prefix and a marker to rows and the next marker."""


async def objects_among(plane: DataPlane, bucket: str, keys: Sequence[str]) -> dict[str, ObjectRow]:
    """Those of these keys that are there."""

    async def page(prefix: str, marker: str) -> tuple[Sequence[ObjectRow], str]:
        found = await plane.page(bucket, prefix, marker=marker)
        return found.rows, found.next_marker

    return await _among(page, keys)


async def names_taken(plane: DataPlane, folder: ObjectPath, names: Sequence[str]) -> set[str]:
    """Those of the names that stand in a folder; that of a folder ends with a slash, and something is in it."""
    folder, taken = folder.as_folder(), set[str]()
    objects = {folder.key + name: name for name in names if not name.endswith("/")}
    taken.update(objects[key] for key in await objects_among(plane, folder.bucket, list(objects)))
    for name in names:
        if name.endswith("/") and (await plane.page(folder.bucket, folder.key + name, most=1)).rows:
            taken.add(name)
    return taken


async def markers_among(plane: DataPlane, bucket: str, keys: Sequence[str]) -> dict[str, ObjectRow]:
    """Those of these keys that are deleted, with what says so."""

    async def page(prefix: str, marker: str) -> tuple[Sequence[ObjectRow], str]:
        found = await plane.versions(bucket, prefix, after=marker)
        # The latest version of a key comes first, so the rest of them may be passed over.
        return markers_of(found.rows), found.next_key

    return await _among(page, keys)


def markers_of(versions: Sequence[ObjectVersion]) -> list[ObjectRow]:
    """What is deleted, each with the marker's version where an object has its ETag."""
    return [ObjectRow(row.key, 0, row.modified, row.version) for row in versions if row.is_latest and row.is_marker]


async def _among(page: ListPage, keys: Sequence[str]) -> dict[str, ObjectRow]:
    wanted = sorted(set(keys))
    names, prefix = set(wanted), shared_beginning(wanted[0], wanted[-1]) if wanted else ""
    found: dict[str, ObjectRow] = {}
    jumped_to: list[str] = []
    at, marker, pages = 0, "", PageCount()
    while at < len(wanted):
        if (before := _just_before(wanted[at])) > marker:
            marker = before
            jumped_to.append(wanted[at])
        rows, next_marker = await page(prefix, marker)
        found |= {row.key: row for row in rows if row.key in names}
        if not next_marker:
            break
        pages.came(len(rows))
        marker = next_marker
        at = bisect_right(wanted, marker)
    for key in jumped_to:
        if key not in found:
            # Some services pass over what follows a marker that is no name of theirs.
            rows, _ = await page(key, "")
            found |= {row.key: row for row in rows if row.key == key}
    return found


def _just_before(key: str) -> str:
    """A marker behind which this key comes first, or nearly so: what lies between need not be listed."""
    last = ord(key[-1])
    if not 0x21 < last < 0xD800 or len(key.encode()) > MAX_KEY_BYTES - 8:
        return key[:-1]
    return f"{key[:-1]}{chr(last - 1)}\U0010fffd"


One = TypeVar("One")


@dataclass(slots=True)
class Gathering(Generic[One]):
    """`settle` may be given the same once more after a pause; `fail` is told of a mistake of ours."""

    active: ActiveTransfer
    settle: Callable[[Sequence[One]], Awaitable[None]]
    fail: Callable[[One, AppError], None]
    most: int
    wait_s: float = 0.0  # how long to let more come, where more are on their way
    _waiting: list[tuple[Item, One]] = field(default_factory=list)
    _is_busy: bool = False
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, item: Item, one: One) -> None:
        self._waiting.append((item, one))
        self._news.set()
        self._see_to_it()

    def _see_to_it(self) -> None:
        if self._waiting and not self._is_busy:
            self._is_busy = True
            self.active.put_back(Unit(self._waiting[0][0], self._work, fail=self._failed))
            self.active.tell()

    async def _work(self) -> None:
        while self._waiting:
            await self._until_worth_it()
            await self.work_off()
        self._is_busy = False

    async def work_off(self) -> None:
        """Settle some of what waits; also for those who would bring more than there is room for."""
        batch, self._waiting = self._waiting[: self.most], self._waiting[self.most :]
        if not batch:
            return
        try:
            await self.settle([one for _, one in batch])
        except BaseException:
            self._waiting[:0] = batch  # one that is cancelled here is done again
            self._see_to_it()
            raise

    async def _until_worth_it(self) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + self.wait_s
        while len(self._waiting) < self.most and self.active.under_way > len(self._waiting):
            left = end - loop.time()
            if left <= 0:
                return
            self._news.clear()
            try:
                async with asyncio.timeout(left):
                    await self._news.wait()
            except TimeoutError:
                return

    def _failed(self, error: AppError) -> None:
        self._is_busy = False
        waiting, self._waiting = self._waiting, []
        for _, one in waiting:
            self.fail(one, error)
