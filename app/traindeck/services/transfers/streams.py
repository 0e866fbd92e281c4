"""An object made of bytes that come from a pipe: nobody knows how many there are, and they come only once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypedDict

from traindeck.domain.storage.objects import ObjectPath
from traindeck.domain.transfers.orders import Rules
from traindeck.services.storage.data_ports import Part
from traindeck.services.storage.wire.data_plane import DataPlane
from traindeck.services.transfers.bodies import Content
from traindeck.services.transfers.digests import Checksum
from traindeck.services.transfers.pace import RateLimit

Read = Callable[[int], Awaitable[bytes]]
"""As many bytes as asked for, fewer only at the end."""

FIRST_BYTES = 16 * 1024 * 1024
_AT_ONCE = 3
_SAME_SIZE = 500
_NO_LIMIT = RateLimit()


class _Said(TypedDict):
    """What is said about the object."""

    metadata: dict[str, str]
    content_type: str
    storage_class: str


async def send_stream(
    plane: DataPlane, target: ObjectPath, read: Read, limit: RateLimit = _NO_LIMIT, rules: Rules | None = None
) -> int:
    """What `read` gives becomes one object, or none where something fails; the answer is its size."""
    wanted = rules or Rules()
    said = _Said(metadata=dict(wanted.metadata), content_type=wanted.content_type, storage_class=wanted.storage_class)
    first = await read(FIRST_BYTES)
    if len(first) < FIRST_BYTES:
        await plane.put(target, await _content(first, limit, False), **said)
        return len(first)
    upload_id = await plane.begin_upload(target, **said)
    try:
        size_bytes, parts = await _send_parts(plane, target, upload_id, first, read, limit)
        await plane.finish_upload(target, upload_id, parts)
    except BaseException:
        await plane.abort_upload(target, upload_id)
        raise
    return size_bytes


async def _send_parts(
    plane: DataPlane, target: ObjectPath, upload_id: str, content: bytes, read: Read, limit: RateLimit
) -> tuple[int, list[Part]]:
    slots = asyncio.Semaphore(_AT_ONCE)
    sent: list[asyncio.Task[Part]] = []

    async def send(number: int, content: bytes) -> Part:
        try:
            return await plane.put_proven_part(target, upload_id, number, partial(_content, content, limit))
        finally:
            slots.release()

    size_bytes = 0
    try:
        async with asyncio.TaskGroup() as group:
            while content:
                size_bytes += len(content)
                await slots.acquire()
                sent.append(group.create_task(send(len(sent) + 1, content)))
                content = await read(_part_bytes(len(sent)))
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from failures
    return size_bytes, [task.result() for task in sent]


async def _content(data: bytes, limit: RateLimit, by_crc64: bool) -> Content:
    checksum = Checksum(by_crc64=by_crc64)
    checksum.update(data)
    return Content(data, checksum.md5, limit, checksum.crc64)


def _part_bytes(done: int) -> int:
    """Larger and larger: ten thousand parts have to be enough for whatever comes."""
    return FIRST_BYTES * (1 + done // _SAME_SIZE)
