"""The checksums a client may send with a body, and those of an object joined from parts."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from traindeck.lab.obs.crc import CRC32C, CRC64_ECMA, CRC64_NVME, Polynomial
from traindeck.lab.obs.records import PartInfo

FULL_OBJECT = "FULL_OBJECT"
COMPOSITE = "COMPOSITE"
CRC64 = "crc64ecma"


class Checksum(Protocol):
    """What hashlib's objects offer."""

    def update(self, data: bytes, /) -> None: ...
    def digest(self) -> bytes: ...


class Crc32:
    """CRC-32 in the shape of a hashlib object."""

    def __init__(self) -> None:
        self._value = 0

    def update(self, data: bytes, /) -> None:
        self._value = zlib.crc32(data, self._value)

    def digest(self) -> bytes:
        return self._value.to_bytes(4, "big")


class OtherCrc:
    """One of the CRCs of ours in the shape of a hashlib object."""

    def __init__(self, polynomial: Polynomial) -> None:
        self._polynomial = polynomial
        self._value = 0

    def update(self, data: bytes, /) -> None:
        self._value = self._polynomial.crc(data, self._value)

    def digest(self) -> bytes:
        return self._value.to_bytes(self._polynomial.bits // 8, "big")


ALGORITHMS: Mapping[str, Callable[[], Checksum]] = {
    "crc32": Crc32,
    "crc32c": lambda: OtherCrc(CRC32C),
    "crc64nvme": lambda: OtherCrc(CRC64_NVME),
    CRC64: lambda: OtherCrc(CRC64_ECMA),
    "sha1": lambda: hashlib.sha1(usedforsecurity=False),
    "sha256": hashlib.sha256,
}


def shown(name: str, digest: bytes) -> str:
    """As it stands in a header: CRC-64 of OBS as a number, all others in Base64."""
    if name == CRC64:
        return str(int.from_bytes(digest, "big"))
    return base64.b64encode(digest).decode("ascii")


@dataclass(frozen=True, slots=True)
class JoinedChecksums:
    """Those of a completed upload, and what they cover."""

    values: Mapping[str, str] = field(default_factory=dict)
    kind: str = ""


def joined_checksums(algorithm: str, parts: Sequence[PartInfo]) -> JoinedChecksums:
    """A checksum of checksums, except where the whole can be had from the parts."""
    name = algorithm.lower()
    if name not in ALGORITHMS or not all(name in part.checksums for part in parts):
        return JoinedChecksums()
    digests = [base64.b64decode(part.checksums[name]) for part in parts]
    if name == "crc64nvme":
        value = 0
        for part, digest in zip(parts, digests, strict=True):
            value = CRC64_NVME.joined(value, int.from_bytes(digest, "big"), part.size)
        return JoinedChecksums({name: shown(name, value.to_bytes(8, "big"))}, FULL_OBJECT)
    checksum = ALGORITHMS[name]()
    checksum.update(b"".join(digests))
    return JoinedChecksums({name: f"{shown(name, checksum.digest())}-{len(parts)}"}, COMPOSITE)
