"""A server on loopback that gives each connection to one coroutine."""

from __future__ import annotations

import asyncio
import ssl
from types import TracebackType
from typing import Self


class ConnectionServer:
    """Runs between `async with` and its end; a subclass says what happens on a connection."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raise NotImplementedError

    def secured(self) -> ssl.SSLContext | None:
        """None: no TLS."""
        return None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0, ssl=self.secured())
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self.serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client is gone or did not trust us, or the test is over
        finally:
            self._tasks.discard(task)
            writer.close()


async def both_ways(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, behind: asyncio.StreamReader, out: asyncio.StreamWriter
) -> None:
    """Until the server behind has said all."""
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
