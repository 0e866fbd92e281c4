"""Servers as a dead network shows them: they take a connection, or not even that, and say no more."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from support.servers.served import Served


class SilentServer(Served):
    """Takes every connection and, after `first_words`, never says anything."""

    def __init__(self, first_words: bytes = b"") -> None:
        super().__init__()
        self._first_words = first_words
        self.heard = bytearray()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            if not self.heard and self._first_words:
                writer.write(self._first_words)
            self.heard += data


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
