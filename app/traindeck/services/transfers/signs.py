"""What an object says of its content, as far as that can be believed."""

from __future__ import annotations

import re

from traindeck.domain.transfers import (
    MD5_NAME,
    MOST_PARTS,
    PART_BYTES_NAME,
    is_plain_md5,
    part_bytes,
    part_count,
)
from traindeck.services.data_ports import Found

_OF_PARTS = re.compile(r"[0-9a-f]{32}-([1-9][0-9]{0,4})")
_MEBIBYTE = 1024 * 1024
# No service takes smaller parts, but for the last.
LEAST_PART_BYTES = 100 * 1024
# What programs that move data send by default, in MiB.
_USUAL = (5, 6, 8, 9, 10, 12, 15, 16, 20, 24, 25, 32, 48, 50, 64, 96, 100, 128, 200, 250, 256, 500, 512, 1000, 1024)


def whole_md5(found: Found) -> str:
    """The MD5 of all of it as the service reports it, or as who sent it wrote it down; empty: neither."""
    if not found.is_encrypted and is_plain_md5(found.etag):
        return found.etag
    kept = found.metadata.get(MD5_NAME, "")
    return kept if is_plain_md5(kept) else ""


def count_in(etag: str) -> int:
    """Of how many parts an ETag is; 0: it does not say."""
    match = _OF_PARTS.fullmatch(etag)
    return int(match[1]) if match else 0


def part_layout(found: Found) -> int:
    """The size of the parts it was sent in, where who sent it wrote that down and it can be; else 0."""
    kept = found.metadata.get(PART_BYTES_NAME, "")
    size = int(kept) if kept.isascii() and kept.isdecimal() and len(kept) < 16 else 0
    return size if _fits(found, size) else 0


def likely_layouts(found: Found) -> list[int]:
    """Sizes of parts that would give as many parts as the ETag counts."""
    known = part_layout(found)
    if known:
        return [known]
    if count_in(found.etag) == 1:
        return [max(found.size_bytes, LEAST_PART_BYTES)]
    sizes = {part_bytes(found.size_bytes), *(count * _MEBIBYTE for count in _USUAL)}
    return [size for size in sorted(sizes) if _fits(found, size)]


def _fits(found: Found, size: int) -> bool:
    count = count_in(found.etag)
    if found.is_encrypted or not count or count > MOST_PARTS or size < LEAST_PART_BYTES:
        return False
    return part_count(found.size_bytes, size) == count
