"""Servers that answer some requests honestly, by a real one behind them, and then turn bad in one of many ways."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import re
import ssl
import struct
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from support.servers.faults import Fault, FaultyProxy, Request
from support.servers.secure import SecureServer
from support.servers.served import Served
from support.waiting import PATIENT_S

Resign = Callable[[Request, str], None]


class Stranger(Served):
    """Somebody else's server, to which nothing of ours may come; `heard` is what did."""

    def __init__(self) -> None:
        super().__init__()
        self.heard = bytearray()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            self.heard += data


@dataclass
class Budget:
    """How many requests are still answered honestly, over all servers of one account."""

    honest: int = 0
    asked: list[str] = field(default_factory=list)
    """What was asked, first to last."""


class Said:
    """One request and what may be said to it."""

    def __init__(self, request: Request, server: HostileServer, writer: asyncio.StreamWriter) -> None:
        self.request = request
        self.server = server
        self.writer = writer

    async def say(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self, status: int, body: bytes = b"", kind: str = "application/xml", **headers: str) -> None:
        """Bytes that make sense as HTTP; the connection may go on."""
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        head = [f"HTTP/1.1 {status} Said", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *lines, "", ""]
        await self.say("\r\n".join(head).encode("latin-1") + (b"" if self.request.method == "HEAD" else body))

    async def honest(self) -> tuple[bytes, bytes]:
        """What the real server answers."""
        return await self.server._forward(self.request)

    @property
    def is_object(self) -> bool:
        """The content of one, as it is now or was."""
        path, _, query = self.request.target.partition("?")
        is_whole = not query or query.startswith("versionId=")
        return self.request.method == "GET" and path.count("/") > 1 and not path.endswith("/") and is_whole

    @property
    def is_listing(self) -> bool:
        path, _, query = self.request.target.partition("?")
        names = {pair.partition("=")[0] for pair in query.split("&")}
        return self.request.method == "GET" and path.count("/") == 1 and bool(names & {"max-keys", "prefix", "marker"})


Behaviour = Callable[[Said], Awaitable[None]]
"""Answers one request; the connection is closed behind it unless it says otherwise."""


