"""Objects on their way out: whole, one part, or several."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import BinaryIO, TypeVar

from aiohttp import web

from traindeck.lab.faults import part_of, send_spoiled
from traindeck.lab.life import Workers
from traindeck.lab.obs.access import Access
from traindeck.lab.obs.conditions import ByteRange
from traindeck.lab.obs.errors import AccessDenied, InvalidRequest
from traindeck.lab.obs.incoming import Block, IncomingBody
from traindeck.lab.obs.request import ObsRequest
from traindeck.lab.obs.store import BodyWriter, ObjectStore

_BLOCK = 256 * 1024


def content_range(part: ByteRange, size: int) -> str:
    return f"bytes {part.first}-{part.last}/{size}"


async def send(
    request: ObsRequest, status: int, headers: Mapping[str, str], file: BinaryIO, first: int, length: int
) -> web.StreamResponse:
    """Hand the file to the system's own copying, which neither fills memory nor passes through Python."""
    http = request.http
    response = web.StreamResponse(status=status, headers=headers)
    if request.trouble.spoils_answers:
        return await send_spoiled(http, response, length, part_of(file, first), request.trouble)
    response.content_length = length
    await response.prepare(http)
    if http.transport is None:
        raise ConnectionResetError("The client has gone.")
    sent = await asyncio.get_running_loop().sendfile(http.transport, file, first, length)
    if sent != length:
        # The length is promised already; a closed connection is the only way to say that the rest is missing.
        http.transport.abort()
    await response.write_eof()
    return response


async def send_parts(
    http: web.BaseRequest,
    headers: Mapping[str, str],
    file: BinaryIO,
    parts: Sequence[ByteRange],
    size: int,
    workers: Workers,
) -> web.StreamResponse:
    """Several parts as multipart/byteranges."""
    boundary = secrets.token_hex(16)
    heads = [
        f"\r\n--{boundary}\r\nContent-Type: {headers['Content-Type']}\r\n"
        f"Content-Range: {content_range(part, size)}\r\n\r\n".encode()
        for part in parts
    ]
    end = f"\r\n--{boundary}--\r\n".encode()
    response = web.StreamResponse(
        status=206, headers={**headers, "Content-Type": f"multipart/byteranges; boundary={boundary}"}
    )
    response.content_length = sum(map(len, heads)) + sum(part.length for part in parts) + len(end)
    await response.prepare(http)
    for head, part in zip(heads, parts, strict=True):
        await response.write(head)
        file.seek(part.first)
        left = part.length
        while left and (block := await workers.run(file.read, min(_BLOCK, left))):
            await response.write(block)
            left -= len(block)
        if left and http.transport:
            http.transport.abort()
    await response.write(end)
    await response.write_eof()
    return response


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


class Operations:
    """What every group of operations works with."""

    def __init__(self, store: ObjectStore, access: Access, receiver: Receiver, workers: Workers) -> None:
        self._store = store
        self._access = access
        self._receiver = receiver
        self._workers = workers


def body_of(request: ObsRequest) -> IncomingBody:
    if request.verified is None:
        raise AccessDenied
    return IncomingBody(request.http, request.raw, request.verified, request.trouble.bytes_per_second)


def _has_any_checksum(request: ObsRequest) -> bool:
    return any(name.startswith("checksum-") for name in request.our_headers())
