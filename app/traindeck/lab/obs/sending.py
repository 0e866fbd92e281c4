"""Objects on their way out: whole, one part, or several."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from typing import BinaryIO

from aiohttp import web

from traindeck.lab.faulty_wire import part_of, send_spoiled
from traindeck.lab.obs.conditions import ByteRange
from traindeck.lab.obs.request import ObsRequest
from traindeck.lab.workers import Workers

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
