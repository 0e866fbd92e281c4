"""Connections kept for the next request, by server; never more than a server may have at once."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from traindeck.domain.accounts.profiles import Proxy
from traindeck.services.http import bounds
from traindeck.services.http.calls import NotReached
from traindeck.services.storage.data_ports import Body, Counted
from traindeck.services.storage.wire.connection import HttpConnection, scratch
from traindeck.services.storage.wire.exchange import Answered, ChooseSink, LineBroken

# Less than any front end keeps an idle connection, so that few are found dead.
IDLE_S = 20.0
MOST_CONNECTIONS = 256

_FIRST_ADDRESS_S = 2.5
# Many connections are opened at once; their server's addresses are asked for once.
_ADDRESSES_S = 30.0

_Addresses = list[tuple[socket.AddressFamily, tuple[str, int]]]
Prepared = Callable[[bool], bytes]
"""The head of a request; told whether its target must be a whole address."""


@dataclass(frozen=True, slots=True, eq=False)
class Server:
    """Whom a connection leads to; each is made once, and told apart by being another."""

    host: str
    port: int
    is_secure: bool

    @property
    def shown(self) -> str:
        """As the Host header has it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.is_secure else 80) else f"{host}:{self.port}"


class ProxyRefused(Exception):
    """The proxy did not open a way to the service."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the proxy answered {status}")
        self.status = status


class ConnectionPool:
    """Lives on one loop; made anywhere, used and closed there."""

    def __init__(
        self, tls: ssl.SSLContext | None = None, proxy: Proxy | None = None, most: int = MOST_CONNECTIONS
    ) -> None:
        self._tls = tls
        self._proxy = proxy
        self._idle: dict[Server, list[HttpConnection]] = defaultdict(list)
        self._all: set[HttpConnection] = set()
        self._places: dict[Server, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(most))
        self._addresses: dict[tuple[str, int], tuple[float, _Addresses]] = {}
        self._asking: dict[tuple[str, int], asyncio.Lock] = defaultdict(asyncio.Lock)
        self._scratch = scratch()
        self._watch: asyncio.TimerHandle | None = None
        self._is_closed = False

    async def exchange(
        self,
        server: Server,
        method: str,
        head: Prepared,
        body: Body | None = None,
        take: ChooseSink | None = None,
        counted: Counted | None = None,
    ) -> Answered:
        """One request and its answer; repeated once at once where an idle connection had died unseen."""
        in_full = self._proxy is not None and not server.is_secure
        async with self._places[server]:
            connection = self._taken(server) or await self._opened(server)
            try:
                answer = await connection.exchange(method, head(in_full), body, take, counted)
            except LineBroken as broken:
                if not broken.was_stale:
                    raise
                self._forget(connection)
                for idle in self._idle.pop(server, ()):  # they are of the same age
                    self._forget(idle)
                connection = await self._opened(server)
                answer = await connection.exchange(method, head(in_full), body, take, counted)
            finally:
                self._give_back(server, connection)
            return answer

    @property
    def proxy_line(self) -> str:
        """What a request sent through the proxy, not inside a tunnel, says to it."""
        return "".join(f"{name}: {value}\r\n" for name, value in self._proxy.headers.items()) if self._proxy else ""

    def close(self) -> None:
        """End everything; requests under way break off."""
        self._is_closed = True
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        for connection in list(self._all):
            connection.abort()
        self._all.clear()
        self._idle.clear()

    def _taken(self, server: Server) -> HttpConnection | None:
        idle = self._idle[server]
        while idle:
            connection = idle.pop()
            if connection.is_open and asyncio.get_running_loop().time() - connection.idle_since < IDLE_S:
                return connection
            self._forget(connection)
        return None

    def _give_back(self, server: Server, connection: HttpConnection) -> None:
        if not connection.is_open or self._is_closed:
            self._forget(connection)
            return
        connection.idle_since = asyncio.get_running_loop().time()
        self._idle[server].append(connection)

    def _forget(self, connection: HttpConnection) -> None:
        connection.abort()
        self._all.discard(connection)

    async def _opened(self, server: Server) -> HttpConnection:
        if self._is_closed:
            raise NotReached(ConnectionAbortedError("closed"))
        loop = asyncio.get_running_loop()
        connection = HttpConnection(loop, self._scratch)
        try:
            async with asyncio.timeout(bounds.CONNECT_S):
                await self._connect(connection, server)
        except (OSError, LineBroken) as error:
            connection.abort()
            raise NotReached(error.cause if isinstance(error, LineBroken) else error) from error
        except BaseException:
            connection.abort()
            raise
        self._all.add(connection)
        if self._watch is None:
            self._watch = loop.call_later(bounds.LOOK_S, self._look)
        return connection

    async def _connect(self, connection: HttpConnection, server: Server) -> None:
        loop = asyncio.get_running_loop()
        tls = self._tls if server.is_secure else None
        if self._proxy is None:
            await self._reach(connection, server.host, server.port, tls)
            return
        transport = await self._reach(connection, self._proxy.host, self._proxy.port, None)
        if tls is None:
            return
        place = f"{server.host}:{server.port}"
        head = f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{self.proxy_line}\r\n"
        answer = await connection.exchange("CONNECT", head.encode(), None, None, None)
        if answer.status >= 300:
            raise ProxyRefused(answer.status)
        secured = await loop.start_tls(transport, connection, tls, server_hostname=server.host)
        if secured is None:
            raise ConnectionResetError("the tunnel was closed")
        connection.use(secured)

    async def _reach(
        self, connection: HttpConnection, host: str, port: int, tls: ssl.SSLContext | None
    ) -> asyncio.Transport:
        loop = asyncio.get_running_loop()
        addresses = await self._resolved(host, port)
        for left, (family, address) in zip(reversed(range(len(addresses))), addresses, strict=True):
            try:
                async with asyncio.timeout(_FIRST_ADDRESS_S if left else None):
                    transport, _ = await loop.create_connection(
                        lambda: connection,
                        *address,
                        family=family,
                        ssl=tls,
                        server_hostname=host if tls else None,
                    )
            except ssl.SSLError:
                raise
            except OSError:
                if not left:
                    raise
            else:
                return transport
        raise OSError(f"no address for {host}")

    async def _resolved(self, host: str, port: int) -> _Addresses:
        loop = asyncio.get_running_loop()
        async with self._asking[host, port]:
            since, known = self._addresses.get((host, port), (0.0, []))
            if known and loop.time() - since < _ADDRESSES_S:
                return known
            # Names below it mean this computer too, which not every system knows.
            known_as = "localhost" if host.endswith(".localhost") else host
            found = await loop.getaddrinfo(known_as, port, type=socket.SOCK_STREAM)
            addresses: _Addresses = [(family, (str(place[0]), port)) for family, _, _, _, place in found]
            self._addresses[host, port] = (loop.time(), addresses)
            return addresses

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        for server, idle in list(self._idle.items()):
            for connection in [one for one in idle if now - one.idle_since >= IDLE_S or not one.is_open]:
                idle.remove(connection)
                self._forget(connection)
            if not idle:
                del self._idle[server]
        for connection in self._all:
            connection.look(now)
        self._watch = loop.call_later(bounds.LOOK_S, self._look) if self._all else None
