"""The connections of `requests`, made so that a cancelled call lets go of them at once; imported in a worker only."""

from __future__ import annotations

import socket
from typing import Any

from requests import PreparedRequest, Response, Session
from requests.adapters import HTTPAdapter
from requests.exceptions import ConnectionError, ReadTimeout
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import (
    ConnectTimeoutError,
    NameResolutionError,
    NewConnectionError,
    ProtocolError,
    ReadTimeoutError,
)
from urllib3.poolmanager import PoolManager

from traindeck.domain.accounts.profiles import Proxy
from traindeck.services.http import bounds
from traindeck.services.http.calls import AnswerUnusable, connected, in_use
from traindeck.services.http.proxies import is_loopback

_PIECE_BYTES = 256 * 1024


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
    """As the adapter of the library, with these connections; what opens the proxy is in no address."""

    def __init__(self, proxy: Proxy | None = None, **settings: Any) -> None:
        self._proxy = proxy
        super().__init__(**settings)

    def proxy_headers(self, proxy: str) -> dict[str, str]:
        return self._proxy.headers if self._proxy else dict(super().proxy_headers(proxy))

    def send(
        self,
        request: PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        verify: bool | str = True,
        cert: Any = None,
        proxies: Any = None,
    ) -> Response:
        """An answer that is to be kept comes within bounds; the library takes all that is sent, and what it unpacks."""
        answer = super().send(request, stream, timeout, verify, cert, proxies)
        if not stream:
            try:
                answer._content = _whole(answer)
            finally:
                answer.close()
        return answer

    def init_poolmanager(self, *arguments: Any, **named: Any) -> None:
        super().init_poolmanager(*arguments, **named)
        _use_ours(self.poolmanager)

    def proxy_manager_for(self, *arguments: Any, **named: Any) -> Any:
        manager = super().proxy_manager_for(*arguments, **named)
        if type(manager).__module__.startswith("urllib3.poolmanager"):  # one for SOCKS makes its own connections
            _use_ours(manager)
        return manager


def _whole(answer: Response) -> bytes:
    pieces, held = list[bytes](), 0
    try:
        # As it comes: nothing here asks for what is pressed, and unpacked it may be anything.
        for piece in answer.raw.stream(_PIECE_BYTES, decode_content=False):
            held += len(piece)
            if held > bounds.ANSWER_BYTES:
                raise AnswerUnusable("the answer is longer than any can be")
            pieces.append(piece)
    except ReadTimeoutError as error:
        raise ReadTimeout(error, request=answer.request) from error
    except ProtocolError as error:
        raise ConnectionError(error, request=answer.request) from error
    return b"".join(pieces)


def go_by(session: Session, proxy: Proxy | None, url: str, **pool: int) -> None:
    """Reach `url` by the proxy of the profile, else as the system says; this computer always directly."""
    for scheme in ("http://", "https://"):
        session.mount(scheme, BreakableAdapter(proxy, max_retries=0, **pool))
    session.auth = _signed_already
    session.headers["Accept-Encoding"] = "identity"
    session.trust_env = proxy is None and not is_loopback(url)
    if proxy is not None:
        session.proxies = dict.fromkeys(("http", "https"), proxy.url)


def _signed_already(request: PreparedRequest) -> PreparedRequest:
    """An entry of the user's netrc would replace the signature."""
    return request


def _use_ours(manager: PoolManager) -> None:
    manager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}
