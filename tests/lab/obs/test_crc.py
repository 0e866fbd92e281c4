"""The CRCs agree with their published check values, however the data is cut."""

from __future__ import annotations

import lzma
import random
import struct

import pytest

from traindeck.lab.obs.checksums import CRC32C, CRC64_ECMA, CRC64_NVME, Polynomial

ALL = [CRC32C, CRC64_ECMA, CRC64_NVME]


@pytest.mark.parametrize(
    ("polynomial", "check"),
    [(CRC32C, 0xE3069283), (CRC64_ECMA, 0x995DC9BBDF1939FA), (CRC64_NVME, 0xAE8B14860A799888)],
)
def test_check_values(polynomial: Polynomial, check: int) -> None:
    assert polynomial.crc(b"123456789") == check
    assert polynomial.crc(b"") == 0
    assert polynomial.crc(b"6789", polynomial.crc(b"12345")) == check


@pytest.mark.parametrize("polynomial", ALL)
@pytest.mark.parametrize("size", [2_543, 2_544, 5_000, 172_128, 500_001])
def test_folding_changes_nothing(polynomial: Polynomial, size: int) -> None:
    data = random.Random(size).randbytes(size)
    whole = polynomial.crc(data)
    in_steps = 0
    for at in range(0, size, 1_000):  # too short to be folded
        in_steps = polynomial.crc(data[at : at + 1_000], in_steps)
    assert whole == in_steps
    cut = size // 3
    assert polynomial.joined(polynomial.crc(data[:cut]), polynomial.crc(data[cut:]), size - cut) == whole


def test_an_independent_implementation_agrees() -> None:
    data = random.Random(1).randbytes(300_000)
    packed = lzma.compress(data, check=lzma.CHECK_CRC64, preset=0)
    footer = 12
    (index_size,) = struct.unpack("<I", packed[-8:-4])
    at = len(packed) - footer - 4 * (index_size + 1) - 8
    assert int.from_bytes(packed[at : at + 8], "little") == CRC64_ECMA.crc(data)
