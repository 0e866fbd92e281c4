"""The framing of bodies that come in chunks, signed or not, taken off."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Generator, Iterator

from traindeck.lab.obs.errors import AccessDenied, IncompleteBody, InvalidRequest
from traindeck.lab.signing.request import ChunkSeed, is_equal
from traindeck.lab.signing.v4 import chunk_signature, trailer_signature

_MAX_LINE = 8192
_SIZE_LINE = re.compile(rb"(?P<size>[0-9a-fA-F]{1,16})(?:;chunk-signature=(?P<signature>[0-9a-f]{64}))?")
_TRAILER_SIGNATURE = "x-amz-trailer-signature"


class ChunkDecoder:
    """Takes the framed bytes piece by piece and gives the content; with a seed every chunk's signature is checked."""

    def __init__(self, seed: ChunkSeed | None, *, signed_trailer: bool = False) -> None:
        self._seed = seed
        self._signed_trailer = signed_trailer
        self._previous = seed.signature if seed else ""
        self._buffer = bytearray()
        self._pieces: list[bytes] = []
        self._reading = self._read()
        self._ended = False
        self.trailers: dict[str, str] = {}

    def feed(self, data: bytes) -> list[bytes]:
        self._buffer += data
        self._ended = next(self._reading, True)
        if self._ended and self._buffer:
            raise InvalidRequest("There is something after the last chunk.")
        pieces, self._pieces = self._pieces, []
        return pieces

    def finish(self) -> None:
        if not self._ended:
            raise IncompleteBody

    def _read(self) -> Iterator[bool]:
        """From the first to the last element of the framing; False wherever more bytes are needed."""
        is_last = False
        while not is_last:
            match = _SIZE_LINE.fullmatch((yield from self._line()))
            if match is None or (self._seed and match["signature"] is None):
                raise InvalidRequest("The framing of the chunked body is broken.")
            left, digest = int(match["size"], 16), hashlib.sha256()
            is_last = left == 0
            while left:
                while not self._buffer:
                    yield False
                piece = bytes(memoryview(self._buffer)[:left])
                del self._buffer[: len(piece)]
                left -= len(piece)
                if self._seed:
                    digest.update(piece)
                self._pieces.append(piece)
            if not is_last and (yield from self._line()):
                raise InvalidRequest("A chunk is longer than it says.")
            if self._seed:
                given = match["signature"].decode("ascii")
                if not is_equal(chunk_signature(self._seed, self._previous, digest.hexdigest()), given):
                    raise AccessDenied("The signature of a chunk does not match.")
                self._previous = given
        while line := (yield from self._line()):
            name, colon, value = line.decode("latin-1").partition(":")
            if not colon or len(self.trailers) > 16:
                raise InvalidRequest("A trailer of the chunked body is broken.")
            self.trailers[name.strip().lower()] = value.strip()
        given = self.trailers.pop(_TRAILER_SIGNATURE, "")
        if self._seed and self._signed_trailer:
            text = "".join(f"{name}:{value}\n" for name, value in self.trailers.items())
            if not is_equal(trailer_signature(self._seed, self._previous, text.encode("latin-1")), given):
                raise AccessDenied("The signature of the trailers does not match.")

    def _line(self) -> Generator[bool, None, bytes]:
        while (at := self._buffer.find(b"\r\n")) < 0:
            if len(self._buffer) > _MAX_LINE:
                raise InvalidRequest("The framing of the chunked body is broken.")
            yield False
        line = bytes(self._buffer[:at])
        del self._buffer[: at + 2]
        return line
