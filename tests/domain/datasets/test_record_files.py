"""Files of many records, cut so that a reader of the format finds nothing odd."""

from __future__ import annotations

import struct

import crcmod.predefined
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindeck.domain.datasets.choice import SampleShare
from traindeck.domain.datasets.record_files import (
    Idx,
    cifar_classes,
    cut_cifar,
    cut_mnist,
    cut_tfrecord,
    images_name_of,
    masked_crc,
    tfrecord_spans,
)

PICTURE = 3 * 32 * 32


def cifar(classes: list[int], head: bytes = b"") -> bytes:
    return b"".join(head + bytes([label]) + bytes([number % 256]) * PICTURE for number, label in enumerate(classes))


def idx(dims: tuple[int, ...], content: bytes) -> bytes:
    return struct.pack(f">HBB{len(dims)}I", 0, 8, len(dims), *dims) + content


def frame(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))


@given(st.binary(max_size=200))
def test_the_sum_is_that_of_the_format(content: bytes) -> None:
    crc = crcmod.predefined.mkCrcFun("crc-32c")(content)
    assert masked_crc(content) == ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def test_cifar_keeps_so_many_of_each_class() -> None:
    classes = [number % 10 for number in range(100)]
    cut = cut_cifar("data_batch_1.bin", cifar(classes), SampleShare(3))
    assert cut is not None
    left = cifar_classes(cut.content, "data_batch_1.bin")
    assert left is not None and sorted(left) == sorted([*range(10)] * 3)
    whole = cifar(classes)
    size = 1 + PICTURE
    records = {whole[at : at + size] for at in range(0, len(whole), size)}
    assert all(cut.content[at : at + size] in records for at in range(0, len(cut.content), size))
    assert cut.kept == {str(label): 3 for label in range(10)}


def test_cifar_100_gives_its_fine_class_second() -> None:
    assert cifar_classes(cifar([5, 6], b"\1"), "cifar-100-binary/train.bin") == [5, 6]
    assert cut_cifar("train.bin", b"x" * 100, SampleShare(1)) is None


def test_mnist_labels_and_pictures_stay_together() -> None:
    labels = idx((50,), bytes(number % 5 for number in range(50)))
    images = idx((50, 2, 3), b"".join(bytes([number]) * 6 for number in range(50)))
    cut = cut_mnist("train-labels-idx1-ubyte", labels, images, SampleShare(None, 0.2))
    assert cut is not None
    of_labels, of_images = Idx.of(cut[0].content), Idx.of(cut[1])
    assert of_labels is not None and of_images is not None and of_images.dims == (10, 2, 3)
    for number, label in enumerate(cut[0].content[of_labels.start :]):
        assert cut[1][of_images.start + 6 * number] % 5 == label
    assert images_name_of("raw/t10k-labels-idx1-ubyte.gz") == "raw/t10k-images-idx3-ubyte.gz"
    for broken in (b"", labels[:20], idx((50,), b"x"), b"\0\0\x0d\1" + labels[4:]):
        assert cut_mnist("l", broken, images, SampleShare(1)) is None


@given(st.lists(st.binary(max_size=30), min_size=1, max_size=30), st.integers(1, 100))
def test_a_share_of_a_tfrecord_is_whole_records(records: list[bytes], percent: int) -> None:
    content = b"".join(map(frame, records))
    share = SampleShare(None, percent / 100)
    cut = cut_tfrecord("a.tfrecord", content, share)
    assert cut is not None
    spans = tfrecord_spans(cut.content)
    assert spans is not None and len(spans) == share.count(len(records))
    assert [cut.content[slice(*span)] for span in spans] == [
        one for one in (cut.content[slice(*span)] for span in spans) if one in set(map(frame, records))
    ]


@pytest.mark.parametrize("broken", [frame(b"abc")[:-1], b"x" * 40, frame(b"abc")[:8] + b"\0" * 20, b"\xff" * 12])
def test_what_is_cut_off_is_no_tfrecord(broken: bytes) -> None:
    assert tfrecord_spans(frame(b"first") + broken) is None
