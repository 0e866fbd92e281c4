"""The OBS SDK with our connections under it; imported in a worker only, for it is slow to load.

The SDK's own connections verify no host name, are mixed between servers, leak when sending fails, and cannot be
broken off; it knows no proxy per account, and its models lose what they do not know. So this module, and no other,
replaces private parts of it: connections, signing where the date is missing, and requests for whole documents.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import ssl
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import formatdate
from typing import Any, TypeVar

import certifi
from obs import ObsClient, convertor

from traindeck.domain.accounts.keys import Credentials
from traindeck.domain.accounts.profiles import Profile, Proxy, Signature
from traindeck.domain.storage.access import Acl
from traindeck.services.http import bounds
from traindeck.services.http.calls import AnswerUnusable, NotReached, PageAnswered, connected, in_use
from traindeck.services.http.errors import is_page
from traindeck.services.http.proxies import MOST_REDIRECTS, may_follow
from traindeck.services.storage.bounded_xml import unfit
from traindeck.services.storage.endpoint import is_path_style
from traindeck.services.storage.sdk.documents import acl_of, policy_of

# Less than any front end keeps an idle connection, so that few are found dead.
IDLE_S = 20.0
CHUNK_BYTES = 256 * 1024
_MOST_BESIDE = "bytes=0-262143"

# What a socket says when the other end closed it: worth one immediate try on a fresh one.
_CUT = (
    http.client.RemoteDisconnected,
    http.client.ResponseNotReady,
    http.client.CannotSendRequest,
    BrokenPipeError,
    ConnectionResetError,
    ConnectionAbortedError,
)

Result = TypeVar("Result")


class _Plain(http.client.HTTPConnection):
    """Waits shorter for a connection than for an answer; `place` is where it leads, by a proxy or not."""

    place = ("", 0)

    def connect(self) -> None:
        self.timeout = bounds.CONNECT_S
        self._create_connection = connected
        try:
            super().connect()
        except OSError as error:
            raise NotReached(error) from error
        self.sock.settimeout(bounds.SILENCE_S)


class _Secure(_Plain, http.client.HTTPSConnection):
    """The same behind TLS."""


class _Idle:
    """Connections waiting for the next request, by server; the SDK gives them back with put_nowait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[tuple[str, int], list[tuple[float, _Plain]]] = defaultdict(list)

    def take(self, server: str, port: int) -> _Plain | None:
        now = time.monotonic()
        with self._lock:
            waiting = self._waiting[server, port]
            while waiting:
                since, connection = waiting.pop()
                if now - since < IDLE_S:
                    return connection
                connection.close()
        return None

    def put_nowait(self, connection: _Plain) -> None:
        with self._lock:
            self._waiting[connection.place].append((time.monotonic(), connection))

    def clear(self) -> None:
        with self._lock:
            waiting = [connection for group in self._waiting.values() for _, connection in group]
            self._waiting.clear()
        for connection in waiting:
            connection.close()


class _Convertor(convertor.Convertor):  # type: ignore[misc]
    """Reads documents itself: the SDK's models lose what they do not know."""

    def parseSetting(self, xml: object, headers: object = None) -> str:
        # An answer without a body comes as its headers alone.
        return xml if isinstance(xml, str) else ""

    def parseGetBucketPolicy(self, content: object, headers: object = None) -> str:
        return policy_of(content)

    def parseGetBucketAcl(self, xml: str, headers: object = None) -> Acl:
        return acl_of(xml)

    parseGetObjectAcl = parseGetBucketAcl  # noqa: N815 - found by its name


