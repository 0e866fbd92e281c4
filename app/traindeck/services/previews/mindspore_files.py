"""MindSpore checkpoints: protobuf messages, read from the wire; the numbers themselves are stepped over."""

from __future__ import annotations

from dataclasses import dataclass, field

from traindeck.domain.previews import Tensor, TensorsPage
from traindeck.domain.texts import text
from traindeck.services.previews.steps import (
    ByteSource,
    Enough,
    Reading,
    Steps,
    cut_off,
    damaged,
    need,
    plain,
)

# Kinds of fields; where fields are told apart below, 0 is a number, and 2 something that says how long it is.
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_LONGEST_WORDS = 4096
_MOST_DIMS = 64
_MOST_TENSORS = 100_000
_AHEAD = 4096
_TENSORS_A_PAGE = 1000
# Behind the last message some versions put a checksum.
_CHECKSUM = b"crc_num"


@dataclass(slots=True)
class _Value:
    """One parameter, or a slice of a large one: then the next has the same name."""

    name: str = ""
    dtype: str = ""
    dims: list[int] = field(default_factory=list)
    content_bytes: int = 0


def looks_like_checkpoint(head: bytes) -> bool:
    """A message in field 1 that begins with a name in its own field 1."""
    length, at = _varint_in(head, 1) if head[:1] == b"\x0a" else (0, 0)
    if not at or length < 4 or head[at : at + 1] != b"\x0a":
        return False
    name_bytes, at = _varint_in(head, at + 1)
    name = head[at : at + name_bytes]
    return bool(at) and 0 < name_bytes < length and len(name) == min(name_bytes, len(head) - at) and b"\0" not in name


def mindspore_steps(source: ByteSource) -> Steps:
    tensors: list[Tensor] = []
    last: _Value | None = None
    at, count = 0, 0
    what = text("MindSpore checkpoint")
    while True:
        try:
            value, at = yield from _value(source, at)
        except Enough:
            yield TensorsPage(what, (), tuple(tensors), has_more=True)
            tensors = []
            continue
        if last is not None and value is not None and value.name == last.name and value.dims == last.dims:
            last.content_bytes += value.content_bytes
            continue
        if last is not None:
            tensors.append(Tensor(last.name, last.dtype, tuple(last.dims), last.content_bytes))
            count += 1
        if value is None or count >= _MOST_TENSORS:
            break
        last = value
        if len(tensors) >= _TENSORS_A_PAGE:
            yield TensorsPage(what, (), tuple(tensors), has_more=True)
            tensors = []
    yield TensorsPage(what, (), tuple(tensors))


def _value(source: ByteSource, at: int) -> Reading[tuple[_Value | None, int]]:
    begin = yield from source.take(at, 20, _AHEAD)
    if not begin or begin.startswith(_CHECKSUM):
        return None, at
    number, wire, _, inside, end = yield from _field(source, at, begin)
    if (number, wire) != (1, _BYTES):
        raise damaged(f"field {number} of kind {wire} in a MindSpore checkpoint")
    value = _Value()
    yield from _read(source, inside, end, value, is_tensor=False)
    return value, end


def _read(source: ByteSource, at: int, end: int, value: _Value, *, is_tensor: bool) -> Reading[None]:
    """The message of a value, or that of the tensor in it."""
    while at < end:
        number, wire, length, start, at = yield from _field(source, at)
        if at > end:
            raise damaged("a message longer than the one around it")
        match is_tensor, number, wire:
            case False, 1, 2:
                value.name = plain((yield from _words(source, start, length)))
            case False, 2, 2:
                yield from _read(source, start, at, value, is_tensor=True)
            case True, 1, 0:
                _add_dim(value, length)
            case True, 1, 2:  # packed, as newer versions of protobuf write them
                content = yield from need(source, start, min(length, 10 * _MOST_DIMS))
                place = 0
                while place < len(content):
                    dim, place = _varint_in(content, place)
                    if not place:
                        raise damaged("a shape that is cut off")
                    _add_dim(value, dim)
            case True, 2, 2:
                value.dtype = plain((yield from _words(source, start, length)))
            case True, 3, 2:
                value.content_bytes += length


def _add_dim(value: _Value, dim: int) -> None:
    if len(value.dims) >= _MOST_DIMS or dim >= 1 << 63:
        raise damaged("a shape that is none")
    value.dims.append(dim)


def _field(source: ByteSource, at: int, known: bytes = b"") -> Reading[tuple[int, int, int, int, int]]:
    """Number and kind, a length or the number itself, where what follows begins, and where it ends."""
    head = known or (yield from source.take(at, 20, _AHEAD))
    tag, place = _varint_in(head, 0)
    number, wire, length = tag >> 3, tag & 7, 0
    if place and wire in (_VARINT, _BYTES):
        length, place = _varint_in(head, place)
    if not place:
        raise cut_off()
    if wire in (_FIXED64, _FIXED32):
        place += 8 if wire == _FIXED64 else 4
    elif wire not in (_VARINT, _BYTES):
        raise damaged(f"a field of kind {wire}")
    start = at + place
    end = start + length if wire == _BYTES else start
    if source.size_bytes is not None and end > source.size_bytes:
        raise cut_off()
    return number, wire, length, start, end


def _words(source: ByteSource, at: int, length: int) -> Reading[str]:
    return (yield from need(source, at, min(length, _LONGEST_WORDS))).decode("utf-8", "replace")


def _varint_in(content: bytes, at: int) -> tuple[int, int]:
    """The number there and the place behind it; place 0: there is none."""
    number = 0
    for position in range(at, min(at + 10, len(content))):
        byte = content[position]
        number |= (byte & 0x7F) << 7 * (position - at)
        if byte < 0x80:
            return number, position + 1
    return 0, 0
