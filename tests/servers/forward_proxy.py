"""An HTTP proxy as companies run them: CONNECT and whole addresses, for known users only."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from urllib.parse import urlsplit

from servers.served import Served

Place = tuple[str, int]


class ForwardProxy(Served):
    """Leads to the places named in `routes`, by "host:port"; `*.domain:port` stands for every host below it."""

    def __init__(self, routes: Mapping[str, Place], user: str = "", password: str = "") -> None:
        super().__init__()
        self._routes = dict(routes)
        pair = base64.b64encode(f"{user}:{password}".encode()).decode()
        self._wanted = f"Basic {pair}" if user else ""
        self.seen: list[str] = []

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip("\r\n").split("\r\n")
        self.seen.append(first)
        method, target, _ = first.split(" ")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        if self._wanted and headers.get("proxy-authorization") != self._wanted:
            return await _refuse(writer, "407 Proxy Authentication Required")
        address = urlsplit(target)
        place = self._way(target if method == "CONNECT" else address.netloc)
        if place is None:
            return await _refuse(writer, "403 Forbidden")
        there, back = await asyncio.open_connection(*place)
        try:
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                path = target[target.index(address.netloc) + len(address.netloc) :]
                kept = [line for line in lines if not line.lower().startswith("proxy-")]
                kept.append("Connection: close")
                back.write("\r\n".join([f"{method} {path} HTTP/1.1", *kept, "", ""]).encode("latin-1"))
            async with asyncio.TaskGroup() as group:
                up = group.create_task(_pump(reader, back))
                await _pump(there, writer)
                up.cancel()
        finally:
            back.close()

    def _way(self, address: str) -> Place | None:
        return self._routes.get(address) or self._routes.get("*." + address.partition(".")[2])


async def _refuse(writer: asyncio.StreamWriter, status: str) -> None:
    writer.write(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode())
    await writer.drain()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass  # the other side of the pair ends too
    finally:
        writer.close()
