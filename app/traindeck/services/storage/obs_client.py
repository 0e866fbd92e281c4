"""The OBS SDK with our connections under it; imported in a worker only, for it is slow to load.

The SDK's own connections verify no host name, are mixed between servers, and leak when sending fails.
"""

from __future__ import annotations

import http.client
import ssl
import threading
import time
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import unquote_plus

import certifi
from obs import ObsClient, convertor

from traindeck.domain.objects import Bucket
from traindeck.domain.profiles import Profile, Signature
from traindeck.domain.secret import Credentials
from traindeck.services.call_lines import connected, in_use
from traindeck.services.data_ports import Page, Row
from traindeck.services.loopback import is_loopback
from traindeck.services.sdk_errors import CUT

CONNECT_S = 6.0
SOCKET_S = 30.0
# Less than any front end keeps an idle connection, so that few are found dead.
IDLE_S = 20.0
CHUNK_BYTES = 256 * 1024

Result = TypeVar("Result")


class NotReached(Exception):
    """The connection could not be made: nothing was sent."""


class _Plain(http.client.HTTPConnection):
    """Waits shorter for a connection than for an answer."""

    def connect(self) -> None:
        self.timeout = CONNECT_S
        self._create_connection = connected
        try:
            super().connect()
        except OSError as error:
            raise NotReached from error
        self.sock.settimeout(SOCKET_S)


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
            self._waiting[connection.host, connection.port].append((time.monotonic(), connection))

    def clear(self) -> None:
        with self._lock:
            waiting = [connection for group in self._waiting.values() for _, connection in group]
            self._waiting.clear()
        for connection in waiting:
            connection.close()


class _Convertor(convertor.Convertor):  # type: ignore[misc]
    """Reads listings itself: the SDK's times are in local time without zone, an hour off in summer."""

    def parseListObjects(self, xml: str, headers: object = None) -> Page:
        root = _document(xml, "ListBucketResult")
        decode = unquote_plus if root.findtext("EncodingType") == "url" else str
        rows = [
            Row(
                decode(node.findtext("Key") or ""),
                int(node.findtext("Size") or 0),
                _moment(node.findtext("LastModified")),
                (node.findtext("ETag") or "").strip('"'),
                node.findtext("StorageClass") or "",
            )
            for node in root.iterfind("Contents")
        ]
        folders = [decode(node.findtext("Prefix") or "") for node in root.iterfind("CommonPrefixes")]
        more = root.findtext("IsTruncated") == "true"
        # Other S3 services omit the marker when no delimiter was given: it is the last name then.
        last = max([*(row.key for row in rows[-1:]), *folders[-1:]], default="")
        return Page(rows, folders, (decode(root.findtext("NextMarker") or "") or last) if more else "")

    def parseListBuckets(self, xml: str, headers: object = None) -> list[Bucket]:
        root = _document(xml, "ListAllMyBucketsResult")
        return [
            Bucket(node.findtext("Name") or "", _moment(node.findtext("CreationDate")), node.findtext("Location") or "")
            for node in root.iterfind("Buckets/Bucket")
        ]

    def parseDeleteObjects(self, xml: str, headers: object = None) -> object:
        _document(xml, "DeleteResult")
        return super().parseDeleteObjects(xml, headers)


class Client(ObsClient):  # type: ignore[misc]
    """One account at one endpoint; for many threads at once."""

    def __init__(self, profile: Profile, credentials: Credentials) -> None:
        path_style = profile.path_style or is_loopback(profile.obs_url)
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
            timeout=SOCKET_S,
            chunk_size=CHUNK_BYTES,
        )
        self.convertor = _Convertor(self.signature, self.ha)
        self._idle = _Idle()
        self.connHolder = {"connSet": self._idle, "lock": threading.Lock()}
        self._mine = threading.local()

    def call(self, request: Callable[[], Result]) -> Result:
        """Run one SDK call; a connection that died while idle is replaced once, at once."""
        try:
            return request()
        except CUT:
            if not getattr(self._mine, "reused", False):
                raise
        self._idle.clear()
        return request()

    def close_idle(self) -> None:
        self._idle.clear()

    def _init_ssl_context(self, custom_ciphers: object) -> None:
        self.context = ssl.create_default_context(cafile=self._ca_file)

    def _get_server_connection(
        self, server: str, port: int, scheme: str | None = None, redirect: bool = False, **proxy: object
    ) -> _Plain:
        connection = None if redirect else self._idle.take(server, port)
        self._mine.reused = connection is not None
        if connection is None:
            secure = self.is_secure if scheme is None else scheme == "https"
            connection = _Secure(server, port, context=self.context) if secure else _Plain(server, port)
            if redirect:
                # Read by the SDK: not to be kept.
                connection._clear = True  # type: ignore[attr-defined]
        elif connection.sock is not None:
            in_use(connection.sock)
        self._mine.connection = connection
        return connection

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
        # The SDK drops this one.
        kept: list[tuple[str, str]] = super()._rename_response_headers(headers)
        return [*kept, *((name, value) for name, value in headers.items() if name == "retry-after")]


def _document(xml: str, name: str) -> ET.Element:
    """The SDK takes any XML, so that a sign-in page reads as an empty bucket."""
    root = ET.fromstring(xml)
    if root.tag != name:
        raise ValueError(f"expected {name}, got {root.tag}")
    return root


def _moment(iso: str | None) -> datetime | None:
    return datetime.fromisoformat(iso) if iso else None
