"""Bodies on their way in, framing taken off and every announced checksum compared, and on their way out."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import re
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import BinaryIO, TypeVar, cast

from aiohttp import web

from traindeck.lab.faults import paced, send_spoiled
from traindeck.lab.life import Workers
from traindeck.lab.obs.access import Access
from traindeck.lab.obs.checksums import ALGORITHMS, CRC64, shown
from traindeck.lab.obs.chunk_framing import ChunkDecoder
from traindeck.lab.obs.conditions import ByteRange
from traindeck.lab.obs.errors import (
    AccessDenied,
    BadDigest,
    IncompleteBody,
    InvalidArgument,
    InvalidRequest,
    NotImplementedHere,
    ObsError,
)
from traindeck.lab.obs.records import whole_number
from traindeck.lab.obs.request import ObsRequest
from traindeck.lab.obs.sealing import Seal, Unsealed
from traindeck.lab.obs.storage import BodyWriter
from traindeck.lab.obs.store import ObjectStore
from traindeck.lab.signing.request import UNSIGNED_PAYLOAD, RawRequest, Verified
from traindeck.runtime.blocking import over

STREAM_PREFIX = "STREAMING-"
MAX_BODY = 5 * 1024**3
BLOCK = 1 << 20
# A client may send its body byte by byte, and each of them is an object while it waits.
MANY_PIECES = 4096
SMALL_PIECE = 64 * 1024
STALL_S = 10.0
# A refused client is listened to this long, whatever it still sends.
DRAIN_S = 300.0
Block = Sequence[bytes]
_UNSIGNED = {"", UNSIGNED_PAYLOAD}
UNSIGNED_STREAM = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
_SIGNED_STREAMS = ("STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_DECODED_LENGTH = "x-amz-decoded-content-length"
CHECKSUM_PREFIX = "x-amz-checksum-"
_CHECKSUMS = (CHECKSUM_PREFIX, "x-obs-checksum-")
_ABOUT_CHECKSUMS = ("algorithm", "type", "mode")
_CRC64_HEADERS = ("x-obs-checksum-crc64ecma", "x-amz-checksum-crc64ecma")


class IncomingBody:
    """Reads one request's body once; `blocks` gives the content, `finish` says whether it is the announced one."""

    def __init__(self, request: ObsRequest) -> None:
        if request.verified is None:
            raise AccessDenied
        raw, payload = request.raw, _payload(request, request.verified)
        self._http = request.http
        # What was compared, once `finish` is through.
        self.checksums: Mapping[str, str] = {}
        self._bytes_per_second = request.trouble.bytes_per_second
        self._md5 = content_md5(raw)
        self._sha256 = ""
        self._decoder: ChunkDecoder | None = None
        self._received = 0
        # The size of the content, where the request tells it.
        self.announced_size = _announced_size(raw, payload)
        if payload.startswith(STREAM_PREFIX):
            seed = None if payload == UNSIGNED_STREAM else request.verified.chunk_seed
            self._decoder = ChunkDecoder(seed, signed_trailer=payload.endswith("-TRAILER"))
        else:
            self._sha256 = payload
        self._expected = announced_checksums(raw)
        for name in _CRC64_HEADERS:
            if (crc64 := raw.header(name)) is not None:
                self._expected[CRC64] = crc64
        self._trailing = self._announced_trailer(raw)
        if raw.header("x-amz-sdk-checksum-algorithm") and not self._expected and not self._trailing:
            raise InvalidRequest("x-amz-sdk-checksum-algorithm is there, but no checksum of the body is announced.")
        wanted = {*self._expected, self._trailing, *(["sha256"] if self._sha256 else [])}
        self._digests = {name: make() for name, make in ALGORITHMS.items() if name in wanted}

    @property
    def has_digest(self) -> bool:
        return self._md5 is not None or bool(self._expected) or bool(self._trailing)

    def _announced_trailer(self, raw: RawRequest) -> str:
        """The checksum behind the body, which nothing else may be."""
        trailer = (raw.header("x-amz-trailer") or "").lower()
        name = trailer.removeprefix(CHECKSUM_PREFIX)
        if trailer and (name == trailer or name not in ALGORITHMS or self._decoder is None):
            raise InvalidRequest("The value specified in the x-amz-trailer header is not supported.")
        return name

    def forget_checksums(self) -> None:
        """The headers tell of something else than this body."""
        self._expected.clear()

    async def blocks(self) -> AsyncIterator[Block]:
        """The content block by block, in pieces worth a call to hash or write each, of about a megabyte together."""
        if self._http.headers.get("Expect", "").lower() == "100-continue":
            await self._http.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            # The interim answer is not part of the final one.
            self._http.writer.output_size = 0
        waiting: list[bytes] = []
        size = 0
        arriving = self._pieces()
        async for data in paced(arriving, self._bytes_per_second) if self._bytes_per_second else arriving:
            for piece in self._decoder.feed(data) if self._decoder else [data]:
                waiting.append(piece)
                size += len(piece)
            if self._received + size > MAX_BODY:
                raise too_large()
            if size >= BLOCK or len(waiting) >= MANY_PIECES:
                self._received += size
                yield _in_few_pieces(waiting, size)
                waiting, size = [], 0
        if waiting:
            self._received += size
            yield _in_few_pieces(waiting, size)

    async def _pieces(self) -> AsyncIterator[bytes]:
        content = self._http.content
        # The stream of a request without a body never tells its end but here.
        while not content.at_eof():
            data, _ = await content.readchunk()
            if data:
                yield data

    async def whole(self, limit: int) -> bytes:
        """A small body at once."""
        parts = bytearray()
        async for block in self.blocks():
            for piece in block:
                parts += piece
            if len(parts) > limit:
                raise too_large()
            self.update(block)
        return bytes(parts)

    def update(self, block: Block) -> None:
        """Hash a block; apart from `blocks`, so that it can run in a worker beside the write."""
        for digest in self._digests.values():
            for piece in block:
                digest.update(piece)

    def finish(self, md5: Callable[[], bytes]) -> None:
        """Raise where the content is not the announced one; to be called before anything is stored."""
        if self._decoder:
            self._decoder.finish()
        if self.announced_size is not None and self._received != self.announced_size:
            raise IncompleteBody
        if self._decoder:
            self._take_trailer(self._decoder.trailers)
        if self._md5 is not None and self._md5 != md5():
            raise BadDigest("The Content-MD5 you specified did not match what we received.")
        if self._sha256 and self._digests["sha256"].digest().hex() != self._sha256:
            message = "The provided 'x-amz-content-sha256' header does not match what was computed."
            raise ObsError(400, "XAmzContentSHA256Mismatch", message)
        for name, value in self._expected.items():
            if shown(name, self._digests[name].digest()) != value:
                code = "InvalidCRC64" if name == CRC64 else "BadDigest"
                raise ObsError(400, code, f"The {name} you specified did not match what we received.")
        self.checksums = {name: value for name, value in self._expected.items() if name != CRC64}

    def _take_trailer(self, trailers: Mapping[str, str]) -> None:
        announced = [CHECKSUM_PREFIX + self._trailing] if self._trailing else []
        if list(trailers) != announced:
            raise InvalidRequest("The trailers are not those that were announced.")
        if self._trailing:
            self._expected[self._trailing] = trailers[announced[0]]


