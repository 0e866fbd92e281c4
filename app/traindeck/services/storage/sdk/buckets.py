"""Object storage of one account: its buckets by the SDK, what is in them over our own wire."""

from __future__ import annotations

from collections.abc import AsyncIterator

from traindeck.domain.errors import NoRight, NotFound
from traindeck.domain.storage.objects import Bucket, ObjectEntry, ObjectPath
from traindeck.services.storage.data_ports import ListingPage
from traindeck.services.storage.listing import entries
from traindeck.services.storage.sdk.account import ObsAccount

PAGE_ROWS = 1000


class ObsStorage(ObsAccount):
    """Every method raises AppError."""

    async def buckets(self) -> list[Bucket]:
        try:
            return await self.over_wire(lambda plane: plane.buckets())
        except NoRight:
            step = self.work_in
            if step is None:
                raise
            return [Bucket(step.bucket, None, self.region)]

    async def create_bucket(self, name: str) -> None:
        """Creating one's own bucket again is no error."""
        await self.ask(
            lambda client: client.createBucket(name, location=self.location),
            ObjectPath(name),
            fine=("BucketAlreadyOwnedByYou",),
        )

    async def try_to_write(self, target: ObjectPath) -> None:
        """Raise what keeps us from writing there; nothing is kept."""
        await self.over_wire(lambda plane: plane.try_to_write(target))

    def entries(self, folder: ObjectPath, *, recursive: bool = False) -> AsyncIterator[list[ObjectEntry]]:
        """Pages of a listing as they arrive; not recursive: one level, folders first in each page."""
        return entries(self, folder.as_folder(), recursive=recursive)

    async def info(self, path: ObjectPath) -> ObjectEntry | None:
        if path.is_bucket:
            try:
                await self.ask(lambda client: client.headBucket(path.bucket), path)
            except NotFound:
                return None
            return ObjectEntry(path)
        if path.is_folder:
            page = await self.page(path.bucket, path.key, most=1)
            return ObjectEntry(path) if page.rows else None
        head = await self.over_wire(lambda plane: plane.head(path))
        return ObjectEntry(path, head.size_bytes, head.modified, head.etag) if head else None

    async def page(
        self, bucket: str, prefix: str = "", *, delimiter: str = "", marker: str = "", most: int = PAGE_ROWS
    ) -> ListingPage:
        """One page of a listing: the names behind `marker`, those with `delimiter` folded into folders."""
        return await self.over_wire(
            lambda plane: plane.page(bucket, prefix, delimiter=delimiter, marker=marker, most=most)
        )
