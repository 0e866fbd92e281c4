"""A server of the tests for commands that run a loop of their own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from support.servers.served import Served

Server = TypeVar("Server", bound=Served)


@contextmanager
def beside(server: Server) -> Iterator[Server]:
    """It serves from a thread until it is left."""
    loop = asyncio.new_event_loop()
    ready, wanted = threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with server:
            ready.set()
            await wanted.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), name="server of a test")
    thread.start()
    ready.wait()
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(wanted.set)
        thread.join()
        loop.close()
