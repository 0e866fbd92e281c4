"""What there is at a place somebody typed: how much, where, what else its name takes in, and what is near it."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum, auto

from traindeck.domain.errors import InvalidInput, NoRight, NotFound
from traindeck.domain.storage.objects import Bucket, ObjectPath, size_words
from traindeck.domain.texts import Text, count_text, text
from traindeck.services.accounts.connections import Connections
from traindeck.services.storage.data_ports import BytesBody
from traindeck.services.storage.page_count import PageCount
from traindeck.services.storage.planes import Planes
from traindeck.services.storage.sdk.buckets import ObsStorage

MOST_COUNTED = 10_000
_PAGE = 1000
_NEAR = 3
_ALIKE = 0.5
_NAMES_S = 60.0


class Missing(Enum):
    """What of a place is not there."""

    BUCKET = auto()
    CONTENT = auto()


@dataclass(frozen=True, slots=True)
class PlaceFacts:
    """`count` and `size_bytes` are those of all below it, or of the first of them; `region` is empty when unknown."""

    path: ObjectPath
    missing: Missing | None = None
    count: int = 0
    size_bytes: int = 0
    is_all: bool = True
    is_object: bool = False
    region: str = ""
    takes_in: tuple[str, ...] = ()
    """Other names beginning like it: without a slash at its end they are meant, too."""
    nearest: tuple[ObjectPath, ...] = ()

    @property
    def amount(self) -> Text:
        """How much there is, in words."""
        if self.is_object and not self.count:
            return count_text("{count} object", "{count} objects", 1)
        size = size_words(self.size_bytes)
        if not self.is_all:
            return count_text(
                "more than {count} object, {size}", "more than {count} objects, {size}", self.count, size=size
            )
        if not self.count:
            return text("empty")
        return count_text("{count} object, {size}", "{count} objects, {size}", self.count, size=size)


class PlaceService:
    """Answers about places, without listing a bucket whole."""

    def __init__(self, connections: Connections, planes: Planes, clock: Callable[[], float] = time.monotonic) -> None:
        self._connections = connections
        self._planes = planes
        self._clock = clock
        self._buckets: dict[str, tuple[float, dict[str, Bucket]]] = {}
        self._asking: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def look(self, profile: str, path: ObjectPath, storage: ObsStorage | None = None) -> PlaceFacts:
        """`storage`: the profile's own, where the caller has it open already."""
        storage = storage or await self._storage(profile)
        buckets = await self.known_buckets(profile, storage)
        region = buckets[path.bucket].region if path.bucket in buckets else ""
        try:
            return await self._look(storage, path, region)
        except NotFound:
            near = get_close_matches(path.bucket, buckets, _NEAR, _ALIKE)
            nearest = tuple(ObjectPath(name, path.key) for name in near)
            return PlaceFacts(path, Missing.BUCKET, nearest=nearest)

    async def complete(self, profile: str, typed: str, most: int = 30) -> list[ObjectPath]:
        """What the beginning of a spelling may become: buckets, then folders."""
        try:
            path = ObjectPath.parse(typed)
        except InvalidInput:
            path = None
        if path is None or (path.is_bucket and not typed.rstrip().endswith("/")):
            begun = typed.strip().rpartition("/")[2]
            names = sorted(name for name in await self.known_buckets(profile) if name.startswith(begun))
            return [ObjectPath(name) for name in names[:most]]
        storage = await self._storage(profile)
        try:
            page = await storage.page(path.bucket, path.key, delimiter="/", most=most)
        except (NotFound, NoRight):
            return []
        return [ObjectPath(path.bucket, key) for key in page.folders if key != path.key]

    async def create(self, profile: str, path: ObjectPath) -> None:
        """Make the bucket, or the empty object that stands for a folder."""
        if path.is_bucket:
            await (await self._storage(profile)).create_bucket(path.bucket)
            self._buckets.pop(profile, None)
            return
        await self._planes.run(profile, lambda plane: plane.put(path.as_folder(), BytesBody(b"")))

    async def _look(self, storage: ObsStorage, path: ObjectPath, region: str) -> PlaceFacts:
        takes_in, is_object = await _alike(storage, path)
        count, size_bytes, is_all, is_marked = await _below(storage, path.as_folder())
        if count or is_marked or is_object or path.is_bucket:
            return PlaceFacts(path, None, count, size_bytes, is_all, is_object, region, takes_in)
        nearest = await _nearest(storage, path)
        return PlaceFacts(path, Missing.CONTENT, region=region, takes_in=takes_in, nearest=nearest)

    async def known_buckets(self, profile: str, storage: ObsStorage | None = None) -> dict[str, Bucket]:
        """Asked for once a minute; keys that may not list them know none."""
        async with self._asking[profile]:
            asked, buckets = self._buckets.get(profile, (float("-inf"), {}))
            if self._clock() - asked < _NAMES_S:
                return buckets
            try:
                found = await (storage or await self._storage(profile)).buckets()
            except NoRight:
                found = []
            buckets = {bucket.name: bucket for bucket in found}
            self._buckets[profile] = (self._clock(), buckets)
            return buckets

    async def _storage(self, profile: str) -> ObsStorage:
        return (await self._connections.open(profile)).storage


async def _alike(storage: ObsStorage, path: ObjectPath) -> tuple[tuple[str, ...], bool]:
    """What begins like a name without a slash at its end, and whether an object is called just so."""
    if path.is_folder:
        return (), False
    page = await storage.page(path.bucket, path.key, delimiter="/", most=_PAGE)
    names = [*page.folders, *(row.key for row in page.rows)]
    others = [name[len(path.parent.key) :] for name in names if name not in (path.key, path.as_folder().key)]
    return tuple(sorted(others)), path.key in names


async def _below(storage: ObsStorage, folder: ObjectPath) -> tuple[int, int, bool, bool]:
    """How many objects, how many bytes, whether that is all, and whether an object stands for the folder itself."""
    count, size_bytes, marker, is_marked, pages = 0, 0, "", False, PageCount()
    while count < MOST_COUNTED:
        page = await storage.page(folder.bucket, folder.key, marker=marker, most=_PAGE)
        is_marked = is_marked or any(row.key == folder.key for row in page.rows)
        inside = [row for row in page.rows if row.key != folder.key]
        count += len(inside)
        size_bytes += sum(row.size_bytes for row in inside)
        if not page.next_marker:
            return count, size_bytes, True, is_marked
        pages.came(len(page.rows))
        marker = page.next_marker
    return count, size_bytes, False, is_marked


async def _nearest(storage: ObsStorage, path: ObjectPath) -> tuple[ObjectPath, ...]:
    """Folders called much like it, beside the deepest folder above it that there is."""
    while not path.is_bucket:
        above, name = path.parent, path.name
        page = await storage.page(above.bucket, above.key, delimiter="/", most=_PAGE)
        folders = {ObjectPath(above.bucket, key).name: ObjectPath(above.bucket, key) for key in page.folders}
        if folders or page.rows:
            return tuple(folders[near] for near in _close(name, folders))
        path = above
    return ()


def _close(name: str, names: Iterable[str]) -> list[str]:
    folded = {one.casefold(): one for one in names}
    return [folded[near] for near in get_close_matches(name.casefold(), folded, _NEAR, _ALIKE)]
