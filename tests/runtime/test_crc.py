"""CRC-64 agrees with its published value, with other implementations, and with itself however a content is cut."""

from __future__ import annotations

import lzma
import random
import struct
import zlib

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from obs.util import Crc64, calculate_content_crc64

from traindeck.runtime.crc import CRC64, Polynomial, crc64, crc64_of_pieces


def test_check_value() -> None:
    assert crc64(b"123456789") == 0x995DC9BBDF1939FA
    assert crc64(b"") == 0
    assert crc64(b"6789", crc64(b"12345")) == 0x995DC9BBDF1939FA


@given(st.lists(st.binary(max_size=300), max_size=12))
@example([])
@example([b""])
@example([b"", b"a", b""])
def test_the_crc_of_pieces_is_that_of_the_whole(pieces: list[bytes]) -> None:
    assert crc64_of_pieces((crc64(piece), len(piece)) for piece in pieces) == crc64(b"".join(pieces))


@settings(max_examples=20, deadline=None)  # the SDK takes its time
@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.integers(1, 2**50))
def test_the_sdk_joins_in_the_same_way(first: int, second: int, second_bytes: int) -> None:
    assert CRC64.joined(first, second, second_bytes) == Crc64().combine(first, second, second_bytes)


@given(st.binary(max_size=500), st.binary(max_size=500))
def test_shorter_crcs_are_joined_as_well(first: bytes, second: bytes) -> None:
    joined = Polynomial(0xEDB88320, 32).joined(zlib.crc32(first), zlib.crc32(second), len(second))
    assert joined == zlib.crc32(first + second)


@pytest.mark.parametrize("size", [1, 1_000, 300_000, (1 << 20) + 7])
def test_independent_implementations_agree(size: int) -> None:
    data = random.Random(size).randbytes(size)
    packed = lzma.compress(data, check=lzma.CHECK_CRC64, preset=0)
    footer = 12
    (index_size,) = struct.unpack("<I", packed[-8:-4])
    at = len(packed) - footer - 4 * (index_size + 1) - 8
    assert int.from_bytes(packed[at : at + 8], "little") == crc64(data) == calculate_content_crc64(data)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_no_copy_of_a_buffer_is_needed(kind: type) -> None:
    assert crc64(kind(b"123456789")) == 0x995DC9BBDF1939FA
