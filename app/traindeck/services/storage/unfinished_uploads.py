"""Uploads by parts that somebody began and did not finish: they cost money and are in no listing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from traindeck.domain.errors import AppError, KeysRefused, NoRight, Unreachable
from traindeck.domain.storage.buckets import Ended, Held, UnfinishedUpload
from traindeck.domain.storage.objects import ObjectPath
from traindeck.runtime.tasks import gather_or_raise, safely
from traindeck.services.storage.data_ports import Fragment
from traindeck.services.storage.planes import Planes

if TYPE_CHECKING:
    from traindeck.services.storage.wire.data_plane import DataPlane
    from traindeck.store.transfer_journal import TransferJournal

_AT_ONCE = 8
_PORTION = 64

Result = TypeVar("Result")


class UnfinishedUploads:
    """Looks for them and ends them, over the data's own way to the service."""

    def __init__(self, planes: Planes, journal: TransferJournal) -> None:
        self._planes = planes
        self._journal = journal

    async def each(self, profile: str, place: ObjectPath, take: Callable[[list[UnfinishedUpload]], None]) -> None:
        """All below `place`, a page at a time as they come."""
        ours = await self._journal.uploads()
        here = asyncio.get_running_loop()

        def found(page: list[Fragment]) -> None:
            take([UnfinishedUpload(one.path, one.upload_id, one.begun, one.upload_id in ours) for one in page])

        async def look(plane: DataPlane) -> None:
            async for page in plane.fragments(place.bucket, place.key):
                here.call_soon_threadsafe(found, page)

        await self._planes.run(profile, look)

    async def measure(
        self, profile: str, uploads: Sequence[UnfinishedUpload], take: Callable[[list[Held]], None]
    ) -> None:
        """What each of them holds, a portion at a time; one that is gone by then holds nothing."""

        for portion in _portions(uploads):
            take(await self._planes.run(profile, partial(_of_each, portion, _held)))

    async def end(
        self,
        profile: str,
        uploads: Sequence[UnfinishedUpload],
        on_progress: Callable[[int], None],
        *,
        ours_too: bool = False,
    ) -> Ended:
        """Throw their parts away; our own transfers keep theirs unless `ours_too`. `on_progress`: how many are done."""
        done = Ended()
        for portion in _portions(uploads):
            # Looked up again each time: a transfer may have begun meanwhile.
            ours = set() if ours_too else await self._journal.uploads()
            done.kept += [upload for upload in portion if upload.upload_id in ours]
            some = [upload for upload in portion if upload.upload_id not in ours]
            for upload, error in await self._planes.run(profile, partial(_of_each, some, _end)):
                if error is None:
                    done.ended.append(upload)
                else:
                    done.failed.append((upload, error))
            safely(on_progress)(len(done.ended) + len(done.failed) + len(done.kept))
        return done


async def _held(plane: DataPlane, upload: UnfinishedUpload) -> Held:
    try:
        parts = await plane.parts(upload.path, upload.upload_id) or []
    except NoRight:
        return Held(upload, None, None)
    return Held(upload, len(parts), sum(part.size_bytes for part in parts))


async def _end(plane: DataPlane, upload: UnfinishedUpload) -> tuple[UnfinishedUpload, AppError | None]:
    try:
        await plane.abort_upload(upload.path, upload.upload_id)
    except (KeysRefused, NoRight, Unreachable):
        raise  # so would all the others
    except AppError as error:
        return upload, error
    return upload, None


async def _of_each(
    uploads: Sequence[UnfinishedUpload],
    ask: Callable[[DataPlane, UnfinishedUpload], Awaitable[Result]],
    plane: DataPlane,
) -> list[Result]:
    """A few at a time, in order."""
    room = asyncio.Semaphore(_AT_ONCE)

    async def one(upload: UnfinishedUpload) -> Result:
        async with room:
            return await ask(plane, upload)

    return await gather_or_raise(one(upload) for upload in uploads)


def _portions(uploads: Sequence[UnfinishedUpload]) -> list[Sequence[UnfinishedUpload]]:
    return [uploads[start : start + _PORTION] for start in range(0, len(uploads), _PORTION)]
