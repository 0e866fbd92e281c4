"""Many at once: objects looked up by listings instead of one by one, and what many small files need at their end."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, Protocol, TypeVar

from traindeck.domain.errors import AppError
from traindeck.domain.storage.objects import MAX_KEY_BYTES, ObjectPath
from traindeck.domain.transfers.records import Item
from traindeck.services.storage.data_ports import DataPlane, ObjectRow, Version
from traindeck.services.transfers.active import ActiveTransfer, Unit


class Keyed(Protocol):
    @property
    def key(self) -> str: ...


Found = TypeVar("Found", bound=Keyed)
ListPage = Callable[[str, str], Awaitable[tuple[Sequence[Found], str]]]
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


async def markers_among(plane: DataPlane, bucket: str, keys: Sequence[str]) -> dict[str, Version]:
    """Those of these keys that are deleted, with what says so."""

    async def page(prefix: str, marker: str) -> tuple[Sequence[Version], str]:
        found = await plane.versions(bucket, prefix, after=marker)
        # The latest version of a key comes first, so the rest of them may be passed over.
        return [row for row in found.rows if row.is_latest and row.is_marker], found.next_key

    return await _among(page, keys)


async def _among(page: ListPage[Found], keys: Sequence[str]) -> dict[str, Found]:
    wanted = sorted(set(keys))
    names, prefix = set(wanted), _beginning(wanted)
    found: dict[str, Found] = {}
    jumped_to: list[str] = []
    at, marker = 0, ""
    while at < len(wanted):
        if (before := _just_before(wanted[at])) > marker:
            marker = before
            jumped_to.append(wanted[at])
        rows, next_marker = await page(prefix, marker)
        found |= {row.key: row for row in rows if row.key in names}
        if not next_marker:
            break
        marker = next_marker
        at = bisect_right(wanted, marker)
    for key in jumped_to:
        if key not in found:
            # Some services pass over what follows a marker that is no name of theirs.
            rows, _ = await page(key, "")
            found |= {row.key: row for row in rows if row.key == key}
    return found


def _beginning(keys: Sequence[str]) -> str:
    """What all of these sorted keys begin with."""
    pairs = zip(keys[0], keys[-1], strict=False) if keys else ()
    same = next((at for at, (one, other) in enumerate(pairs) if one != other), None)
    return "" if not keys else keys[0][:same] if same is not None else min(keys[0], keys[-1], key=len)


def _just_before(key: str) -> str:
    """A marker behind which this key comes first, or nearly so: what lies between need not be listed."""
    last = ord(key[-1])
    if not 0x21 < last < 0xD800 or len(key.encode()) > MAX_KEY_BYTES - 8:
        return key[:-1]
    return f"{key[:-1]}{chr(last - 1)}\U0010fffd"


One = TypeVar("One")


class Gathering(Generic[One]):
    """`settle` may be given the same once more after a pause; `fail` is told of a mistake of ours."""

    def __init__(
        self,
        active: ActiveTransfer,
        settle: Callable[[Sequence[One]], Awaitable[None]],
        fail: Callable[[One, AppError], None],
        *,
        most: int,
        wait_s: float = 0.0,
    ) -> None:
        """`wait_s`: how long to let more come, where more are on their way."""
        self._active = active
        self._settle = settle
        self._fail = fail
        self._most = most
        self._wait_s = wait_s
        self._waiting: list[One] = []
        self._is_busy = False
        self._news = asyncio.Event()

    def add(self, item: Item, one: One) -> None:
        self._waiting.append(one)
        self._news.set()
        if not self._is_busy:
            self._is_busy = True
            self._active.put_back(Unit(item, self._work, fail=self._failed))
            self._active.tell()

    async def _work(self) -> None:
        while self._waiting:
            await self._until_worth_it()
            batch = self._waiting[: self._most]
            await self._settle(batch)  # one that is cancelled here is done again
            del self._waiting[: len(batch)]
        self._is_busy = False

    async def _until_worth_it(self) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + self._wait_s
        while len(self._waiting) < self._most and self._active.under_way > len(self._waiting):
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
        for one in waiting:
            self._fail(one, error)
