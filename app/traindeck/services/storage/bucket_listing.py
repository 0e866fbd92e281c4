"""Buckets listed into an index: the folder somebody looks at first, everything else behind it.

The service tells nobody what changed. So looking again means listing again: the level that is seen, or everything
when asked; what came is compared with what is known, and only what is new is written.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from traindeck.domain.storage.objects import ObjectPath
from traindeck.runtime.blocking import BlockingCalls, CancelToken
from traindeck.runtime.clock import Clock, utc_now
from traindeck.services.accounts.connections import Connections
from traindeck.services.storage.listing import KeyRange, Piece, Sweep, pieces_of

if TYPE_CHECKING:
    from traindeck.store.object_index import ObjectIndex

_MOST_NEW = 100
"""Of more folders than this a listing of all above them is less."""
_STALE = timedelta(minutes=10)
"""A listing that was stopped longer ago is begun anew: its beginning would no longer be true."""


@dataclass(frozen=True, slots=True)
class ListingProgress:
    """How far a listing is: rows that came, and rows that were not as they were known."""

    found: int
    changed: int


OnListingProgress = Callable[[ListingProgress], None]


@dataclass(slots=True, eq=False)
class BucketListing:
    """One bucket of one account and the index it is listed into."""

    _profile: str
    _bucket: str
    index: ObjectIndex
    _connections: Connections
    _calls: BlockingCalls
    _clock: Clock
    _left: dict[str, tuple[datetime, list[KeyRange]]] = field(default_factory=dict)
    _sweeping: dict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    async def list_level(self, folder: str, on_progress: OnListingProgress) -> None:
        """What one folder holds, without looking into the folders in it."""
        source = (await self._connections.open(self._profile)).storage
        began = self._clock()
        found, changed, has_folders = 0, 0, False
        async with aclosing(pieces_of(source, ObjectPath(self._bucket, folder))) as pieces:
            async for piece in pieces:
                changed += await self._calls.run(partial(self._keep_level, folder, piece, began))
                found += len(piece.rows) + len(piece.folders)
                has_folders = has_folders or bool(piece.folders)
                on_progress(ListingProgress(found, changed))
        await self._calls.run(lambda _: self.index.note_listed(folder, deep=not has_folders, as_of=began))

    async def list_new(self, folder: str, on_progress: OnListingProgress) -> None:
        """One level once more, and what is below the folders that came since all was listed, so that counts hold."""
        await self.list_level(folder, on_progress)
        for path in await self._calls.run(lambda _: self.index.unseen(folder, _MOST_NEW)):
            await self.list_below(path, on_progress)

    async def list_below(self, folder: str, on_progress: OnListingProgress) -> None:
        """Everything below a folder; one that was stopped is gone on with."""
        found, changed = 0, 0

        async def take(piece: Piece) -> None:
            nonlocal found, changed
            changed += await self._calls.run(lambda _: self.index.replace(folder, piece.after, piece.upto, piece.rows))
            found += len(piece.rows)
            on_progress(ListingProgress(found, changed))

        async with self._sweeping[folder]:
            source = (await self._connections.open(self._profile)).storage
            began, spans = self._left.pop(folder, (self._clock(), None))
            if self._clock() - began > _STALE:
                began, spans = self._clock(), None
            sweep = Sweep(source, ObjectPath(self._bucket, folder), spans=spans)
            try:
                await sweep.run(take)
            finally:
                if sweep.left:
                    self._left[folder] = (began, sweep.left)
            await self._calls.run(lambda _: self.index.note_listed(folder, deep=True, as_of=began))

    def _keep_level(self, folder: str, piece: Piece, began: datetime, _: CancelToken) -> int:
        return self.index.replace_level(folder, piece.after, piece.upto, piece.rows, piece.folders, began)


@dataclass(slots=True, eq=False)
class BucketListings:
    """The buckets somebody looked at in this session."""

    _connections: Connections
    _open_index: Callable[[str, str], ObjectIndex]
    _calls: BlockingCalls
    _clock: Clock = utc_now
    _known: dict[tuple[str, str], BucketListing] = field(default_factory=dict)

    async def open(self, profile: str, bucket: str) -> BucketListing:
        account = self._connections.profile(profile).listed_as
        index = await self._calls.run(lambda _: self._open_index(account, bucket))
        listing = BucketListing(profile, bucket, index, self._connections, self._calls, self._clock)
        return self._known.setdefault((account, bucket), listing)
