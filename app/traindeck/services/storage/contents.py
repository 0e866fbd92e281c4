"""The bytes of an object: read through whatever the line does on the way, and sent from memory."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable

from traindeck.domain.errors import ServiceTrouble
from traindeck.services.http.calls import FIRST_S, PATIENCE_S
from traindeck.services.storage.data_ports import DataPlane, ObjectHead, Sink


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
            pause = max(FIRST_S, error.retry_after_s or 0.0)
            if at == before or pause > PATIENCE_S:
                raise
            await asyncio.sleep(pause)
    return at - offset


class BytesBody:
    """What is sent is in memory."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.size_bytes = len(content)
        self.md5 = hashlib.md5(content, usedforsecurity=False).digest()

    async def pieces(self) -> AsyncIterator[bytes]:
        if self._content:
            yield self._content
