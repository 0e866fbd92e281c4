"""Files with many samples in one: CIFAR's binary, MNIST's IDX and TFRecord; counting and cutting their records."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from traindeck.domain.datasets.choice import SampleShare, chosen_records

_PICTURE = 3 * 32 * 32
_CIFAR_10, _CIFAR_100 = 1 + _PICTURE, 2 + _PICTURE
_IDX = struct.Struct(">HBB")
_UNSIGNED_BYTE = 0x08
_FRAME = struct.Struct("<QI")
_TAIL = 4


@dataclass(frozen=True, slots=True)
class CutRecords:
    """What is left of a file, and how many records of each class there were and are."""

    content: bytes
    there: Counter[str]
    kept: Counter[str]


def cifar_classes(content: bytes, name: str) -> list[int] | None:
    """Of each record; None: these are no such records."""
    size = cifar_record_bytes(len(content), name)
    if not size:
        return None
    # CIFAR-100 gives the coarse class first.
    at = 0 if size == _CIFAR_10 else 1
    return list(content[at::size])


def cifar_record_bytes(size_bytes: int, name: str) -> int:
    """0: a file of this size and name has no such records."""
    last = name.rpartition("/")[2]
    size = _CIFAR_100 if last in ("train.bin", "test.bin") else _CIFAR_10
    return size if size_bytes and size_bytes % size == 0 else 0


def cut_cifar(name: str, content: bytes, wanted: SampleShare) -> CutRecords | None:
    size, classes = cifar_record_bytes(len(content), name), cifar_classes(content, name)
    if classes is None:
        return None
    kept = chosen_records(wanted, name, classes)
    return _cut(b"", [content[number * size : (number + 1) * size] for number in kept], classes, kept)


@dataclass(frozen=True, slots=True)
class Idx:
    """The head of an IDX file, from http://yann.lecun.com/exdb/mnist (“The IDX file format”)."""

    dims: tuple[int, ...]
    start: int

    @property
    def record_bytes(self) -> int:
        size = 1
        for dim in self.dims[1:]:
            size *= dim
        return size

    @classmethod
    def of(cls, content: bytes) -> Idx | None:
        """None: it is none with bytes in it, or is not as long as it says."""
        if len(content) < _IDX.size:
            return None
        zero, kind, count = _IDX.unpack_from(content)
        start = _IDX.size + 4 * count
        if zero or kind != _UNSIGNED_BYTE or not 1 <= count <= 4 or len(content) < start:
            return None
        found = cls(struct.unpack_from(f">{count}I", content, _IDX.size), start)
        return found if len(content) == start + found.dims[0] * found.record_bytes else None

    def cut(self, content: bytes, kept: Sequence[int]) -> bytes:
        size = self.record_bytes
        head = content[: _IDX.size] + struct.pack(f">{len(self.dims)}I", len(kept), *self.dims[1:])
        records = (content[self.start + number * size : self.start + (number + 1) * size] for number in kept)
        return head + b"".join(records)


def cut_mnist(labels_name: str, labels: bytes, images: bytes, wanted: SampleShare) -> tuple[CutRecords, bytes] | None:
    """The labels and the pictures, each without what is not kept."""
    of_labels, of_images = Idx.of(labels), Idx.of(images)
    if of_labels is None or of_images is None or len(of_labels.dims) != 1 or of_labels.dims[0] != of_images.dims[0]:
        return None
    classes = list(labels[of_labels.start :])
    kept = chosen_records(wanted, labels_name, classes)
    there, left = _counted(classes, kept)
    return CutRecords(of_labels.cut(labels, kept), there, left), of_images.cut(images, kept)


def images_name_of(labels_name: str) -> str:
    """The pictures that belong to the labels of an IDX dataset."""
    folder, slash, last = labels_name.rpartition("/")
    return folder + slash + last.replace("labels", "images").replace("idx1", "idx3")


def tfrecord_spans(content: bytes) -> list[tuple[int, int]] | None:
    """Where each record with its frame stands; None: it is none, or cut off.

    The frame as TensorFlow's guide “TFRecord and tf.train.Example” gives it: length, its CRC, data, its CRC.
    """
    found, at = [], 0
    while at < len(content):
        if at + _FRAME.size > len(content):
            return None
        length, check = _FRAME.unpack_from(content, at)
        end = at + _FRAME.size + length + _TAIL
        if end > len(content) or check != masked_crc(content[at : at + 8]):
            return None
        found.append((at, end))
        at = end
    return found


def cut_tfrecord(name: str, content: bytes, wanted: SampleShare) -> CutRecords | None:
    """Which class a record has stands in what it holds, so a share of all of them is kept."""
    spans = tfrecord_spans(content)
    if spans is None:
        return None
    classes = [0] * len(spans)
    kept = chosen_records(wanted, name, classes)
    cut = _cut(b"", [content[slice(*spans[number])] for number in kept], classes, kept)
    return CutRecords(cut.content, Counter({"": len(spans)}), Counter({"": len(kept)}))


def _cut(head: bytes, records: Sequence[bytes], classes: Sequence[int], kept: Sequence[int]) -> CutRecords:
    return CutRecords(head + b"".join(records), *_counted(classes, kept))


def _counted(classes: Sequence[int], kept: Sequence[int]) -> tuple[Counter[str], Counter[str]]:
    return Counter(map(str, classes)), Counter(str(classes[number]) for number in kept)


def masked_crc(content: bytes) -> int:
    """CRC-32C, turned as TFRecord does so that a sum over sums does not cancel out."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc = _CRC_TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _crc_entry(number: int) -> int:
    for _ in range(8):
        number = number >> 1 ^ (0x82F63B78 if number & 1 else 0)
    return number


_CRC_TABLE = [_crc_entry(number) for number in range(256)]