class HostileServer(FaultyProxy):
    """Before `upstream`, one of the servers of an account."""

    def __init__(
        self,
        upstream: str,
        behaviour: Behaviour,
        budget: Budget,
        stranger: Stranger,
        resign: Resign | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(upstream, resign, tls)
        self._behaviour = behaviour
        self.budget = budget
        self.stranger = stranger

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://localhost:{self.port}" if self._tls else super().url

    async def _serve(self, request: Request, fault: Fault | None, writer: asyncio.StreamWriter) -> bool:
        self.budget.asked.append(f"{request.method} {request.target}")
        if self.budget.honest > 0:
            self.budget.honest -= 1
            return await super()._serve(request, fault, writer)
        await self._behaviour(Said(request, self, writer))
        return False


class PlainServer(HostileServer):
    """Knows nothing of TLS, and says so to whoever begins with it."""

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        begun = await reader.read(65536)
        if begun and begun[:1] != b"\x16":  # the first byte of a handshake; nothing, if the client gave up
            self.budget.asked.append(repr(begun))
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()


# Where answers lead


def redirect(status: int, place: Callable[[Said], str]) -> Behaviour:
    async def behave(said: Said) -> None:
        await said.answer(status, b"", Location=place(said), Connection="close")

    return behave


def _away(said: Said) -> str:
    return f"{said.server.stranger.url}/stolen?token=1"


def in_a_circle(said: Said) -> str:
    return f"{said.server.url}{said.request.target}"


def without_tls(said: Said) -> str:
    return f"http://localhost:{said.server.stranger.port}{said.request.target}"


# What has no end


async def body_without_end(said: Said) -> None:
    await said.say(
        b'HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nETag: "x"\r\nTransfer-Encoding: chunked\r\n\r\n'
        b'19\r\n<ListBucketResult xmlns="\r\n'
    )
    while True:
        await said.say(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")


async def body_until_the_end(said: Said) -> None:
    await said.say(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nETag: "x"\r\n\r\n{"items": [')
    while True:
        await said.say(b"1," * 0x8000)


async def headers_without_end(said: Said) -> None:
    await said.say(b"HTTP/1.1 200 OK\r\n")
    while True:
        await said.say(b"X-More: " + b"x" * 10_000 + b"\r\n")


async def header_without_end(said: Said) -> None:
    await said.say(b"HTTP/1.1 200 OK\r\nX-More: ")
    while True:
        await said.say(b"x" * 10_000)


async def continue_without_end(said: Said) -> None:
    while True:
        await said.say(b"HTTP/1.1 100 Continue\r\n\r\n")
        await asyncio.sleep(0.0005)


async def dripping_body(said: Said) -> None:
    await said.say(b'HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nETag: "x"\r\nContent-Length: 100000\r\n\r\n')
    await _drip(said)


async def dripping_head(said: Said) -> None:
    await said.say(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    await _drip(said)


async def _drip(said: Said) -> None:
    while True:
        await said.say(b" ")
        await asyncio.sleep(0.02)


async def silence(said: Said) -> None:
    await asyncio.Event().wait()


# What is no HTTP, or breaks off


async def garbage(said: Said) -> None:
    await said.say(b"\x00\xff\xfeSSH-2.0-OpenSSH_9.9\r\n\r\n")


async def odd_status(said: Said) -> None:
    await said.say(b"HTTP/1.1 2x0 Fine\r\nContent-Length: 0\r\n\r\n")


async def great_status(said: Said) -> None:
    await said.say(b"HTTP/1.1 99999 Fine\r\nContent-Length: 0\r\n\r\n")


async def closed_at_once(said: Said) -> None:
    return


async def reset(said: Said) -> None:
    line = said.writer.get_extra_info("socket")
    with contextlib.suppress(OSError):
        line.setsockopt(1, 13, struct.pack("ii", 1, 0))  # SO_LINGER: no orderly end
    said.writer.transport.abort()


# Lengths that are none


def length(written: str, body: bytes = b"<ListBucketResult></ListBucketResult>") -> Behaviour:
    async def behave(said: Said) -> None:
        head = f'HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nETag: "x"\r\nContent-Length: {written}\r\n\r\n'
        await said.say(head.encode() + body)

    return behave


# Pages for people, and documents that are none


def page(status: int) -> Behaviour:
    async def behave(said: Said) -> None:
        html = b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body><p>Who are you?</body></html>"
        await said.answer(status, html, "text/html")

    return behave


def document(body: bytes, kind: str = "application/xml", status: int = 200, **headers: str) -> Behaviour:
    async def behave(said: Said) -> None:
        await said.answer(status, body, kind, ETag='"x"', **headers)

    return behave


def pressed(piece: bytes, count: int, kind: str = "application/xml") -> Behaviour:
    """Made when it is asked for: every worker of the tests reads this file."""

    async def behave(said: Said) -> None:
        await document(_pressed(piece, count), kind, Content_Encoding="gzip")(said)

    return behave


@cache
def _pressed(piece: bytes, count: int) -> bytes:
    return gzip.compress(piece * count)


def _entities() -> bytes:
    levels = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(8))
    declared = f'<!DOCTYPE ListBucketResult [<!ENTITY e0 "{"x" * 100}">{levels}]>'
    return f'<?xml version="1.0"?>{declared}<ListBucketResult><Name>&e8;</Name></ListBucketResult>'.encode()


def _deep(name: str) -> bytes:
    return f"<{name}>".encode() + b"<a>" * 90_000 + b"</a>" * 90_000 + f"</{name}>".encode()


def _wide() -> bytes:
    return b"<ListBucketResult>" + b"<a/>" * 3_000_000 + b"</ListBucketResult>"


# Lists that lie; all else is answered honestly


def listing(page_of: Callable[[str, int], str]) -> Behaviour:
    """From the prefix asked for, and how many pages there were, to what stands in the page."""
    counted = iter(range(10**9))

    async def behave(said: Said) -> None:
        if not said.is_listing:
            head, body = await said.honest()
            await said.say(head + body)
            return
        asked = re.search(r"[?&]prefix=([^&]*)", said.request.target)
        content = page_of(asked[1] if asked else "", next(counted))
        encoding = "<EncodingType>url</EncodingType>"
        await said.answer(200, f"<ListBucketResult>{encoding}{content}</ListBucketResult>".encode())

    return behave


def _row(key: str, size: str = "1") -> str:
    when = "<LastModified>2026-11-18T14:00:00.000Z</LastModified>"
    etag = '<ETag>"0cc175b9c0f1b6a831c399e269772661"</ETag>'
    return f"<Contents><Key>{key}</Key>{when}{etag}<Size>{size}</Size></Contents>"


def _more(marker: str = "") -> str:
    return f"<IsTruncated>true</IsTruncated>{f'<NextMarker>{marker}</NextMarker>' if marker else ''}"


# Contents that are not what was said


def spoiled(change: Callable[[bytes, bytes], tuple[bytes, bytes]]) -> Behaviour:
    """The real answer to a question for an object, changed on its way."""

    async def behave(said: Said) -> None:
        head, body = await said.honest()
        if said.is_object:
            head, body = change(head, body)
        await said.say(head + body)

    return behave


def _other_etag(head: bytes, body: bytes) -> tuple[bytes, bytes]:
    return re.sub(rb'(?i)etag: "[^"]*"', b'ETag: "ffffffffffffffffffffffffffffffff"', head), body


def _other_content(head: bytes, body: bytes) -> tuple[bytes, bytes]:
    return head, body[::-1]


def _longer(head: bytes, body: bytes) -> tuple[bytes, bytes]:
    more = body + b"x" * 1000
    ranged = re.sub(
        rb"(?i)(content-range: bytes )(\d+)-(\d+)/(\d+)", rb"\g<1>\g<2>-%d/%d" % ((len(more) - 1,) * 2), head
    )
    return re.sub(rb"(?i)content-length: \d+", b"Content-Length: %d" % len(more), ranged), more


def _cut(head: bytes, body: bytes) -> tuple[bytes, bytes]:
    return head, body[: len(body) // 2]


async def content_without_end(said: Said) -> None:
    """The very object by its ETag, and ever more of it."""
    head, body = await said.honest()
    if not said.is_object:
        await said.say(head + body)
        return
    size = 10**10
    head = re.sub(rb"(?i)content-length: \d+", b"Content-Length: %d" % size, head)
    await said.say(re.sub(rb"(?i)(content-range: bytes 0-)\d+/\d+", rb"\g<1>%d/%d" % (size - 1, size), head))
    while True:
        await said.say(b"x" * 0x10000)


HOSTILE: dict[str, Behaviour] = {
    "sent away with 301": redirect(301, _away),
    "sent away with 302": redirect(302, _away),
    "sent away with 307": redirect(307, _away),
    "sent in a circle": redirect(307, in_a_circle),
    "a body without end": body_without_end,
    "a body until the end": body_until_the_end,
    "headers without end": headers_without_end,
    "a header without end": header_without_end,
    "100-continue without end": continue_without_end,
    "a dripping body": dripping_body,
    "a dripping head": dripping_head,
    "silence": silence,
    "garbage": garbage,
    "an odd status": odd_status,
    "a great status": great_status,
    "closed at once": closed_at_once,
    "reset": reset,
    "fewer bytes than announced": length("90000"),
    "more bytes than announced": length("3"),
    "a negative length": length("-1"),
    "a huge length": length("9" * 18),
    "a length beyond numbers": length("9" * 400),
    "two lengths": length("3\r\nContent-Length: 50", b"abc"),
    "a page with 200": page(200),
    "a page with 403": page(403),
    "a page with 503": page(503),
    "entities": document(_entities()),
    "entities in an error": document(_entities().replace(b"ListBucketResult", b"Error"), status=400),
    "deep XML": document(_deep("ListBucketResult")),
    "deep XML in an error": document(_deep("Error"), status=400),
    "wide XML": document(_wide()),
    "deep JSON": document(b'{"items":' * 200_000 + b"1" + b"}" * 200_000, "application/json"),
    "JSON of odd values": document(
        b'{"items": 7, "flavors": {"x": 1}, "auth": null, "projects": "none", "metadata": [], "status": 1e999}',
        "application/json",
    ),
    "pressed": pressed(b"<a>", 20_000_000),
    "pressed JSON": pressed(b"[", 60_000_000, "application/json"),
}

LISTING: dict[str, Behaviour] = {
    "the same page again": listing(lambda prefix, _: _more(f"{prefix}a") + _row(f"{prefix}a")),
    "markers that go back": listing(lambda prefix, page: _more(f"{prefix}{9999 - page}") + _row(f"{prefix}{page:04}")),
    "goes on without a marker": listing(lambda prefix, _: _more()),
    "pages without end": listing(lambda prefix, page: _more(f"{prefix}{page:09}") + _row(f"{prefix}{page:09}")),
    "empty pages without end": listing(lambda prefix, page: _more(f"{prefix}{page:09}")),
    "names outside": listing(lambda prefix, _: _row("elsewhere%2Fpasswd")),
    "names that climb": listing(lambda prefix, _: _row(f"{prefix}..%2F..%2F..%2Fclimbed")),
    "a negative size": listing(lambda prefix, _: _row(f"{prefix}a", "-5")),
    "a size beyond all": listing(lambda prefix, _: _row(f"{prefix}a", "9" * 30)),
    "a size of an exabyte": listing(lambda prefix, _: _row(f"{prefix}a", str(2**60))),
    "no date": listing(lambda prefix, _: _row(f"{prefix}a").replace("2026-11-18T14", "never")),
}

CONTENT: dict[str, Behaviour] = {
    "another ETag": spoiled(_other_etag),
    "another content": spoiled(_other_content),
    "a longer body": spoiled(_longer),
    "a body cut off": spoiled(_cut),
    "content without end": content_without_end,
}


@dataclass(frozen=True)
class Upstream:
    """The real service behind, and how its gateway is asked by another name."""

    obs: str
    modelarts: str
    iam: str
    resign: Resign | None = None


@dataclass(frozen=True)
class Around:
    """The servers of one account, as they are reached."""

    obs: str
    modelarts: str
    iam: str
    budget: Budget
    stranger: Stranger


@contextmanager
def hostile(
    upstream: Upstream,
    behaviour: Behaviour,
    honest: int = 0,
    tls: ssl.SSLContext | None = None,
    *,
    is_called_secure: bool = False,
) -> Iterator[Around]:
    """Served in a thread of its own, for those who ask and wait. `is_called_secure`: its addresses say it has TLS."""
    told: list[Around] = []
    is_ready, ended = threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with AsyncExitStack() as stack:
            stranger = await stack.enter_async_context(Stranger())
            kind, budget = PlainServer if is_called_secure else HostileServer, Budget(honest)
            ways = ((upstream.obs, None), (upstream.modelarts, upstream.resign), (upstream.iam, upstream.resign))
            servers = [kind(address, behaviour, budget, stranger, resign, tls) for address, resign in ways]
            for server in servers:
                await stack.enter_async_context(server)
            obs, modelarts, iam = (
                server.url.replace("http:", "https:") if is_called_secure else server.url for server in servers
            )
            told.append(Around(obs, modelarts, iam, budget, stranger))
            is_ready.set()
            await ended.wait()

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), name="hostile")
    thread.start()
    try:
        assert is_ready.wait(PATIENT_S)
        yield told[0]
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()
        loop.close()


def secure_context(folder: Path, *names: str, ended: bool = False) -> tuple[ssl.SSLContext, Path]:
    """Of a server with a certificate of its own making, and the file that trusts it."""
    folder.mkdir(exist_ok=True)
    server = SecureServer(folder, *names, ended=ended)
    assert server._tls is not None
    return server._tls, server.ca_file
