"""A client that costs next to nothing beside the server it measures: own HTTP, signed, bodies made beforehand."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import re
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import formatdate
from urllib.parse import quote

CONNECTIONS = 16
_PIECE = 1 << 20
_LENGTH = re.compile(rb"(?i)\r\ncontent-length: (\d+)")
_TRUNCATED = b"<IsTruncated>true</IsTruncated>"
_NEXT = re.compile(rb"<NextMarker>(.*?)</NextMarker>")
_KEY = re.compile(rb"<Key>(.*?)</Key>")
_FOLDER = b"<CommonPrefixes>"
# For a server that takes from the header which service is meant, and checks nothing.
_UNCHECKED = "AWS4-HMAC-SHA256 Credential=any/20250101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"


@dataclass(frozen=True)
class Target:
    """Where an object store listens, and the keys it knows; without keys it checks no signature."""

    port: int
    access_key: str = ""
    secret_key: str = ""

    def head(self, method: str, path: str, length: int = 0, query: str = "") -> bytes:
        date = formatdate(usegmt=True)
        authorization = _UNCHECKED
        if self.access_key:
            text = f"{method}\n\n\n{date}\n{path}"
            digest = hmac.new(self.secret_key.encode(), text.encode(), hashlib.sha1).digest()
            authorization = f"AWS {self.access_key}:{base64.b64encode(digest).decode()}"
        return (
            f"{method} {path}{query} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nDate: {date}\r\n"
            f"Authorization: {authorization}\r\nContent-Length: {length}\r\n\r\n"
        ).encode()

    def connected(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port))

    def done(self, method: str, path: str) -> None:
        """One request without a body, however long it takes."""
        with self.connected() as sock:
            sock.sendall(self.head(method, path))
            answer = sock.recv(65536)
            assert re.match(rb"HTTP/1\.1 20[04] ", answer), answer


class Exchange(asyncio.Protocol):
    """One connection that sends one request after the other; `ended` tells whether none is left."""

    def __init__(self, requests: Iterator[bytes], ended: asyncio.Future[bool]) -> None:
        self._requests = requests
        self._ended = ended
        self._answer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._next()

    def data_received(self, data: bytes) -> None:
        self._answer += data
        if b"\r\n\r\n" not in self._answer:
            return
        if not self._answer.startswith(b"HTTP/1.1 200"):
            self._ended.set_exception(AssertionError(self._answer))
            self._transport.close()
            return
        closing = b"\r\nConnection: close\r\n" in self._answer
        self._answer = b""  # the answer to a PUT has no body
        if closing:
            self._end(False)
        else:
            self._next()

    def connection_lost(self, error: Exception | None) -> None:
        if not self._ended.done():
            self._ended.set_exception(error or ConnectionResetError("closed by the server"))

    def _next(self) -> None:
        request = next(self._requests, None)
        if request is None:
            self._end(True)
        else:
            self._transport.write(request)

    def _end(self, none_left: bool) -> None:
        self._ended.set_result(none_left)
        self._transport.close()


def put_many(target: Target, paths: list[str], body: bytes) -> float:
    """Objects per second."""
    requests = (target.head("PUT", path, len(body)) + body for path in paths)

    async def connection() -> None:
        loop = asyncio.get_running_loop()
        is_through = False
        # moto's server closes after every answer.
        while not is_through:
            exchange = Exchange(requests, ended := loop.create_future())
            await loop.create_connection(lambda one=exchange: one, "127.0.0.1", target.port)  # type: ignore[misc]
            is_through = await ended

    async def run() -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(CONNECTIONS):
                group.create_task(connection())

    began = time.perf_counter()
    asyncio.run(run())
    return len(paths) / (time.perf_counter() - began)


def put_large(target: Target, path: str, size: int, block: bytes) -> float:
    """Megabytes per second of one body that is `block` over and over."""
    with target.connected() as sock:
        began = time.perf_counter()
        sock.sendall(target.head("PUT", path, size))
        for at in range(0, size, len(block)):
            sock.sendall(memoryview(block)[: size - at])
        answer = sock.recv(65536)
        assert answer.startswith(b"HTTP/1.1 200"), answer
        return size / 1e6 / (time.perf_counter() - began)


def get_large(target: Target, path: str, size: int) -> float:
    """Megabytes per second."""
    buffer = bytearray(_PIECE)
    with target.connected() as sock:
        began = time.perf_counter()
        sock.sendall(target.head("GET", path))
        length, body = _answer_begun(sock)
        assert length == size
        left = size - len(body)
        while left:
            got = sock.recv_into(buffer)
            assert got, "cut short"
            left -= got
        return size / 1e6 / (time.perf_counter() - began)


def listed(target: Target, bucket: str, prefix: str, delimiter: str = "") -> tuple[int, int, float]:
    """Objects and folders told, page after page, and the seconds it took."""
    marker, objects, folders = b"", 0, 0
    began = time.perf_counter()
    while True:
        query = f"?prefix={quote(prefix, safe='')}&marker={quote(marker.decode(), safe='')}"
        if delimiter:
            query += f"&delimiter={quote(delimiter, safe='')}"
        with target.connected() as sock:
            sock.sendall(target.head("GET", f"/{bucket}", 0, query))
            page = _body(sock)
        objects += page.count(b"<Key>")
        folders += page.count(_FOLDER)
        if _TRUNCATED not in page:
            return objects, folders, time.perf_counter() - began
        # Plain S3 names no next marker without a delimiter: it is the last key.
        found = _NEXT.search(page)
        marker = found[1] if found else _KEY.findall(page)[-1]


def _answer_begun(sock: socket.socket) -> tuple[int, bytes]:
    """The announced length, and what came of the body with the head."""
    data = sock.recv(_PIECE)
    while b"\r\n\r\n" not in data:
        more = sock.recv(_PIECE)
        assert more, data
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = _LENGTH.search(head)
    assert head.startswith(b"HTTP/1.1 200") and length, data[:500]
    return int(length[1]), body


def _body(sock: socket.socket) -> bytes:
    length, body = _answer_begun(sock)
    pieces, left = [body], length - len(body)
    while left:
        piece = sock.recv(_PIECE)
        assert piece, "cut short"
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)
