"""The body of a request on its way in: framing taken off, every announced checksum compared, memory bounded."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from aiohttp import web

from traindeck.lab.faults import paced
from traindeck.lab.obs.checksums import ALGORITHMS, CRC64, shown
from traindeck.lab.obs.errors import (
    AccessDenied,
    BadDigest,
    IncompleteBody,
    InvalidArgument,
    InvalidRequest,
    ObsError,
)
from traindeck.lab.obs.records import whole_number
from traindeck.lab.signing.request import any_equal
from traindeck.lab.signing.signatures import ChunkSeed, RawRequest, Verified
from traindeck.lab.signing.v4 import chunk_signature, trailer_signature

STREAM_PREFIX = "STREAMING-"
_MAX_LINE = 8192
_SIZE_LINE = re.compile(rb"(?P<size>[0-9a-fA-F]{1,16})(?:;chunk-signature=(?P<signature>[0-9a-f]{64}))?")
_TRAILER_SIGNATURE = "x-amz-trailer-signature"


@dataclass
class _Chunk:
    left: int
    signature: str
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)


class ChunkDecoder:
    """Takes the framed bytes piece by piece and gives the content; with a seed every chunk's signature is checked."""

    def __init__(self, seed: ChunkSeed | None, *, signed_trailer: bool = False) -> None:
        self._seed = seed
        self._signed_trailer = signed_trailer
        self._previous = seed.signature if seed else ""
        self._buffer = bytearray()
        self._chunk: _Chunk | None = None
        self._in_trailers = False
        self._ended = False
        self.trailers: dict[str, str] = {}

    def feed(self, data: bytes) -> list[bytes]:
        self._buffer += data
        pieces: list[bytes] = []
        while not self._ended and self._step(pieces):
            pass
        if self._ended and self._buffer:
            raise InvalidRequest("There is something after the last chunk.")
        return pieces

    def finish(self) -> None:
        if not self._ended:
            raise IncompleteBody

    def _step(self, pieces: list[bytes]) -> bool:
        """One element of the framing; False where more bytes are needed."""
        if self._chunk and self._chunk.left:
            if not self._buffer:
                return False
            piece = bytes(memoryview(self._buffer)[: self._chunk.left])
            del self._buffer[: len(piece)]
            self._chunk.left -= len(piece)
            if self._seed:
                self._chunk.digest.update(piece)
            pieces.append(piece)
            return True
        if self._chunk:
            line = self._line()
            if line is None:
                return False
            if line:
                raise InvalidRequest("A chunk is longer than it says.")
            self._check_chunk(self._chunk)
            self._chunk = None
            return True
        line = self._line()
        if line is None:
            return False
        if self._in_trailers:
            self._take_trailer(line)
        else:
            self._begin_chunk(line)
        return True

    def _line(self) -> bytes | None:
        at = self._buffer.find(b"\r\n")
        if at < 0:
            if len(self._buffer) > _MAX_LINE:
                raise InvalidRequest("The framing of the chunked body is broken.")
            return None
        line = bytes(self._buffer[:at])
        del self._buffer[: at + 2]
        return line

    def _begin_chunk(self, line: bytes) -> None:
        match = _SIZE_LINE.fullmatch(line)
        if match is None or (self._seed and match["signature"] is None):
            raise InvalidRequest("The framing of the chunked body is broken.")
        chunk = _Chunk(int(match["size"], 16), (match["signature"] or b"").decode("ascii"))
        if chunk.left:
            self._chunk = chunk
            return
        self._check_chunk(chunk)
        self._in_trailers = True

    def _check_chunk(self, chunk: _Chunk) -> None:
        if self._seed:
            expected = chunk_signature(self._seed, self._previous, chunk.digest.hexdigest())
            if not any_equal([expected], chunk.signature):
                raise AccessDenied("The signature of a chunk does not match.")
            self._previous = chunk.signature

    def _take_trailer(self, line: bytes) -> None:
        if line:
            name, colon, value = line.decode("latin-1").partition(":")
            if not colon or len(self.trailers) > 16:
                raise InvalidRequest("A trailer of the chunked body is broken.")
            self.trailers[name.strip().lower()] = value.strip()
            return
        self._ended = True
        given = self.trailers.pop(_TRAILER_SIGNATURE, "")
        if self._seed and self._signed_trailer:
            text = "".join(f"{name}:{value}\n" for name, value in self.trailers.items())
            expected = trailer_signature(self._seed, self._previous, text.encode("latin-1"))
            if not any_equal([expected], given):
                raise AccessDenied("The signature of the trailers does not match.")


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
