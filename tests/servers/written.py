"""A server that says exactly what a test wrote, and reads as much as the test lets it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType

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

    def hang_up(self) -> None:
        self._writer.close()


class WrittenServer:
    """Plays its script on every connection; a script that returns hangs up."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._tasks: set[asyncio.Task[None]] = set()
        self.connections = 0
        self.open_connections = 0
        self.url = ""

    async def __aenter__(self) -> WrittenServer:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        self.open_connections += 1
        try:
            await self._script(Line(reader, writer))
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client hung up, or the test is over
        finally:
            self.open_connections -= 1
            self._tasks.discard(task)
            writer.close()
