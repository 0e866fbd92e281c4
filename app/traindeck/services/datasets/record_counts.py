"""How many records there are in files that hold many, without reading the records."""

from __future__ import annotations

import sqlite3
import struct
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

from traindeck.domain.datasets.layouts import (
    is_cifar_binary_name,
    is_mindrecord_name,
    is_mnist_name,
    is_tfrecord_name,
)
from traindeck.domain.datasets.record_files import cifar_record_bytes, masked_crc

_FRAME = struct.Struct("<QI")
_TAIL = 4


def record_count(name: str, size_bytes: int, file: BinaryIO) -> int | None:
    """None: unknown. Blocks."""
    if name.endswith(".gz"):
        return None
    if is_tfrecord_name(name):
        return _tfrecords(size_bytes, file)
    if is_mnist_name(name):
        head = file.read(8)
        return int.from_bytes(head[4:], "big") if len(head) == 8 and head[:3] == b"\0\0\x08" else None
    if is_cifar_binary_name(name):
        each = cifar_record_bytes(size_bytes, name)
        return size_bytes // each if each else None
    return None


def _tfrecords(size_bytes: int, file: BinaryIO) -> int | None:
    """From frame to frame; None: one of them is none, or is cut off."""
    count = at = 0
    while at < size_bytes:
        file.seek(at)
        head = file.read(_FRAME.size)
        if len(head) < _FRAME.size:
            return None
        length, check = _FRAME.unpack(head)
        if check != masked_crc(head[:8]):
            return None
        at += _FRAME.size + length + _TAIL
        count += 1
    return count if at == size_bytes else None


def mindrecord_count(place: Path) -> int | None:
    """Of the index that MindSpore writes beside each file, `NAME.db`; None: there is none, or none that is understood.

    SQLite, with a row of the table INDEXES for each sample (MindSpore, mindrecord/io/shard_index_generator.cc).
    """
    index = place.with_name(f"{place.name}.db")
    if not is_mindrecord_name(place.name) or not index.is_file() or index.is_symlink():
        return None
    try:
        with closing(sqlite3.connect(f"{index.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as database:
            found = database.execute("SELECT COUNT(*) FROM INDEXES").fetchone()[0]
    except (sqlite3.Error, ValueError):
        return None
    return int(found)
