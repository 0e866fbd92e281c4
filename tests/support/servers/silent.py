"""Servers as a dead network shows them: they take a connection, or not even that, and say no more."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType


class SilentServer:
    """Takes every connection and, after `first_words`, never says anything."""

    def __init__(self, first_words: bytes = b"") -> None:
        self._first_words = first_words
        self._open: list[asyncio.StreamWriter] = []
        self.heard = bytearray()
        self.port = 0

    async def __aenter__(self) -> SilentServer:
        self._server = await asyncio.start_server(self._take, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for writer in self._open:
            writer.close()
        await self._server.wait_closed()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.append(writer)
        try:
            while data := await reader.read(65536):
                if not self.heard and self._first_words:
                    writer.write(self._first_words)
                self.heard += data
        except ConnectionError:
            pass  # the client hung up, as it should


@contextmanager
def unreachable_port() -> Iterator[int]:
    """A port whose system drops every attempt to connect, as an address behind a dead line does."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(8):  # more than the queue of a listener that never accepts takes
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield listener.getsockname()[1]
