"""An HTTP proxy as companies and campuses have them: tunnels, forwards, and asks who you are."""

from __future__ import annotations

import asyncio
import base64
from urllib.parse import urlsplit

from support.servers.served import Served

_REFUSALS = {407: "Proxy Authentication Required", 403: "Forbidden"}


class HttpProxy(Served):
    """Lets through who knows user and password; `seen` says what was asked for, and whether it was tunnelled."""

    def __init__(self, user: str = "", password: str = "", *, forbids: bool = False) -> None:
        super().__init__()
        self._wanted = f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}" if user else ""
        self._forbids = forbids
        self.seen: list[str] = []
        self.refused = 0

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, target, *_ = head.split(" ", 2)
        self.seen.append(f"{method} {target}")
        if status := self._refusal(head):
            self.refused += 1
            await _close_with(writer, status)
        elif method == "CONNECT":
            await self._tunnel(target, reader, writer)
        else:
            await self._forward(head, target, reader, writer)

    def _refusal(self, head: str) -> int:
        given = [line.partition(": ")[2] for line in head.split("\r\n") if line.startswith("Proxy-Authorization: ")]
        if self._wanted and given != [self._wanted]:
            return 407
        return 403 if self._forbids else 0

    async def _tunnel(self, target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, _, port = target.rpartition(":")
        behind, out = await asyncio.open_connection("127.0.0.1" if host.endswith("localhost") else host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await _both_ways(reader, writer, behind, out)

    async def _forward(
        self, head: str, target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        place = urlsplit(target)
        behind, out = await asyncio.open_connection(place.hostname, place.port)
        path = target.partition("//")[2].partition("/")[2]
        lines = head.replace(target, f"/{path}", 1).split("\r\n")[:-2]
        kept = [line for line in lines if not line.lower().startswith(("proxy-", "connection:"))]
        out.write("\r\n".join([*kept, "Connection: close", "", ""]).encode("latin-1"))
        await _both_ways(reader, writer, behind, out)


async def _close_with(writer: asyncio.StreamWriter, status: int) -> None:
    challenge = 'Proxy-Authenticate: Basic realm="campus"\r\n' if status == 407 else ""
    words = f"HTTP/1.1 {status} {_REFUSALS[status]}\r\n{challenge}Content-Length: 0\r\nConnection: close\r\n\r\n"
    writer.write(words.encode())
    await writer.drain()


async def _both_ways(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, behind: asyncio.StreamReader, out: asyncio.StreamWriter
) -> None:
    there = asyncio.ensure_future(_pour(reader, out))
    try:
        await _pour(behind, writer)
    finally:
        out.close()
        there.cancel()
        await asyncio.gather(there, return_exceptions=True)


async def _pour(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(1 << 16):
        target.write(data)
        await target.drain()
