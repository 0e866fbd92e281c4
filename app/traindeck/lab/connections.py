"""How many may be connected to a port of the Lab, and how long they may keep it waiting."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import count
from typing import TypeVar

from aiohttp import web

_BACKLOG = 128
_LOOKS = 4
_Request = TypeVar("_Request", bound=web.BaseRequest)
Handler = Callable[[_Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of one port."""

    connections: int = 512
    # From an answer, or the beginning, to the end of the next head, however busily it drips in.
    idle_s: float = 120.0
    # While nothing of a body comes, or nothing of an answer is taken; whatever moves may take its time.
    stall_s: float = 60.0


@dataclass(frozen=True, slots=True)
class _Mark:
    """How far a connection had come when it was looked at."""

    request: int
    arrived: int
    unsent: int


class Connections:
    """The connections of one server: `serve` runs its requests, `listen` lets clients in."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self._most = _within_system(bounds.connections)
        self._listener: asyncio.Server | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._busy: dict[web.RequestHandler, web.BaseRequest] = {}
        self._turns = count(1)
        self._last_used: dict[web.RequestHandler, int] = {}
        # Accepted in this round of the loop, and among those of the server in the next.
        self._new: set[web.RequestHandler] = set()
        self._marks: dict[web.RequestHandler, tuple[_Mark, float]] = {}
        # Their clients have said all they will say, and wait for more than one answer.
        self._half_closed: set[web.RequestHandler] = set()

    async def serve(self, http: _Request, handler: Handler[_Request]) -> web.StreamResponse:
        protocol = http.protocol
        self._busy[protocol] = http
        if protocol in self._half_closed and not http.content.is_eof() and protocol.transport:
            protocol.transport.close()  # the rest of this request cannot come
        try:
            return await handler(http)
        finally:
            if protocol in self._half_closed and not protocol._messages:
                self._half_closed.discard(protocol)
                protocol.close()  # after this answer
            del self._busy[protocol]
            self._last_used[protocol] = next(self._turns)

    def of(self, app: web.Application) -> web.Application:
        """The application, its requests served here."""

        @web.middleware
        async def served(request: web.Request, handler: Handler[web.Request]) -> web.StreamResponse:
            return await self.serve(request, handler)

        app.middlewares.insert(0, served)
        return app

    async def listen(self, server: web.Server, sock: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        self._server = server
        self._listener = await loop.create_server(self._protocol, sock=sock, backlog=_BACKLOG)
        self._timer = loop.call_later(self.bounds.stall_s / _LOOKS, self._look_again)

    def close(self) -> None:
        """Nobody comes in any more; those inside are the server's."""
        if self._listener:
            self._listener.close()
        if self._timer:
            self._timer.cancel()

    def look(self, now: float) -> None:
        """End what has not moved for too long."""
        marks: dict[web.RequestHandler, tuple[_Mark, float]] = {}
        for protocol in self._server.connections:
            mark = self._mark(protocol)
            if mark is None or protocol.transport is None:
                continue
            before, since = self._marks.get(protocol, (mark, now))
            marks[protocol] = mark, since if before == mark else now
            if now - marks[protocol][1] >= self.bounds.stall_s:
                # There is nobody to tell it to: who neither sends nor takes anything would not take an answer either.
                protocol.transport.abort()
        self._marks = marks
        self._last_used = {one: turn for one, turn in self._last_used.items() if one.transport}
        self._half_closed = {one for one in self._half_closed if one.transport}

    def _look_again(self) -> None:
        loop = asyncio.get_running_loop()
        self.look(loop.time())
        self._timer = loop.call_later(self.bounds.stall_s / _LOOKS, self._look_again)

    def _mark(self, protocol: web.RequestHandler) -> _Mark | None:
        """None where the client owes nothing: it may then wait as long as the Lab works, or for an idle time."""
        transport, http = protocol.transport, self._busy.get(protocol)
        if transport is None or transport.is_closing():
            return None
        unsent = transport.get_write_buffer_size()
        # Not read on purpose, while the Lab is busy with what it has: no fault of the client's.
        is_owed = http is not None and not http.content.is_eof() and transport.is_reading()
        if not unsent and not is_owed:
            return None
        return _Mark(id(http), http.content.total_bytes if http else 0, unsent)

    def _protocol(self) -> asyncio.Protocol:
        there = self._server.connections
        if len(there) + len(self._new) >= self._most:
            idle = [one for one in there if one.transport and one not in self._busy]
            if not idle:
                return _Refused()
            min(idle, key=lambda one: self._last_used.get(one, 0)).force_close()
        made = self._server()
        self._new.add(made)
        asyncio.get_running_loop().call_soon(self._new.discard, made)
        return _Listener(made, self._keeps_open)

    def _keeps_open(self, protocol: web.RequestHandler) -> bool:
        """Whether a client that sends nothing more may be owed an answer, perhaps to a request that is not begun yet.

        Only the handler itself knows of requests that wait in it, and whether it waits for one.
        """
        if protocol._messages:
            self._half_closed.add(protocol)
        elif protocol._waiter is not None:
            return False
        else:
            # Its last request may begin in this round of the loop.
            asyncio.get_running_loop().call_soon(self._close_after_answer, protocol)
        return True

    def _close_after_answer(self, protocol: web.RequestHandler) -> None:
        http = self._busy.get(protocol)
        is_cut = http is not None and not http.content.is_eof()
        if protocol._request_in_progress and not is_cut:
            protocol.close()
        elif protocol.transport:
            protocol.transport.close()  # what is already written still goes out


class _Listener(asyncio.Protocol):
    """Passes everything on to a handler of requests, which would close at once when a client closes its own half."""

    def __init__(self, inner: web.RequestHandler, keeps_open: Callable[[web.RequestHandler], bool]) -> None:
        self._inner = inner
        self._keeps_open = keeps_open
        self.data_received = inner.data_received  # type: ignore[method-assign]
        self.pause_writing = inner.pause_writing  # type: ignore[method-assign]
        self.resume_writing = inner.resume_writing  # type: ignore[method-assign]
        self.connection_lost = inner.connection_lost  # type: ignore[method-assign]
        self.connection_made = inner.connection_made  # type: ignore[method-assign]

    def eof_received(self) -> bool:
        return self._keeps_open(self._inner)


class _Refused(asyncio.Protocol):
    """For whom there is no room."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            transport.abort()


def _within_system(wanted: int) -> int:
    """Half of the files that a program may have open here are left for others than connections."""
    if sys.platform == "win32":
        return wanted
    import resource

    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return wanted if most == resource.RLIM_INFINITY else min(wanted, most // 2)
