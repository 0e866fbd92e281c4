"""The ways to the accounts' data: one each, all on one loop in a thread of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

from traindeck.runtime.loop_thread import LoopThread
from traindeck.services.accounts.connections import Connection, Connections
from traindeck.services.storage.wire.data_plane import DataPlane

Result = TypeVar("Result")


class Planes:
    """Enter it on the loop of those who ask; the thread starts when it is first needed."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._planes: dict[str, tuple[Connection, DataPlane]] = {}
        self._thread: LoopThread | None = None

    async def __aenter__(self) -> Self:
        self._main = asyncio.get_running_loop()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is not None:
            try:
                await self._thread.run(self._close_all)
            finally:
                await self._thread.close()

    async def run(self, profile: str, work: Callable[[DataPlane], Awaitable[Result]]) -> Result:
        """Do it with the profile's data over there; when cancelled, it is ended before this returns."""

        async def there() -> Result:
            return await work(await self.open(profile))

        return await self.on_loop(there)

    async def on_loop(self, make: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """Await `make()` on the loop that the planes are used on; when cancelled, it is ended before this returns."""
        if self._thread is None:
            self._thread = LoopThread("transfers")
        return await self._thread.run(make)

    async def open(self, profile: str) -> DataPlane:
        """For what runs over there: the way as it is now, ask again when keys or addresses may have changed."""
        opening = asyncio.run_coroutine_threadsafe(self._connections.open(profile), self._main)
        connection = await asyncio.wrap_future(opening)
        known = self._planes.get(profile)
        if known is not None and known[0] is connection:
            return known[1]

        plane = self._made(connection)
        self._planes[profile] = (connection, plane)
        if known is not None:
            await known[1].close()
        return plane

    @asynccontextmanager
    async def line(self, connection: Connection) -> AsyncIterator[DataPlane]:
        """For many calls `on_loop` with the keys of this connection: `run` asks the keyring, or the Lab, for each."""
        plane = self._made(connection)
        try:
            yield plane
        finally:
            await self.on_loop(plane.close)

    def _made(self, connection: Connection) -> DataPlane:
        return connection.make_plane(partial(self.on_main, connection.refused.tell))

    def on_main(self, call: Callable[[Any], object], value: object) -> None:
        """From over there: have those who ask told."""
        self._main.call_soon_threadsafe(call, value)

    async def _close_all(self) -> None:
        for _, plane in self._planes.values():
            await plane.close()
        self._planes.clear()
