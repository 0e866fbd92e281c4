"""Bodies on their way into the store: small ones at once, others block by block."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from typing import TypeVar

from traindeck.lab.obs.errors import AccessDenied, InvalidRequest
from traindeck.lab.obs.incoming import Block, IncomingBody
from traindeck.lab.obs.request import ObsRequest
from traindeck.lab.obs.store import BodyWriter, ObjectStore
from traindeck.lab.workers import Workers

SMALL = 256 * 1024
MAX_DOCUMENT = 8 << 20
_R = TypeVar("_R")


class Receiver:
    """Takes bodies; what becomes of them is said by the operation."""

    def __init__(self, store: ObjectStore, workers: Workers) -> None:
        self._store = store
        self._workers = workers

    async def stored(self, incoming: IncomingBody, finish: Callable[[BodyWriter], _R]) -> _R:
        """The result of `finish`, called in a worker with the complete body, once all checksums were right."""
        if incoming.announced_size is not None and incoming.announced_size <= SMALL:
            body = await incoming.whole(SMALL)
            return await self._workers.run(self._small, body, incoming, finish)
        writer = await self._workers.run(self._store.new_body)

        def digest(block: Block) -> None:
            writer.digest(block)
            incoming.update(block)

        def finished() -> _R:
            incoming.finish(lambda: writer.md5)
            return finish(writer)

        # One block is hashed by one thread and written by another while the next one arrives.
        taken: list[asyncio.Future[None]] = []
        try:
            async for block in incoming.blocks():
                await self._all_ended(taken)
                for step in (digest, writer.keep_bytes):
                    taken.append(self._workers.start(step, block))
            await self._all_ended(taken)
            return await self._workers.run(finished)
        finally:
            # A file must not be closed under a thread that still writes to it.
            for one in taken:
                await self._workers.settled(one)
            await asyncio.shield(self._workers.run(writer.discard))

    async def _all_ended(self, calls: list[asyncio.Future[None]]) -> None:
        while calls:
            await self._workers.ended(calls[-1])
            calls.pop()

    async def document(
        self, request: ObsRequest, *, digest_needed: bool = False, checksums_of_object: bool = False
    ) -> bytes:
        """A body that is a document, whole; the checksums beside it may be those of the object it is about."""
        incoming = body_of(request)
        if checksums_of_object:
            incoming.forget_checksums()
        if digest_needed and not incoming.has_digest and not _has_any_checksum(request):
            raise InvalidRequest("Missing required header for this request: Content-MD5.")
        body = await incoming.whole(MAX_DOCUMENT)
        incoming.finish(lambda: hashlib.md5(body, usedforsecurity=False).digest())
        return body

    def _small(self, body: bytes, incoming: IncomingBody, finish: Callable[[BodyWriter], _R]) -> _R:
        with self._store.new_body() as writer:
            writer.write(body)
            incoming.finish(lambda: writer.md5)
            return finish(writer)


def body_of(request: ObsRequest) -> IncomingBody:
    if request.verified is None:
        raise AccessDenied
    return IncomingBody(request.http, request.raw, request.verified, request.trouble.bytes_per_second)


def _has_any_checksum(request: ObsRequest) -> bool:
    return any(name.startswith("checksum-") for name in request.our_headers())
