"""The `aws-chunked` framing of S3 clients: chunks inside the body, signed or not, and trailers after them."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field

from traindeck.lab.obs.errors import AccessDenied, IncompleteBody, InvalidRequest
from traindeck.lab.signing.request import any_equal
from traindeck.lab.signing.signatures import ChunkSeed
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
