"""What the small servers of the tests share: a port on loopback, and an orderly end."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from types import TracebackType
from typing import Self
from weakref import WeakSet

# So many turns of the loop lie between a connection and its task.
_ACCEPTING = 10


class Served:
    """Hands each connection to `_talk`, and ends them all when it is left."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self._tasks: set[asyncio.Task[None]] = set()
        self._lines = WeakSet[asyncio.WriteTransport]()
        self.connections = 0
        self.port = 0

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}" if self._tls else f"http://127.0.0.1:{self.port}"

    @property
    def open_connections(self) -> int:
        return len(self._tasks)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for _ in range(_ACCEPTING):  # one that was just being accepted is not among them yet
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            for line in self._lines:
                with suppress(AttributeError):  # one at its very end has let go of its loop, and is not to be ended
                    line.abort()  # what it did not take yet, the other end does not want any more
            await asyncio.sleep(0)
        await self._server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._lines.add(writer.transport)
        self.connections += 1
        try:
            await self._talk(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            # The client hung up, or the test is over: nobody takes what is still to be said.
            writer.transport.abort()
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raise NotImplementedError