def _payload(request: ObsRequest, verified: Verified) -> str:
    """How the body comes: as one of the streams, with the hash that its header tells, or "" as it is."""
    raw, payload = request.raw, verified.payload_hash
    # Signatures other than version 4, and links, do not cover the header; it is meant all the same.
    if payload in _UNSIGNED:
        payload = request.in_any_dialect("content-sha256") or ""
    if payload in _UNSIGNED:
        return UNSIGNED_STREAM if _is_framed(raw) else ""
    if payload in _SIGNED_STREAMS and verified.chunk_seed is None:
        raise InvalidRequest("Chunks can be signed only where the request has a signature of version 4.")
    if payload not in (UNSIGNED_STREAM, *_SIGNED_STREAMS):
        if not _SHA256.fullmatch(payload):
            raise InvalidArgument("x-amz-content-sha256", payload)
        if raw.header(_DECODED_LENGTH) is not None:
            raise InvalidRequest("A body in chunks needs a value of x-amz-content-sha256 that says so.")
    return payload


def _is_framed(raw: RawRequest) -> bool:
    """Without a word about it in the hash: clients of version 2 send chunks, and would find the framing stored."""
    if raw.header(_DECODED_LENGTH) is not None:
        return True
    return "aws-chunked" in (raw.header("content-encoding") or "") and raw.header("content-length") != "0"


