"""What is packed with gzip, bzip2 or xz, unpacked from the beginning as far as it is looked at."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable
from functools import partial

from traindeck.services.previews.steps import ByteSource, Enough, Reading, damaged

_CHUNK = 128 * 1024
_PIECE = 256 * 1024
_MOST_MEMORY = 64 << 20
MOST_UNPACKED = 256 << 20
"""So much is unpacked for one page; a small file may unpack to a thousand times its size."""

MAGICS = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz"}


class _Gzip:
    """zlib's object behind the interface of the other two, which keep what they have not looked at."""

    def __init__(self) -> None:
        self._inflating = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._inflating.eof

    @property
    def unused_data(self) -> bytes:
        return self._inflating.unused_data

    @property
    def needs_input(self) -> bool:
        return not self._inflating.unconsumed_tail

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._inflating.decompress(self._inflating.unconsumed_tail + data, max_length)


_UNPACKERS: dict[str, Callable[[], _Gzip | bz2.BZ2Decompressor | lzma.LZMADecompressor]] = {
    "gzip": _Gzip,
    "bzip2": bz2.BZ2Decompressor,
    "xz": partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, memlimit=_MOST_MEMORY),
}


def packing_of(head: bytes) -> str:
    return next((form for magic, form in MAGICS.items() if head.startswith(magic)), "")


class UnpackedSource(ByteSource):
    """The content of a packed object; it can only be read forwards."""

    def __init__(self, source: ByteSource, form: str) -> None:
        super().__init__(None)
        self._source = source
        self._form = form
        self._unpacker = _UNPACKERS[form]()
        self._read_bytes = 0
        self._is_end = False
        self._start = 0  # where in the content the kept piece begins
        self._kept = b""
        self._since_page = 0

    def new_page(self) -> None:
        self._since_page = 0

    def take(self, offset: int, length: int, ahead: int = 0) -> Reading[bytes]:
        if offset < self._start:
            raise ValueError("packed content is read forwards")
        # Twice, so that the beginning, looked at to recognise the content, is still there.
        while self._start + len(self._kept) < offset + length and not self._is_end:
            if self._since_page > MOST_UNPACKED:
                raise Enough
            piece = yield from self._next()
            self._since_page += len(piece)
            self._kept += piece
            if offset > self._start and len(self._kept) > 2 * _PIECE:
                fallen = min(offset - self._start, len(self._kept))
                self._start += fallen
                self._kept = self._kept[fallen:]
        at = offset - self._start
        return self._kept[at : at + length]

    def _next(self) -> Reading[bytes]:
        chunk = b""
        if self._unpacker.needs_input:
            chunk = yield from self._source.take(self._read_bytes, _CHUNK)
            self._read_bytes += len(chunk)
            if not chunk:
                self._is_end = True
                return b""
        else:
            yield None
        try:
            piece = self._unpacker.decompress(chunk, _PIECE)
        except (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError) as error:
            raise damaged(str(error)) from error
        if self._unpacker.eof:
            rest = self._unpacker.unused_data
            self._read_bytes -= len(rest)
            if not rest.strip(b"\0") and (rest or not (yield from self._source.take(self._read_bytes, 1))):
                self._is_end = True
            else:
                self._unpacker = _UNPACKERS[self._form]()  # several of them may be joined
        return piece
