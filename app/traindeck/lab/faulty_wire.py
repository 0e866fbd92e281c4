"""How the faults of the wire are played: before a request is handled, and on the way of its answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import BinaryIO

from aiohttp import web

from traindeck.lab.faults import HTML, Fault, Kind

_BLOCK = 16 * 1024
_HTML = "<html><head><title>{status} {reason}</title></head><body><h1>{status} {reason}</h1></body></html>"


class LostError(ConnectionResetError):
    """The connection was closed on purpose."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """The faults that struck one request."""

    faults: Sequence[Fault] = ()

    def of(self, kind: Kind) -> Fault | None:
        return next((fault for fault in self.faults if fault.kind is kind), None)

    @property
    def now(self) -> datetime:
        """The time as this request finds it."""
        skew = sum(fault.seconds for fault in self.faults if fault.kind is Kind.CLOCK_SKEW)
        return datetime.now(UTC) + timedelta(seconds=skew)

    @property
    def bytes_per_second(self) -> int:
        fault = self.of(Kind.BANDWIDTH)
        return fault.bytes_per_second if fault else 0

    @property
    def spoils_answers(self) -> bool:
        return any(fault.kind in (Kind.BANDWIDTH, Kind.LOST_ANSWER, Kind.CUT_BODY) for fault in self.faults)

    async def before(self, http: web.BaseRequest) -> None:
        """Wait, or lose the request."""
        for fault in self.faults:
            if fault.kind is Kind.LATENCY:
                await asyncio.sleep(max(0.0, fault.seconds))
        if self.of(Kind.LOST_REQUEST):
            lose(http)

    def html(self) -> web.Response | None:
        """The page of a proxy on the way, where an error rule asks for one."""
        fault = self.of(Kind.ERROR)
        if fault is None or fault.body != HTML:
            return None
        reason = fault.code or "Error"
        text = _HTML.format(status=fault.status, reason=reason)
        return web.Response(status=fault.status, text=text, content_type="text/html")


NO_TROUBLE = Trouble()


def lose(http: web.BaseRequest) -> None:
    """Close the connection at once, without a word."""
    if http.transport:
        http.transport.abort()
    raise LostError


async def paced(pieces: AsyncIterator[bytes], bytes_per_second: int) -> AsyncIterator[bytes]:
    """Hand pieces on no faster than this."""
    loop = asyncio.get_running_loop()
    start, passed = loop.time(), 0
    async for piece in pieces:
        passed += len(piece)
        await asyncio.sleep(max(0.0, start + passed / bytes_per_second - loop.time()))
        yield piece


async def spoiled(http: web.BaseRequest, response: web.StreamResponse, trouble: Trouble) -> web.StreamResponse:
    """Send a ready answer as the faults want it."""
    if trouble.of(Kind.CLOCK_SKEW) and not response.prepared:
        # Clients that were refused set their clock by it.
        response.headers["Date"] = format_datetime(trouble.now, usegmt=True)
    if not trouble.spoils_answers or response.prepared or not isinstance(response, web.Response):
        return response
    body = response.body
    data = body if isinstance(body, bytes) else b""
    streamed = web.StreamResponse(status=response.status, reason=response.reason, headers=response.headers)
    return await send_spoiled(http, streamed, len(data), lambda at, size: data[at : at + size], trouble)


async def send_spoiled(
    http: web.BaseRequest,
    response: web.StreamResponse,
    length: int,
    read: Callable[[int, int], bytes],
    trouble: Trouble,
) -> web.StreamResponse:
    """Send `length` bytes slowly, in part, or not at all."""
    if trouble.of(Kind.LOST_ANSWER):
        lose(http)
    cut = trouble.of(Kind.CUT_BODY)
    if "Content-Length" not in response.headers:
        response.content_length = length
    await response.prepare(http)
    if http.method == "HEAD" or response.status in (204, 304):
        await response.write_eof()
        return response
    wanted = min(length, cut.after_bytes) if cut else length

    async def pieces() -> AsyncIterator[bytes]:
        for at in range(0, wanted, _BLOCK):
            yield read(at, min(_BLOCK, wanted - at))

    sent = paced(pieces(), trouble.bytes_per_second) if trouble.bytes_per_second else pieces()
    async for piece in sent:
        await response.write(piece)
    if wanted < length:
        # Unlike an abort, this lets the bytes before the cut arrive.
        if http.transport:
            http.transport.close()
        raise LostError
    await response.write_eof()
    return response


def part_of(file: BinaryIO, first: int) -> Callable[[int, int], bytes]:
    """A reader for `send_spoiled` over a file."""

    def read(at: int, size: int) -> bytes:
        file.seek(first + at)
        return file.read(size)

    return read
