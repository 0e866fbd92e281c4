"""The checksums a client may send with a body."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Callable, Mapping, Sequence


class Polynomial:
    """One reflected CRC with all ones before and after.

    A message is folded before the table sees it: cut into rows, each row is carried to the next one by multiplying it
    with x^L modulo the polynomial, L being the length of a row. That is a handful of shifts of very long integers.
    The lengths were searched for: at them the multiplier has few terms.
    """

    def __init__(self, reflected: int, bits: int, rows: Sequence[int]) -> None:
        self.bits = bits
        self._ones = (1 << bits) - 1
        self._reflected = reflected
        self._table = [self._stepped(byte, 8) for byte in range(256)]
        self._rows = [(size, self._shifts(self._power(8 * size))) for size in rows]

    def crc(self, data: bytes, value: int = 0) -> int:
        """Of `data`, going on from the CRC of what came before it."""
        state = value ^ self._ones
        for size, shifts in self._rows:
            if len(data) >= 2 * size:
                data = _folded(data, state, size, shifts)
                state = 0
        table = self._table
        for byte in data:
            state = table[(state ^ byte) & 255] ^ (state >> 8)
        return state ^ self._ones

    def joined(self, first: int, second: int, second_size: int) -> int:
        """The CRC of two pieces of data, from theirs."""
        return self._product(first, self._power(8 * second_size)) ^ second

    def _stepped(self, value: int, bits: int) -> int:
        for _ in range(bits):
            value = (value >> 1) ^ (self._reflected if value & 1 else 0)
        return value

    def _power(self, exponent: int) -> int:
        """x^exponent; the highest bit stands for x^0."""
        result, square = 1 << (self.bits - 1), 1 << (self.bits - 2)
        while exponent:
            if exponent & 1:
                result = self._product(result, square)
            square = self._product(square, square)
            exponent >>= 1
        return result

    def _product(self, one: int, other: int) -> int:
        result = 0
        for at in range(self.bits - 1, -1, -1):
            if other >> at & 1:
                result ^= one
            one = self._stepped(one, 1)
        return result

    def _shifts(self, multiplier: int) -> list[int]:
        # Rows are little-endian numbers, whose bits stand for falling powers; 64 keeps all shifts to the left.
        shift = 64 - self.bits + 1
        return [at + shift for at in range(self.bits) if multiplier >> at & 1]


def _folded(data: bytes, state: int, size: int, shifts: Sequence[int]) -> bytes:
    """A shorter message with the same remainder."""
    # Longer than the other rows, as each row is added to the end of one at least as long.
    first = size + len(data) % size
    row = int.from_bytes(data[:first], "little") ^ state
    longer = 8 * (first - size)
    view = memoryview(data)
    for at in range(first, len(data), size):
        carried = 0
        for shift in shifts:
            carried ^= row << shift
        longer += 64
        row = carried ^ (int.from_bytes(view[at : at + size], "little") << longer)
    return row.to_bytes(size + longer // 8, "little")


# Computed by zlib, and only joined here.
CRC32 = Polynomial(0xEDB88320, 32, ())
CRC32C = Polynomial(0x82F63B78, 32, (209_720, 2_480))
CRC64_ECMA = Polynomial(0xC96C5795D7870F42, 64, (86_064, 1_272))
CRC64_NVME = Polynomial(0x9A6C9329AC4BC9B5, 64, (35_368, 1_656))


CRC64 = "crc64ecma"


class Crc:
    """A CRC in the shape of a hashlib object; `going_on` takes data and the value of what came before it."""

    def __init__(self, going_on: Callable[[bytes, int], int], bits: int) -> None:
        self._going_on = going_on
        self._bits = bits
        self._value = 0

    def update(self, data: bytes, /) -> None:
        self._value = self._going_on(data, self._value)

    def digest(self) -> bytes:
        return self._value.to_bytes(self._bits // 8, "big")


ALGORITHMS: Mapping[str, Callable[[], Crc | hashlib._Hash]] = {
    "crc32": lambda: Crc(zlib.crc32, 32),
    "crc32c": lambda: Crc(CRC32C.crc, 32),
    "crc64nvme": lambda: Crc(CRC64_NVME.crc, 64),
    CRC64: lambda: Crc(CRC64_ECMA.crc, 64),
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
