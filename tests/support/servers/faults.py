"""A bad line: an HTTP proxy on loopback that spoils chosen requests on their way to a real server."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
import struct
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from support.servers.served import Served


@dataclass(frozen=True)
class Answer:
    """Answered by the proxy itself; the server never hears of it."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Reset:
    """The connection breaks; `served` says whether the server got the request first."""

    served: bool = False


@dataclass(frozen=True)
class Cut:
    """Only so many bytes of the server's body arrive."""

    after_bytes: int


@dataclass(frozen=True)
class Flip:
    """One bit of the server's body arrives wrong."""


@dataclass(frozen=True)
class Stall:
    """The server gets the request; its answer does not arrive as long as the proxy runs."""


Fault = Answer | Reset | Cut | Flip | Stall


@dataclass
class Request:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    is_last: bool = False
    """Whoever asks in the old way waits for the end of the connection."""


class FaultyProxy(Served):
    """Between a client and `upstream`; each fault in `faults` spoils one request, in order.

    `only` spares the requests whose line (as in `seen`) does not match.
    `readdress` mends what a changed Host header breaks, such as a signature over it.
    """

    def __init__(
        self,
        upstream: str,
        readdress: Callable[[Request, str], None] | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(tls)
        address = urlsplit(upstream)
        assert address.hostname and address.port
        self._upstream = (address.hostname, address.port)
        self._readdress = readdress
        self._clients: set[asyncio.StreamWriter] = set()
        self.faults: deque[Fault] = deque()
        self.only = re.compile("")
        self.seen: list[str] = []

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    def drop_idle(self) -> None:
        """Close every connection, as a server does with those that were idle too long."""
        for writer in self._clients:
            writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._clients.add(writer)
        try:
            while request := await _read(reader):
                line = f"{request.method} {request.target}"
                self.seen.append(line)
                fault = self.faults.popleft() if self.faults and self.only.search(line) else None
                if not await self._serve(request, fault, writer) or request.is_last:
                    break
        finally:
            self._clients.discard(writer)

    async def _serve(self, request: Request, fault: Fault | None, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection can go on."""
        if isinstance(fault, Answer):
            lines = [f"{name}: {value}" for name, value in fault.headers.items()]
            said = [f"HTTP/1.1 {fault.status} Spoiled", *lines, f"Content-Length: {len(fault.body)}", "", ""]
            writer.write("\r\n".join(said).encode() + (b"" if request.method == "HEAD" else fault.body))
            await writer.drain()
            return True
        if isinstance(fault, Reset) and not fault.served:
            _reset(writer)
            return False
        head, body = await self._forward(request)
        if isinstance(fault, Stall):
            await asyncio.Event().wait()
        if isinstance(fault, Reset):
            _reset(writer)
            return False
        if isinstance(fault, Cut):
            body = body[: fault.after_bytes]
        if isinstance(fault, Flip):
            body = bytes([body[0] ^ 1]) + body[1:]
        writer.write(head + body)
        await writer.drain()
        return not isinstance(fault, Cut)

    async def _forward(self, request: Request) -> tuple[bytes, bytes]:
        host = "{}:{}".format(*self._upstream)
        request.headers["Host"] = host
        if self._readdress:
            self._readdress(request, host)
        request.headers["Connection"] = "close"
        reader, writer = await asyncio.open_connection(*self._upstream)
        try:
            lines = [f"{name}: {value}" for name, value in request.headers.items()]
            writer.write("\r\n".join([f"{request.method} {request.target} HTTP/1.1", *lines, "", ""]).encode())
            writer.write(request.body)
            await writer.drain()
            answer = await reader.read()
        finally:
            writer.close()
            await writer.wait_closed()
        head, _, body = answer.partition(b"\r\n\r\n")
        kept = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
        return b"\r\n".join(kept) + b"\r\n\r\n", body


async def _read(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, target, version = first.split(" ")
    headers = dict(line.split(": ", 1) for line in lines)
    length = next((int(value) for name, value in headers.items() if name.lower() == "content-length"), 0)
    return Request(method, target, headers, await reader.readexactly(length), version == "HTTP/1.0")


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close so that the other side is told of a broken connection, not of an end."""
    connection: socket.socket = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
