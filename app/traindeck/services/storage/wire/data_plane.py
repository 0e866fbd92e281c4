"""The data plane of one account, on whatever loop it is wanted."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from itertools import repeat
from typing import Any, TypeVar

from traindeck.domain.accounts.keys import Credentials
from traindeck.domain.accounts.profiles import Profile
from traindeck.domain.errors import ServiceTrouble
from traindeck.domain.storage.objects import Bucket, ObjectPath
from traindeck.runtime.loop_thread import LoopThread
from traindeck.services.http.calls import FIRST_S, PATIENCE_S, pause_after
from traindeck.services.storage.data_ports import ObjectHead, Sink
from traindeck.services.storage.documents import document, moment
from traindeck.services.storage.wire.account import WireAccount
from traindeck.services.storage.wire.exchange import Answered
from traindeck.services.storage.wire.requests import Request
from traindeck.services.storage.wire.uploads import MultipartUploads

Result = TypeVar("Result")


class DataPlane(MultipartUploads):
    """Made anywhere, at once; used and closed on one loop, which it keeps busy.

    Every method raises AppError, tries again where that is safe, and ends at once when cancelled.
    """

    async def buckets(self) -> list[Bucket]:
        request = Request("GET", ObjectPath(""), headers={f"{self.account.prefix}location": "true"})
        found: list[Bucket] = (await self.account.ask(request, read=_buckets_in)).content
        return found

    async def close(self) -> None:
        self.account.close()


def _buckets_in(answer: Answered) -> list[Bucket]:
    return [
        Bucket(node.findtext("Name") or "", moment(node.findtext("CreationDate")), node.findtext("Location") or "")
        for node in document(answer.body, "ListAllMyBucketsResult").iterfind("Buckets/Bucket")
    ]


OpenPlane = Callable[[str], Awaitable[DataPlane]]
"""The way to a profile's storage as it is now; asked again when keys or addresses may have changed."""


async def read_through(
    plane: DataPlane, found: ObjectHead, sink: Sink, *, offset: int = 0, length: int | None = None
) -> int:
    """Feed `sink` with each byte once; Conflict: the object became another one. The answer counts them.

    After a cut it goes on at the byte it had reached.
    """
    end = found.size_bytes if length is None else min(found.size_bytes, offset + length)
    at = offset

    def take(piece: bytes) -> Awaitable[None] | None:
        nonlocal at
        at += len(piece)
        return sink(piece)

    while at < end:
        before = at
        try:
            await plane.get(found.path, take, offset=at, length=end - at, if_match=found.etag, version=found.version)
        except ServiceTrouble as error:
            # Where not one byte came, the plane itself has tried again and again.
            pause = pause_after(error, repeat(FIRST_S))
            if pause is None or at == before or pause > PATIENCE_S:
                raise
            await asyncio.sleep(pause)
    return at - offset


class OwnLoop:
    """Connected when first asked; reading long listings keeps nobody else's loop busy."""

    def __init__(self, profile: Profile, credentials: Credentials) -> None:
        self._profile = profile
        self._credentials = credentials
        self._running: tuple[LoopThread, DataPlane] | None = None
        self._under_way = 0
        self._may_end = False

    async def run(self, work: Callable[[DataPlane], Coroutine[Any, Any, Result]]) -> Result:
        """When cancelled, the work is ended before this returns."""
        self._may_end = False
        if self._running is None:
            thread, plane = LoopThread("objects"), DataPlane(WireAccount(self._profile, self._credentials))
            self._running = thread, plane
            weakref.finalize(self, thread.stop, plane.account.close)
        thread, plane = self._running
        self._under_way += 1
        try:
            return await thread.run(lambda: work(plane))
        finally:
            self._under_way -= 1
            if self._may_end:
                self.close()

    @property
    def clock_ahead_s(self) -> float | None:
        return self._running[1].account.clock_ahead_s if self._running else None

    def close(self) -> None:
        """Close it when nobody waits for anything any more; asking again opens another."""
        self._may_end = True
        if self._running is not None and not self._under_way:
            thread, plane = self._running
            self._running = None
            thread.stop(plane.account.close)