def _announced_size(raw: RawRequest, payload_hash: str) -> int | None:
    is_framed = payload_hash.startswith(STREAM_PREFIX)
    text = raw.header(_DECODED_LENGTH) if is_framed else raw.header("content-length")
    if text is None:
        chunked = "chunked" in (raw.header("transfer-encoding") or "").lower()
        if is_framed or (not chunked and raw.method in {"PUT", "POST"}):
            raise ObsError(411, "MissingContentLength", "You must provide the Content-Length HTTP header.")
        return None
    if not (text.isascii() and text.isdigit()):
        raise InvalidArgument("Content-Length", text)
    size = whole_number(text, MAX_BODY)
    if size is None:
        raise too_large()
    return size


def announced_checksums(raw: RawRequest) -> dict[str, str]:
    """Those that can be compared; one that cannot must not be passed over."""
    found: dict[str, str] = {}
    for header, values in raw.by_name.items():
        if header.startswith(_CHECKSUMS):
            name = header[len(CHECKSUM_PREFIX) :]
            if header in _CRC64_HEADERS or name in _ABOUT_CHECKSUMS:
                continue
            if name not in ALGORITHMS or not header.startswith(CHECKSUM_PREFIX):
                raise NotImplementedHere(f"the header {header}")
            found[name] = values[0]
    return found


def content_md5(raw: RawRequest) -> bytes | None:
    text = raw.header("content-md5")
    if text is None:
        return None
    try:
        digest = base64.b64decode(text, validate=True)
    except binascii.Error:
        digest = b""
    if len(digest) != hashlib.md5(usedforsecurity=False).digest_size:
        raise ObsError(400, "InvalidDigest", "The Content-MD5 you specified is not valid.")
    return digest


def too_large() -> ObsError:
    return ObsError(400, "EntityTooLarge", "Your proposed upload exceeds the maximum allowed object size.")


def _in_few_pieces(pieces: Sequence[bytes], size: int) -> Block:
    """Joining costs a copy, so large pieces stay as they came."""
    return pieces if size >= len(pieces) * SMALL_PIECE else [b"".join(pieces)]


async def drain(request: web.BaseRequest) -> bool:
    """Read what a refused client still sends, as it would see a broken pipe instead of the answer; bounded."""
    left = MAX_BODY
    try:
        async with asyncio.timeout(DRAIN_S):
            while left > 0:
                async with asyncio.timeout(STALL_S):
                    data = await request.content.readany()
                if not data:
                    return True
                left -= len(data)
    except TimeoutError:
        return False
    return False


_SENT_BLOCK = 256 * 1024
_SENT_PIECE = 8 << 20
# Within which a piece is taken, by readers as slow as 14 kB a second too.
TAKEN_S = 600.0


def content_range(part: ByteRange, size: int) -> str:
    return f"bytes {part.first}-{part.last}/{size}"


async def send(
    request: ObsRequest, status: int, headers: Mapping[str, str], file: BinaryIO, part: ByteRange
) -> web.StreamResponse:
    """Hand the file to the system's own copying, which neither fills memory nor passes through Python."""
    http = request.http
    response = web.StreamResponse(status=status, headers=headers)
    if request.trouble.spoils_answers:
        return await send_spoiled(http, response, file, part.first, part.length, request.trouble)
    response.content_length = part.length
    await response.prepare(http)
    if http.transport is None:
        raise ConnectionResetError("The client has gone.")
    if not await _sent_whole(http.transport, file, part):
        # The length is promised already; a closed connection is the only way to say that the rest is missing.
        http.transport.abort()
    await response.write_eof()
    return response


async def _sent_whole(transport: asyncio.Transport, file: BinaryIO, part: ByteRange) -> bool:
    """Piece by piece: how far the system has come within one, it does not tell, and who takes nothing must not stay."""
    loop = asyncio.get_running_loop()
    try:
        for at in range(part.first, part.last + 1, _SENT_PIECE):
            length = min(_SENT_PIECE, part.last + 1 - at)
            if transport.is_closing():
                raise ConnectionResetError("The client has gone.")
            async with asyncio.timeout(TAKEN_S):
                if await loop.sendfile(transport, file, at, length) != length:
                    return False
    except TimeoutError:
        return False
    return True


SMALL = 256 * 1024
Body = BinaryIO | Unsealed
MAX_DOCUMENT = 8 << 20
_R = TypeVar("_R")


