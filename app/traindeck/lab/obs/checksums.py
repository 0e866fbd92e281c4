"""The checksums a client may send with a body."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Callable, Mapping

from crcmod import mkCrcFun
from fastcrc.crc32 import iscsi

from traindeck.runtime.crc import Polynomial, crc64

CRC32 = Polynomial(0xEDB88320, 32)
CRC32C = Polynomial(0x82F63B78, 32)
CRC64_NVME = Polynomial(0x9A6C9329AC4BC9B5, 64)
# The only one of them that fastcrc does not have.
_nvme = mkCrcFun(0x1AD93D23594C93659, initCrc=0, rev=True, xorOut=(1 << 64) - 1)


CRC64 = "crc64ecma"


class Crc:
    """A CRC in the shape of a hashlib object; `continued` takes data and the CRC of what came before it."""

    def __init__(self, continued: Callable[[bytes, int], int], bits: int) -> None:
        self._continued = continued
        self._bits = bits
        self._value = 0

    def update(self, data: bytes, /) -> None:
        self._value = self._continued(data, self._value)

    def digest(self) -> bytes:
        return self._value.to_bytes(self._bits // 8, "big")


ALGORITHMS: Mapping[str, Callable[[], Crc | hashlib._Hash]] = {
    "crc32": lambda: Crc(zlib.crc32, 32),
    "crc32c": lambda: Crc(iscsi, 32),
    "crc64nvme": lambda: Crc(_nvme, 64),
    CRC64: lambda: Crc(crc64, 64),
    "sha1": lambda: hashlib.sha1(usedforsecurity=False),
    "sha256": hashlib.sha256,
    "sha512": hashlib.sha512,
    "md5": lambda: hashlib.md5(usedforsecurity=False),
}


def shown(name: str, digest: bytes) -> str:
    """As it stands in a header: CRC-64 of OBS as a number, all others in Base64."""
    if name == CRC64:
        return str(int.from_bytes(digest, "big"))
    return base64.b64encode(digest).decode("ascii")
