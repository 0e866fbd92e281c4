"""The body of a request on its way in: framing taken off, every announced checksum compared, memory bounded."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence

from aiohttp import web

from traindeck.lab.faulty_wire import paced
from traindeck.lab.obs.aws_chunks import STREAM_PREFIX, ChunkDecoder
from traindeck.lab.obs.checksums import ALGORITHMS, CRC64, shown
from traindeck.lab.obs.errors import BadDigest, IncompleteBody, InvalidArgument, InvalidRequest, ObsError
from traindeck.lab.obs.whole_numbers import whole_number
from traindeck.lab.signing.signatures import RawRequest, Verified

MAX_BODY = 5 * 1024**3
BLOCK = 1 << 20
# A client may send its body byte by byte, and each of them is an object while it waits.
MANY_PIECES = 4096
SMALL_PIECE = 64 * 1024
STALL_S = 10.0
Block = Sequence[bytes]
_UNSIGNED = {"", "UNSIGNED-PAYLOAD"}


CHECKSUM_PREFIX = "x-amz-checksum-"
_CRC64_HEADERS = ("x-obs-checksum-crc64ecma", "x-amz-checksum-crc64ecma")


class IncomingBody:
    """Reads one request's body once; `blocks` gives the content, `finish` says whether it is the announced one."""

    def __init__(
        self, request: web.BaseRequest, raw: RawRequest, verified: Verified, bytes_per_second: int = 0
    ) -> None:
        self._request = request
        self._bytes_per_second = bytes_per_second
        self._md5 = content_md5(raw)
        self._sha256 = ""
        self._decoder: ChunkDecoder | None = None
        self._received = 0
        self._continued = False
        self._announced = self._announced_size(raw, verified.payload_hash)
        payload = verified.payload_hash
        if payload.startswith(STREAM_PREFIX):
            seed = None if payload.startswith("STREAMING-UNSIGNED") else verified.chunk_seed
            self._decoder = ChunkDecoder(seed, signed_trailer=payload.endswith("-TRAILER"))
        elif payload not in _UNSIGNED:
            self._sha256 = payload
        self._expected = {
            name: value for name in ALGORITHMS if (value := raw.header(CHECKSUM_PREFIX + name)) is not None
        }
        if crc64 := next((value for name in _CRC64_HEADERS if (value := raw.header(name)) is not None), None):
            self._expected[CRC64] = crc64
        trailer = (raw.header("x-amz-trailer") or "").lower()
        self._trailing = trailer.removeprefix(CHECKSUM_PREFIX) if trailer.startswith(CHECKSUM_PREFIX) else ""
        wanted = {*self._expected, self._trailing, *(["sha256"] if self._sha256 else [])}
        self._digests = {name: make() for name, make in ALGORITHMS.items() if name in wanted}

    @property
    def announced_size(self) -> int | None:
        """The size of the content, where the request tells it."""
        return self._announced

    @property
    def checksums(self) -> Mapping[str, str]:
        """What was compared, apart from CRC-64; complete after `finish`."""
        return {name: value for name, value in self._expected.items() if name != CRC64}

    @property
    def crc64(self) -> str:
        """The CRC-64 that was compared, "" where none was sent."""
        return self._expected.get(CRC64, "")

    @property
    def has_digest(self) -> bool:
        return self._md5 is not None or bool(self._expected) or bool(self._trailing)

    def forget_checksums(self) -> None:
        """The headers tell of something else than this body."""
        self._expected.clear()

    async def proceed(self) -> None:
        """Tell a client that waits for it to send the body."""
        expect = self._request.headers.get("Expect", "")
        if expect.lower() == "100-continue" and not self._continued:
            self._continued = True
            await self._request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            # The interim answer is not part of the final one.
            self._request.writer.output_size = 0

    async def blocks(self) -> AsyncIterator[Block]:
        """The content block by block, in pieces worth a call to hash or write each, of about a megabyte together."""
        await self.proceed()
        waiting: list[bytes] = []
        size = 0
        async for data in self._arriving():
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

    def _arriving(self) -> AsyncIterator[bytes]:
        arriving = self._pieces()
        return paced(arriving, self._bytes_per_second) if self._bytes_per_second else arriving

    async def _pieces(self) -> AsyncIterator[bytes]:
        content = self._request.content
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
        if self._announced is not None and self._received != self._announced:
            raise IncompleteBody
        if self._trailing in ALGORITHMS and self._decoder:
            value = self._decoder.trailers.get(CHECKSUM_PREFIX + self._trailing)
            if value is None:
                raise InvalidRequest("The announced trailing checksum is missing.")
            self._expected[self._trailing] = value
        if self._md5 is not None and self._md5 != md5():
            raise BadDigest(message="The Content-MD5 you specified did not match what we received.")
        if self._sha256 and self._digests["sha256"].digest().hex() != self._sha256:
            message = "The provided 'x-amz-content-sha256' header does not match what was computed."
            raise BadDigest("XAmzContentSHA256Mismatch", message)
        for name, value in self._expected.items():
            if shown(name, self._digests[name].digest()) != value:
                code = "InvalidCRC64" if name == CRC64 else "BadDigest"
                raise BadDigest(code, f"The {name} you specified did not match what we received.")

    def _announced_size(self, raw: RawRequest, payload_hash: str) -> int | None:
        is_framed = payload_hash.startswith(STREAM_PREFIX)
        text = raw.header("x-amz-decoded-content-length") if is_framed else raw.header("content-length")
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


def content_md5(raw: RawRequest) -> bytes | None:
    text = raw.header("content-md5")
    if text is None:
        return None
    try:
        digest = base64.b64decode(text, validate=True)
    except binascii.Error:
        digest = b""
    if len(digest) != hashlib.md5(usedforsecurity=False).digest_size:
        raise BadDigest("InvalidDigest", "The Content-MD5 you specified is not valid.")
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
        while left > 0:
            async with asyncio.timeout(STALL_S):
                data = await request.content.readany()
            if not data:
                return True
            left -= len(data)
    except TimeoutError:
        return False
    return False
