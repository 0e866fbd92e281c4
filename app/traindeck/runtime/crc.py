"""CRCs of whole contents, from the CRCs of their pieces."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from fastcrc.crc64 import xz

crc64 = xz
"""CRC-64/XZ of some bytes, continuing from the CRC of what came before them."""


@dataclass(frozen=True, slots=True)
class Polynomial:
    """A reflected CRC with all ones before and after: its highest bit stands for x^0."""

    reflected: int
    bits: int

    def joined(self, first: int, second: int, second_bytes: int) -> int:
        """The CRC of two pieces of content, from theirs."""
        return self._product(first, _power_of_256(self, second_bytes)) ^ second

    def power_of_256(self, exponent: int) -> int:
        """256^exponent, by squaring; the remainder of appending as many zero bytes."""
        result, square = 1 << (self.bits - 1), 1 << (self.bits - 9)
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
            one = (one >> 1) ^ (self.reflected if one & 1 else 0)
        return result


@lru_cache(maxsize=64)
def _power_of_256(polynomial: Polynomial, exponent: int) -> int:
    """Nearly all parts of an object have one size."""
    return polynomial.power_of_256(exponent)


CRC64 = Polynomial(0xC96C5795D7870F42, 64)


def crc64_of_pieces(pieces: Iterable[tuple[int, int]]) -> int:
    """The CRC-64 of a content, from the CRC-64 and the size of each piece in their order."""
    value = 0
    for crc, size_bytes in pieces:
        value = CRC64.joined(value, crc, size_bytes)
    return value
