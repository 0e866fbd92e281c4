"""Object storage of one account: its buckets by the SDK, what is in them over our own wire."""

from __future__ import annotations

from collections.abc import AsyncIterator

from traindeck.domain.accounts.keys import Credentials
from traindeck.domain.accounts.profiles import Profile
from traindeck.domain.errors import NoRight
from traindeck.domain.storage.objects import Bucket, ObjectEntry, ObjectPath
from traindeck.runtime.blocking import BlockingCalls
from traindeck.services.http.calls import Refused, nobody_listens
from traindeck.services.storage.data_ports import ListingPage
from traindeck.services.storage.listing import entry_of
from traindeck.services.storage.sdk.account import ObsAccount

PAGE_ROWS = 1000


class ObsStorage:
    """Every method raises AppError."""

    def __init__(
        self,
        profile: Profile,
        credentials: Credentials,
        calls: BlockingCalls,
        refused: Refused = nobody_listens,
        account: ObsAccount | None = None,
    ) -> None:
        self._account = account or ObsAccount(profile, credentials, calls, refused)
        self._work_in = ObjectPath.parse(profile.work_in).as_folder() if profile.work_in else None

    def close(self) -> None:
        """Close idle connections; the next call opens new ones."""
        self._account.close()

    @property
    def clock_ahead_s(self) -> float | None:
        """By how much the service's clock was before ours at its last answer; None: it has not said."""
        return self._account.clock_ahead_s

    async def buckets(self) -> list[Bucket]:
        try:
            return await self._account.over_wire(lambda plane: plane.buckets())
        except NoRight:
            if self._work_in is None:
                raise
            return [Bucket(self._work_in.bucket, None, self._account.region)]

    async def create_bucket(self, name: str) -> None:
        """Creating one's own bucket again is no error."""
        await self._account.ask(
            lambda client, _: client.createBucket(name, location=self._account.location),
            ObjectPath(name),
            fine=("BucketAlreadyOwnedByYou",),
        )

    async def try_to_write(self, target: ObjectPath) -> None:
        """Raise what keeps us from writing there; nothing is kept."""
        await self._account.over_wire(lambda plane: plane.try_to_write(target))

    async def entries(self, folder: ObjectPath, *, recursive: bool = False) -> AsyncIterator[list[ObjectEntry]]:
        """Pages of a listing as they arrive; not recursive: one level, folders first in each page."""
        folder = folder.as_folder()
        marker = ""
        while True:
            page = await self.page(folder.bucket, folder.key, delimiter="" if recursive else "/", marker=marker)
            entries = _entries(page, folder)
            if entries:
                yield entries
            if not page.next_marker:
                return
            marker = page.next_marker

    async def info(self, path: ObjectPath) -> ObjectEntry | None:
        if path.is_bucket:
            found = await self._account.ask(
                lambda client, _: client.headBucket(path.bucket), path, missing_is_none=True
            )
            return None if found is None else ObjectEntry(path)
        if path.is_folder:
            page = await self.page(path.bucket, path.key, most=1)
            return ObjectEntry(path) if page.rows else None
        head = await self._account.over_wire(lambda plane: plane.head(path))
        return ObjectEntry(path, head.size_bytes, head.modified, head.etag) if head else None

    async def page(
        self, bucket: str, prefix: str = "", *, delimiter: str = "", marker: str = "", most: int = PAGE_ROWS
    ) -> ListingPage:
        """One page of a listing: the names behind `marker`, those with `delimiter` folded into folders."""
        return await self._account.over_wire(
            lambda plane: plane.page(bucket, prefix, delimiter=delimiter, marker=marker, most=most)
        )


def _entries(page: ListingPage, folder: ObjectPath) -> list[ObjectEntry]:
    entries = [ObjectEntry(ObjectPath(folder.bucket, key)) for key in page.folders]
    # Its own marker is not one of them.
    return entries + [entry_of(folder.bucket, row) for row in page.rows if row.key != folder.key]