class Operations:
    """What every group of operations works with, and how it takes bodies; what becomes of them it says itself."""

    def __init__(self, store: ObjectStore, workers: Workers) -> None:
        self._store = store
        self._workers = workers
        self._access = Access(store)

    async def _stored(self, incoming: IncomingBody, finish: Callable[[BodyWriter], _R], seal: Seal | None = None) -> _R:
        """The result of `finish`, called in a worker with the complete body, once all checksums were right."""
        if incoming.announced_size is not None and incoming.announced_size <= SMALL:
            body = await incoming.whole(SMALL)
            return await self._workers.run(self._small, body, incoming, finish, seal)
        writer = await self._workers.run(self._store.new_body, seal)

        def digest(block: Block) -> None:
            writer.digest(block)
            incoming.update(block)

        def finished() -> _R:
            incoming.finish(lambda: writer.md5)
            return finish(writer)

        # One block is hashed by one thread and written by another while the next one arrives.
        taken: list[asyncio.Future[None]] = []
        try:
            async for block in incoming.blocks():
                await self._all_ended(taken)
                for step in (digest, writer.keep_bytes):
                    taken.append(self._workers.start(step, block))
            await self._all_ended(taken)
            return await self._workers.run(finished)
        finally:
            # A file must not be closed under a thread that still writes to it.
            for one in taken:
                await over(one)
            await asyncio.shield(self._workers.run(writer.discard))

    async def _all_ended(self, calls: list[asyncio.Future[None]]) -> None:
        while calls:
            await self._workers.ended(calls[-1])
            calls.pop()

    async def _document(
        self, request: ObsRequest, *, digest_needed: bool = False, checksums_of_object: bool = False
    ) -> bytes:
        """A body that is a document, whole; the checksums beside it may be those of the object it is about."""
        incoming = IncomingBody(request)
        if checksums_of_object:
            incoming.forget_checksums()
        has_checksum = any(name.startswith("checksum-") for name in request.our_headers())
        if digest_needed and not incoming.has_digest and not has_checksum:
            raise InvalidRequest("Missing required header for this request: Content-MD5.")
        body = await incoming.whole(MAX_DOCUMENT)
        incoming.finish(lambda: hashlib.md5(body, usedforsecurity=False).digest())
        return body

    async def _send_parts(
        self, request: ObsRequest, headers: Mapping[str, str], file: Body, parts: Sequence[ByteRange], size: int
    ) -> web.StreamResponse:
        """Several parts as multipart/byteranges."""
        boundary = secrets.token_hex(16)
        heads = [
            f"\r\n--{boundary}\r\nContent-Type: {headers['Content-Type']}\r\n"
            f"Content-Range: {content_range(part, size)}\r\n\r\n".encode()
            for part in parts
        ]
        end = f"\r\n--{boundary}--\r\n".encode()
        response = web.StreamResponse(
            status=206, headers={**headers, "Content-Type": f"multipart/byteranges; boundary={boundary}"}
        )
        response.content_length = sum(map(len, heads)) + sum(part.length for part in parts) + len(end)
        await response.prepare(request.http)
        for head, part in zip(heads, parts, strict=True):
            await response.write(head)
            await self._send_part(request, response, file, part)
        await response.write(end)
        await response.write_eof()
        return response

    async def _send_unsealed(
        self, request: ObsRequest, status: int, headers: Mapping[str, str], file: Unsealed, part: ByteRange
    ) -> web.StreamResponse:
        """What the system cannot copy by itself."""
        response = web.StreamResponse(status=status, headers=headers)
        if request.trouble.spoils_answers:
            # It seeks and reads, nothing else.
            readable = cast(BinaryIO, file)
            return await send_spoiled(request.http, response, readable, part.first, part.length, request.trouble)
        response.content_length = part.length
        await response.prepare(request.http)
        await self._send_part(request, response, file, part)
        await response.write_eof()
        return response

    async def _send_part(self, request: ObsRequest, response: web.StreamResponse, file: Body, part: ByteRange) -> None:
        file.seek(part.first)
        left = part.length
        while left and (block := await self._workers.run(file.read, min(_SENT_BLOCK, left))):
            await response.write(block)
            left -= len(block)
        if left and request.http.transport:
            request.http.transport.abort()

    def _small(self, body: bytes, incoming: IncomingBody, finish: Callable[[BodyWriter], _R], seal: Seal | None) -> _R:
        with self._store.new_body(seal) as writer:
            writer.write(body)
            incoming.finish(lambda: writer.md5)
            return finish(writer)