class StorageClient(ObsClient):  # type: ignore[misc]
    """One account at one endpoint; for many threads at once."""

    def __init__(self, profile: Profile, credentials: Credentials, proxy: Proxy | None = None) -> None:
        path_style = is_path_style(profile)
        self._url = profile.obs_url
        self._proxy = proxy
        self._ca_file = profile.ca_file or certifi.where()
        super().__init__(
            access_key_id=credentials.access_key,
            secret_access_key=credentials.secret_key.reveal(),
            security_token=credentials.token.reveal() if credentials.token else None,
            server=profile.obs_url,
            signature="obs" if profile.signature is Signature.AUTO else str(profile.signature),
            region=profile.region,
            path_style=path_style,
            ssl_verify=self._ca_file,
            is_signature_negotiation=False,
            long_conn_mode=True,
            max_retry_count=0,
            max_redirect_count=MOST_REDIRECTS + 1,  # it counts the one that is refused
            timeout=bounds.SILENCE_S,
            chunk_size=CHUNK_BYTES,
        )
        self.convertor = _Convertor(self.signature, self.ha)
        self._idle = _Idle()
        self.connHolder = {"connSet": self._idle, "lock": threading.Lock()}
        self._mine = threading.local()
        self.clock_ahead_s = 0.0
        """By how much the service's clock is before ours, once it refused a request for that."""

    def call(self, request: Callable[[], Result]) -> Result:
        """Run one SDK call; a connection that died while idle is replaced once, at once."""
        try:
            return request()
        except _CUT:
            if not getattr(self._mine, "reused", False):
                raise
        self._idle.clear()
        return request()

    def close_idle(self) -> None:
        self._idle.clear()

    def beside(self, bucket: str, key: str, name: str) -> Any:
        """The document of this name that is kept beside an object.

        Whoever does not know the request takes it for one for the object: then no more of it comes than this.
        """
        return self._make_get_request(bucket, key, {name: None}, {"Range": _MOST_BESIDE}, methodName="setting")

    # The SDK's own models of these lose what they do not know.

    def setting(self, bucket: str, name: str) -> Any:
        """What is stored with a bucket under this name; its body is the document as it came."""
        return self._make_get_request(bucket, pathArgs={name: None}, methodName="setting")

    def put_setting(self, bucket: str, name: str, xml: str) -> Any:
        body = xml.encode("utf-8")
        digest = base64.b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode("ascii")
        return self._make_put_request(bucket, pathArgs={name: None}, headers={"Content-MD5": digest}, entity=body)

    def delete_setting(self, bucket: str, name: str) -> Any:
        return self._make_delete_request(bucket, pathArgs={name: None})

    def _init_ssl_context(self, custom_ciphers: object) -> None:
        self.context = ssl.create_default_context(cafile=self._ca_file)

    def _prepare_response_data(self, result: http.client.HTTPResponse, size: int) -> bytes | None:
        """All of an answer, within bounds: the SDK reads for as long as something comes."""
        try:
            return self._whole(result, size)
        except BaseException:
            result.close()  # it keeps the line open, which nobody reads any more
            raise

    def _whole(self, result: http.client.HTTPResponse, size: int) -> bytes | None:
        if not result.getheader("content-length", "0").isdecimal():  # the library reads to the end then
            raise AnswerUnusable("a length that is none")
        pieces, held = list[bytes](), 0
        while piece := result.read(size):
            held += len(piece)
            if held > bounds.ANSWER_BYTES:
                raise AnswerUnusable("the answer is longer than any can be")
            pieces.append(piece)
        if result.length:  # reading in pieces, nobody says so
            raise http.client.IncompleteRead(b"", result.length)
        whole = b"".join(pieces)
        if result.status < 300 and is_page("", whole):
            raise PageAnswered("a page that wants somebody to sign in")
        # The SDK parses it in its own ways.
        if problem := unfit(whole):
            if result.status < 300:
                raise AnswerUnusable(problem)
            return None
        return whole or None

    def _is_redirect_exception(self, status: int, headers: Mapping[str, str]) -> bool:
        """The SDK would sign anew for anybody who is named."""
        is_redirect: bool = super()._is_redirect_exception(status, headers)
        return is_redirect and may_follow(self._url, headers["location"])

    def _get_server_connection(
        self, server: str, port: int, scheme: str | None = None, redirect: bool = False, **proxy: object
    ) -> _Plain:
        connection = None if redirect else self._idle.take(server, port)
        self._mine.reused = connection is not None
        if connection is None:
            connection = self._connection(server, port, self.is_secure if scheme is None else scheme == "https")
            if redirect:
                # Read by the SDK: not to be kept.
                connection._clear = True  # type: ignore[attr-defined]
        elif connection.sock is not None:
            in_use(connection.sock)
        self._mine.connection = connection
        return connection

    def _connection(self, server: str, port: int, secure: bool) -> _Plain:
        host, at = (self._proxy.host, self._proxy.port) if self._proxy else (server, port)
        connection = _Secure(host, at, context=self.context) if secure else _Plain(host, at)
        if self._proxy:
            connection.set_tunnel(server, port, self._proxy.headers)
        connection.place = (server, port)
        return connection

    def _add_auth_headers(self, headers: dict[str, str], *arguments: Any, **named: Any) -> dict[str, str]:
        now = time.time() + self.clock_ahead_s
        if self.ha.date_header() not in headers:
            if self.signature == "v4":  # some services with this signature do not look at Date
                headers[self.ha.date_header()] = f"{datetime.fromtimestamp(now, UTC):%Y%m%dT%H%M%SZ}"
            elif self.clock_ahead_s:
                headers[self.ha.date_header()] = formatdate(now, usegmt=True)
        signed: dict[str, str] = super()._add_auth_headers(headers, *arguments, **named)
        return signed

    def _make_request_internal(self, *arguments: Any, **named: Any) -> Any:
        try:
            return super()._make_request_internal(*arguments, **named)
        except BaseException:
            # Sending failed or was cancelled: the SDK forgets the half-used connection without closing it.
            connection = getattr(self._mine, "connection", None)
            if connection is not None:
                connection.close()
            raise

    def _rename_response_headers(self, headers: Mapping[str, str]) -> list[tuple[str, str]]:
        # The SDK drops these.
        kept: list[tuple[str, str]] = super()._rename_response_headers(headers)
        return [*kept, *((name, value) for name, value in headers.items() if name in ("retry-after", "location"))]
