"""A server that says exactly what a test wrote, and reads as much as the test lets it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from support.servers.served import Served

Script = Callable[["Line"], Awaitable[None]]


class Line:
    """One connection, as a script sees it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def head(self) -> str:
        """The next request's head; the end of the connection raises IncompleteReadError."""
        return (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")

    async def body(self, size_bytes: int) -> bytes:
        return await self._reader.readexactly(size_bytes)

    async def say(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        head = f"HTTP/1.1 {status} Said\r\nContent-Length: {len(body)}\r\n{more}\r\n"
        await self.say(head.encode("latin-1") + body)

    def say_no_more(self) -> None:
        self._writer.write_eof()

    def hang_up(self) -> None:
        self._writer.close()


class WrittenServer(Served):
    """Plays its script on every connection; a script that returns hangs up."""

    def __init__(self, script: Script) -> None:
        super().__init__()
        self._script = script

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._script(Line(reader, writer))
