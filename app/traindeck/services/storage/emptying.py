"""Counting and deleting everything a bucket holds: objects, old versions, marks of deletion, unfinished uploads."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from functools import partial

from traindeck.domain.errors import Conflict, NoRight, NotOffered
from traindeck.domain.storage.buckets import BucketContents
from traindeck.domain.storage.objects import ObjectPath, ObjectVersion
from traindeck.domain.texts import count_text, text
from traindeck.runtime.tasks import few_at_once, safely
from traindeck.services.storage.data_ports import Fragment, NotRemoved
from traindeck.services.storage.listing import pieces_of
from traindeck.services.storage.wire.data_plane import DataPlane

_PAGES_AT_ONCE = 4
_NO_VERSION = ("", "null")

OnBucketProgress = Callable[[BucketContents], None]
"""Called with what was found, or is gone, so far."""


class Emptying:
    """One bucket on its way to being empty, or of it what is wanted; on the loop of the plane."""

    def __init__(
        self,
        plane: DataPlane,
        bucket: str,
        on_progress: OnBucketProgress,
        *,
        prefix: str = "",
        is_wanted: Callable[[ObjectVersion], bool] | None = None,
    ) -> None:
        self._plane = plane
        self._bucket = bucket
        self._prefix = prefix
        self._is_wanted = is_wanted
        self._on_progress = safely(on_progress)
        self._so_far = BucketContents()
        self._left = 0
        self._first_left: NotRemoved | None = None

    async def count(self) -> BucketContents:
        async with aclosing(self._everything()) as pages:
            async for rows in pages:
                self._tell(contents_of(rows))
        async with aclosing(self._unfinished()) as uploads:
            async for uploads_there in uploads:
                self._tell(BucketContents(fragments=len(uploads_there)))
        return self._so_far

    async def empty(self) -> BucketContents:
        has_versions = await self._has_versions()

        async def delete(rows: Sequence[ObjectVersion]) -> None:
            left = await self._plane.remove_versions(self._bucket, [(row.key, _id(row, has_versions)) for row in rows])
            self._left += len(left)
            self._first_left = self._first_left or next(iter(left), None)
            stays = {(one.key, one.version) for one in left}
            self._tell(contents_of([row for row in rows if (row.key, _id(row, has_versions)) not in stays]))

        async def abort(uploads: Sequence[Fragment]) -> None:
            for upload in uploads:
                await self._plane.abort_upload(upload.path, upload.upload_id)
                self._tell(BucketContents(fragments=1))

        async with aclosing(self._everything()) as pages, few_at_once(_PAGES_AT_ONCE) as start:
            async for rows in pages:
                await start(partial(delete, rows))
        async with aclosing(self._unfinished()) as found, few_at_once(_PAGES_AT_ONCE) as start:
            async for uploads in found:
                await start(partial(abort, uploads))
        if self._first_left is not None:
            raise Conflict(
                count_text(
                    "{count} object could not be deleted: “{place}”.",
                    "{count} objects could not be deleted, for example “{place}”.",
                    self._left,
                    place=str(ObjectPath(self._bucket, self._first_left.key)),
                ),
                text("Check what retains them: a policy or a retention period. The rest was deleted."),
                str(self._first_left.message),
            )
        return self._so_far

    async def _everything(self) -> AsyncGenerator[list[ObjectVersion], None]:
        try:
            async with aclosing(self._plane.pages_of_versions(ObjectPath(self._bucket, self._prefix))) as pages:
                async for found in pages:
                    if rows := self._chosen(found):
                        yield rows
            return
        except NotOffered:
            pass
        # The objects of a service that knows no versions.
        async with aclosing(pieces_of(self._plane, ObjectPath(self._bucket, self._prefix), recursive=True)) as pieces:
            async for piece in pieces:
                rows = [ObjectVersion(row.key, "", True, row.modified, row.size_bytes) for row in piece.rows]
                if rows := self._chosen(rows):
                    yield rows

    def _chosen(self, rows: list[ObjectVersion]) -> list[ObjectVersion]:
        return rows if self._is_wanted is None else [row for row in rows if self._is_wanted(row)]

    async def pages(self) -> AsyncGenerator[list[ObjectVersion], None]:
        """What would go."""
        async with aclosing(self._everything()) as pages:
            async for rows in pages:
                yield rows

    async def _unfinished(self) -> AsyncGenerator[list[Fragment], None]:
        if self._is_wanted is not None:
            return  # what was chosen are versions
        try:
            async for uploads in self._plane.fragments(self._bucket):
                yield uploads
        except NotOffered:
            return

    async def _has_versions(self) -> bool:
        try:
            return bool(await self._plane.versioning(self._bucket))
        except NoRight:
            return True

    def _tell(self, more: BucketContents) -> None:
        self._so_far += more
        self._on_progress(self._so_far)


def _id(row: ObjectVersion, has_versions: bool) -> str:
    return row.version if has_versions or row.version not in _NO_VERSION else ""


def contents_of(rows: Sequence[ObjectVersion]) -> BucketContents:
    markers = sum(row.is_marker for row in rows)
    latest = sum(row.is_latest and not row.is_marker for row in rows)
    return BucketContents(
        objects=latest,
        old_versions=len(rows) - markers - latest,
        markers=markers,
        size_bytes=sum(row.size_bytes or 0 for row in rows),
    )
