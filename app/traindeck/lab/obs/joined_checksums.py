"""The checksums of an object that is joined from parts: of all its bytes, or one of the checksums of its parts."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from traindeck.lab.obs.checksums import ALGORITHMS, CRC32, CRC32C, CRC64, CRC64_NVME, shown
from traindeck.lab.obs.errors import BadDigest, InvalidRequest, ObsError, Texts
from traindeck.lab.obs.records import PartInfo
from traindeck.runtime.crc import CRC64 as CRC64_ECMA

FULL_OBJECT = "FULL_OBJECT"
COMPOSITE = "COMPOSITE"
# Those of the whole can be had from those of its parts.
_JOINABLE = {"crc32": CRC32, "crc32c": CRC32C, "crc64nvme": CRC64_NVME, CRC64: CRC64_ECMA}
# Computed once more from the bytes, where the part came without it.
DigestOf = Callable[[PartInfo, str], bytes]


@dataclass(frozen=True, slots=True)
class ToldOfWhole:
    """What the request to complete an upload says of the object it makes."""

    crc64: str = ""
    checksums: Texts = field(default_factory=dict)
    kind: str = ""
    size: int | None = None


def joined_etag(digests: bytes, count: int) -> str:
    """Of an object made of so many pieces, from their digests one after another."""
    return f"{hashlib.md5(digests, usedforsecurity=False).hexdigest()}-{count}"


def upload_kind(algorithm: str, asked: str) -> str:
    """What the checksum of an upload will cover; "" where it is begun without an algorithm."""
    if asked not in ("", FULL_OBJECT, COMPOSITE):
        raise InvalidRequest("Value for x-amz-checksum-type header is invalid.")
    if not algorithm:
        if asked:
            raise InvalidRequest("A type of checksum needs x-amz-checksum-algorithm.")
        return ""
    # This one exists for whole objects only, and the hashes only for the parts.
    usual = FULL_OBJECT if algorithm == "crc64nvme" else COMPOSITE
    if asked and asked != usual and (usual == FULL_OBJECT or algorithm not in _JOINABLE):
        raise InvalidRequest(f"The {asked} checksum type cannot be used with the {algorithm} checksum algorithm.")
    return asked or usual


def joined_checksums(
    algorithm: str, kind: str, parts: Sequence[PartInfo], told: ToldOfWhole, digest_of: DigestOf
) -> tuple[Mapping[str, str], str]:
    """Those of a completed upload and what they cover, once they are what the client says."""
    if told.size is not None and told.size != sum(part.size for part in parts):
        raise InvalidRequest("The x-amz-mp-object-size you specified is not the size of the joined parts.")
    if algorithm and told.kind not in ("", kind):
        raise BadDigest(f"The upload was begun with checksums of the type {kind}.")
    names = [algorithm] if algorithm else list(told.checksums)
    if unknown := sorted(name for name in told.checksums if name not in names or not (algorithm or name in _JOINABLE)):
        raise InvalidRequest(f"The upload was not begun with checksums of the kind {unknown[0]}.")
    if not algorithm and told.kind == COMPOSITE:
        raise InvalidRequest("The upload was begun without checksums of its parts.")
    kind = kind if algorithm else FULL_OBJECT
    joined = _whole if kind == FULL_OBJECT else _composite
    found = {name: joined(name, parts, digest_of) for name in names}
    for name, value in told.checksums.items():
        # Of a composite one some clients leave out the number of parts.
        if value not in (found[name], found[name].partition("-")[0]):
            raise BadDigest(f"The {name} you specified did not match the calculated checksum.")
    return found, kind if found else ""


def joined_crc64(parts: Sequence[PartInfo], announced: str, digest_of: DigestOf) -> str:
    """The CRC-64 of OBS, where the client tells it of the whole or has told it of every part."""
    if not announced and not all(part.crc64 for part in parts):
        return ""
    value = _whole(CRC64, parts, digest_of)
    if announced and announced != value:
        raise ObsError(400, "InvalidCRC64", "The CRC64 you specified did not match that of the joined parts.")
    return value


def digest_told(part: PartInfo, name: str) -> bytes | None:
    """As it came with the part and was compared then."""
    if name == CRC64:
        return int(part.crc64).to_bytes(8, "big") if part.crc64 else None
    return base64.b64decode(part.checksums[name]) if name in part.checksums else None


def _whole(name: str, parts: Sequence[PartInfo], digest_of: DigestOf) -> str:
    polynomial, value = _JOINABLE[name], 0
    for part in parts:
        value = polynomial.joined(value, int.from_bytes(digest_of(part, name), "big"), part.size)
    return shown(name, value.to_bytes(polynomial.bits // 8, "big"))


def _composite(name: str, parts: Sequence[PartInfo], digest_of: DigestOf) -> str:
    checksum = ALGORITHMS[name]()
    checksum.update(b"".join(digest_of(part, name) for part in parts))
    return f"{shown(name, checksum.digest())}-{len(parts)}"
