"""Files of the kinds that previews know, made by hand where no library of theirs is at hand."""

from __future__ import annotations

import io
import json
import pickle
import struct
import sys
import tarfile
import types
import zipfile
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any


def npy(descr: object, shape: tuple[int, ...], content: bytes, *, fortran: bool = False, version: int = 1) -> bytes:
    header = f"{{'descr': {descr!r}, 'fortran_order': {fortran}, 'shape': {shape!r}, }}\n".encode()
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + content


def safetensors(tensors: Mapping[str, tuple[str, list[int], int]], **metadata: str) -> bytes:
    header: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    at = 0
    for name, (dtype, shape, size) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    words = json.dumps(header).encode()
    return struct.pack("<Q", len(words)) + words + bytes(at)


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def message(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def mindspore(tensors: Sequence[tuple[str, str, list[int], int]], *, packed: bool = False) -> bytes:
    out = b""
    for name, dtype, dims, size in tensors:
        if packed:
            shape = message(1, b"".join(varint(dim) for dim in dims))
        else:
            shape = b"".join(varint(1 << 3) + varint(dim) for dim in dims)
        tensor = shape + message(2, dtype.encode()) + message(3, bytes(size))
        out += message(1, message(1, name.encode()) + message(2, tensor))
    return out


class FloatStorage:
    def __init__(self, key: str, count: int) -> None:
        self.key, self.count = key, count


class _Tensor:
    def __init__(self, storage: FloatStorage, shape: tuple[int, ...]) -> None:
        self.storage, self.shape = storage, shape

    def __reduce__(self) -> tuple[Any, ...]:
        rebuild = sys.modules["torch._utils"]._rebuild_tensor_v2
        return rebuild, (self.storage, 0, self.shape, (1,) * len(self.shape), False, OrderedDict())


@contextmanager
def _pretended_torch() -> Iterator[None]:
    """So that the pickler finds what it names; nothing of it is there when the pickle is read."""
    torch, inner = types.ModuleType("torch"), types.ModuleType("torch._utils")

    def rebuild(*_: object) -> None:
        raise AssertionError("a preview called what a pickle names")

    rebuild.__module__, rebuild.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
    inner._rebuild_tensor_v2 = rebuild  # type: ignore[attr-defined]
    torch.FloatStorage = FloatStorage  # type: ignore[attr-defined]
    before = FloatStorage.__module__
    FloatStorage.__module__ = "torch"
    sys.modules.update({"torch": torch, "torch._utils": inner})
    try:
        yield
    finally:
        FloatStorage.__module__ = before
        del sys.modules["torch"], sys.modules["torch._utils"]


def _with_tensors(value: object) -> object:
    if isinstance(value, Shape):
        return _Tensor(FloatStorage("0", prod(value.shape)), value.shape)
    if isinstance(value, dict):
        return type(value)((key, _with_tensors(child)) for key, child in value.items())
    if isinstance(value, list):
        return [_with_tensors(child) for child in value]
    return value


class Shape:
    """Stands for a tensor of this shape."""

    def __init__(self, *shape: int) -> None:
        self.shape = shape


def torch_pickle(content: object, protocol: int = 2) -> bytes:
    out = io.BytesIO()

    class Pickler(pickle.Pickler):
        def persistent_id(self, value: object) -> object:
            if isinstance(value, FloatStorage):
                return ("storage", FloatStorage, value.key, "cpu", value.count)
            return None

    with _pretended_torch():
        Pickler(out, protocol).dump(_with_tensors(content))
    return out.getvalue()


def torch_zip(content: object, protocol: int = 2, *, more_bytes: int = 100) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("archive/data.pkl", torch_pickle(content, protocol))
        archive.writestr("archive/data/0", bytes(more_bytes))
        archive.writestr("archive/version", "3\n")
    return out.getvalue()


def torch_old(content: object) -> bytes:
    parts = [0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}]
    before = b"".join(pickle.dumps(part, 2) for part in parts)
    return before + torch_pickle(content) + pickle.dumps(["0"], 2) + bytes(500)


def zipped(members: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in members.items():
            # Of a fixed day: each worker makes the archive anew, and the name of a case may tell its bytes.
            archive.writestr(zipfile.ZipInfo(name, (2023, 11, 14, 22, 13, 20)), content, method)
    return out.getvalue()


def tarred(members: Mapping[str, bytes], mode: str = "w", form: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode, format=form) as archive:  # type: ignore[call-overload]
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(content), 1_700_000_000
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def png(width: int, height: int) -> bytes:
    """Only the header; nobody draws it."""
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\x08\x02\0\0\0" + bytes(60)
