"""The connections of `requests`, made so that a cancelled call lets go of them at once; imported in a worker only."""

from __future__ import annotations

import socket
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError
from urllib3.poolmanager import PoolManager

from traindeck.services.call_lines import connected, in_use


class _Breakable(HTTPConnection):
    """Tells the call which socket it uses, from before the connection is made."""

    def request(self, *arguments: Any, **named: Any) -> None:
        if self.sock is not None:
            in_use(self.sock)
        super().request(*arguments, **named)

    def _new_conn(self) -> socket.socket:
        # The library's own words and kinds: they tell our errors apart.
        try:
            timeout_s = float(self.timeout) if isinstance(self.timeout, int | float) else None
            return connected((self._dns_host, self.port), timeout_s, self.source_address, self.socket_options or ())
        except socket.gaierror as error:
            raise NameResolutionError(self.host, self, error) from error
        except TimeoutError as error:
            raise ConnectTimeoutError(self, f"Connection to {self.host} timed out.") from error
        except OSError as error:
            raise NewConnectionError(self, f"Failed to establish a new connection: {error}") from error


class _BreakableSecure(_Breakable, HTTPSConnection):
    """The same behind TLS."""


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Breakable


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _BreakableSecure


class BreakableAdapter(HTTPAdapter):
    """As the adapter of the library, with these connections."""

    def init_poolmanager(self, *arguments: Any, **named: Any) -> None:
        super().init_poolmanager(*arguments, **named)
        _use_ours(self.poolmanager)

    def proxy_manager_for(self, *arguments: Any, **named: Any) -> Any:
        manager = super().proxy_manager_for(*arguments, **named)
        if type(manager).__module__.startswith("urllib3.poolmanager"):  # one for SOCKS makes its own connections
            _use_ours(manager)
        return manager


def _use_ours(manager: PoolManager) -> None:
    manager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}
