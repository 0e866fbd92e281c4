"""NumPy's .npy: the header, and the first values."""

from __future__ import annotations

import ast
import json
import re
import struct
from dataclasses import dataclass
from itertools import accumulate
from math import prod

from traindeck.domain.previews import Fact, Tensor, TensorsPage, shape_words
from traindeck.domain.texts import Text, text
from traindeck.services.previews.steps import ByteSource, Reading, Steps, damaged, need, plain, too_much

MAGIC = b"\x93NUMPY"
_LONGEST_HEADER = 64 * 1024
_MOST_VALUES = 256
_DEEPEST = 20
_SIMPLE = re.compile(r"([<>|=]?)([a-zA-Z])(\d*)(\[[\w]+\])?")
_CODES = {
    ("i", 1): "b", ("i", 2): "h", ("i", 4): "i", ("i", 8): "q",
    ("u", 1): "B", ("u", 2): "H", ("u", 4): "I", ("u", 8): "Q",
    ("f", 2): "e", ("f", 4): "f", ("f", 8): "d", ("b", 1): "?",
}  # fmt: skip
_C, _FORTRAN = text("C (row-major)"), text("Fortran (column-major)")
_KINDS = {"i": "int", "u": "uint", "f": "float", "c": "complex"}


@dataclass(frozen=True, slots=True)
class Header:
    """What an .npy file says of itself."""

    dtype: str
    shape: tuple[int, ...]
    is_fortran: bool
    item_bytes: int | None
    """None: the items have no size of their own, or one that is not worked out here."""
    start: int
    """Where the values begin."""
    order: str = ""
    kind: str = ""

    @property
    def size_bytes(self) -> int | None:
        return None if self.item_bytes is None else prod(self.shape) * self.item_bytes


def read_header(source: ByteSource) -> Reading[Header]:
    begin = yield from need(source, 0, 10, 512)
    if not begin.startswith(MAGIC):
        raise damaged("no NumPy header")
    if begin[6] == 1:
        length, start = struct.unpack("<H", begin[8:10])[0], 10
    elif begin[6] in (2, 3):
        length, start = struct.unpack("<I", (yield from need(source, 8, 4)))[0], 12
    else:
        raise damaged(f"NumPy format {begin[6]}")
    if length > _LONGEST_HEADER:
        raise damaged(f"a header of {length} bytes")
    words = (yield from need(source, start, length)).decode("utf-8" if begin[6] == 3 else "latin-1", "replace")
    return _header(words, start + length)


def npy_steps(source: ByteSource) -> Steps:
    header = yield from read_header(source)
    sample = yield from _sample(source, header)
    facts = (
        Fact(text("Shape"), shape_words(header.shape)),
        Fact(text("Data type"), header.dtype),
        Fact(text("Order"), _FORTRAN if header.is_fortran else _C),
        Fact(text("Elements"), f"{prod(header.shape):,}"),
    )
    tensor = Tensor("", header.dtype, header.shape, header.size_bytes)
    notes = _notes(source, header.start + (header.size_bytes or 0))
    yield TensorsPage(text("NumPy array"), facts, (tensor,), sample, notes=notes)


def _notes(source: ByteSource, end: int) -> tuple[Text, ...]:
    if source.size_bytes is None or end <= source.size_bytes:
        return ()
    return (text("The file is incomplete: its header declares more values than it contains."),)


def _header(words: str, start: int) -> Header:
    if words.count("(") + words.count("[") + words.count("{") > 10_000 or _depth(words) > _DEEPEST:
        raise damaged("a header too deep to be one")
    try:
        found = ast.literal_eval(words.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise damaged("the header is no dictionary") from error
    if not isinstance(found, dict):
        raise damaged("the header is no dictionary")
    shape, descr = found.get("shape"), found.get("descr")
    if not isinstance(shape, tuple) or not all(type(length) is int and 0 <= length < 1 << 63 for length in shape):
        raise damaged("no shape")
    is_fortran = found.get("fortran_order") is True
    if not isinstance(descr, str):
        return Header(_fields(descr), shape, is_fortran, None, start)
    match = _SIMPLE.fullmatch(descr)
    if match is None:
        raise damaged("no type of values")
    order, kind, width, unit = match.groups(default="")
    width_bytes = int(width[:9] or 0)
    item_bytes = {"O": None, "U": 4 * width_bytes}.get(kind, width_bytes)
    return Header(_title(kind, width_bytes, unit), shape, is_fortran, item_bytes, start, order, kind)


def _depth(words: str) -> int:
    return max(accumulate((letter in "([{") - (letter in ")]}") for letter in words), default=0)


def _title(kind: str, width_bytes: int, unit: str) -> str:
    if kind in _KINDS:
        return f"{_KINDS[kind]}{8 * width_bytes}"
    titles = {"b": "bool", "O": "object", "M": f"datetime64{unit}", "m": f"timedelta64{unit}"}
    return titles.get(kind, f"{'str' if kind == 'U' else 'bytes' if kind in 'Sa' else 'void'}{width_bytes or ''}")


def _fields(descr: object) -> str:
    """Records: the names of their fields with their types."""
    if not isinstance(descr, list):
        raise damaged("no type of values")
    fields = []
    for field in descr[:100]:
        if not isinstance(field, tuple) or len(field) < 2:
            raise damaged("no type of values")
        name = field[0] if isinstance(field[0], str) else str(field[0])[:50]
        simple = _SIMPLE.fullmatch(field[1]) if isinstance(field[1], str) else None
        kind = _title(simple[2], int(simple[3][:9] or 0), simple[4] or "") if simple else "…"
        fields.append(f"{plain(name)}: {kind}")
    return "{" + ", ".join(fields) + "}"


def _sample(source: ByteSource, header: Header) -> Reading[str]:
    """The first values as they lie in the file."""
    if not header.item_bytes or header.item_bytes > 4096:
        return ""
    count = min(_MOST_VALUES, prod(header.shape))
    content = yield from source.take(header.start, count * header.item_bytes)
    count = min(count, len(content) // header.item_bytes)
    content = content[: count * header.item_bytes]
    big = ">" if header.order == ">" else "<"
    if code := _CODES.get((header.kind, header.item_bytes)):
        return ", ".join(_number(value) for value in struct.unpack(f"{big}{count}{code}", content))
    if header.kind == "c" and header.item_bytes in (8, 16):
        flat = struct.unpack(f"{big}{2 * count}{'f' if header.item_bytes == 8 else 'd'}", content)
        pairs = zip(flat[::2], flat[1::2], strict=True)
        return ", ".join(f"{_number(real)}{imaginary:+g}j" for real, imaginary in pairs)
    items = [content[at : at + header.item_bytes] for at in range(0, len(content), header.item_bytes)]
    if header.kind == "U":
        return ", ".join(_quoted(item.decode("utf-32-be" if big == ">" else "utf-32-le", "replace")) for item in items)
    if header.kind in ("S", "a"):
        return ", ".join(_quoted(item.decode("utf-8", "replace")) for item in items)
    return ""


def _number(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _quoted(words: str) -> str:
    return f"“{plain(words.rstrip(chr(0)))}”"


_LONGEST_SAFETENSORS_HEADER = 16 << 20
_BREATH = 500
_MOST_FACTS = 40
_MOST_TENSORS = 100_000
_BLANKS = " \t\r\n"


def is_safetensors(head: bytes, size_bytes: int) -> bool:
    if len(head) < 10:
        return False
    length = struct.unpack_from("<Q", head)[0]
    return head[8:9] == b"{" and 2 <= length <= size_bytes - 8 and head[9:10] in b'"} \t\r\n'


def safetensors_steps(source: ByteSource) -> Steps:
    length = struct.unpack("<Q", (yield from need(source, 0, 8, 64 * 1024)))[0]
    if source.size_bytes is not None and length > source.size_bytes - 8:
        raise damaged(f"a header of {length} bytes")
    if length > _LONGEST_SAFETENSORS_HEADER:
        raise too_much(text("Its table of contents is too long to be shown."))
    header = (yield from need(source, 8, length)).decode("utf-8", "replace")
    facts: list[Fact] = []
    tensors: list[Tensor] = []
    end = 0
    for number, (name, value) in enumerate((yield from _pairs(header))):
        if number % _BREATH == _BREATH - 1:
            yield None
        if name == "__metadata__":
            facts += _metadata(value)
        elif len(tensors) < _MOST_TENSORS:
            tensor, last = _tensor(name, value)
            tensors.append(tensor)
            end = max(end, last)
    notes = _notes(source, 8 + length + end)
    yield TensorsPage(text("safetensors checkpoint"), tuple(facts), tuple(tensors), notes=notes)


def _pairs(header: str) -> Reading[list[tuple[str, object]]]:
    """Members of the one object, decoded one by one: a long header at one go would hold everything else up."""
    decode = json.JSONDecoder().raw_decode
    found: list[tuple[str, object]] = []
    try:
        at = _next(header, header.index("{") + 1)
        while header[at] != "}":
            key, at = decode(header, at)
            at = _next(header, at)
            if header[at] != ":" or not isinstance(key, str):
                raise damaged("the header is no JSON")
            value, at = decode(header, _next(header, at + 1))
            found.append((key, value))
            at = _next(header, at)
            if header[at] == ",":
                at = _next(header, at + 1)
            if len(found) % _BREATH == 0:
                yield None
    except (ValueError, IndexError, RecursionError) as error:
        raise damaged("the header is no JSON") from error
    return found


def _next(words: str, at: int) -> int:
    while words[at] in _BLANKS:
        at += 1
    return at


def _metadata(value: object) -> list[Fact]:
    if not isinstance(value, dict):
        return []
    pairs = list(value.items())[:_MOST_FACTS]
    return [Fact(plain(str(key))[:80], plain(str(word))[:200]) for key, word in pairs]


def _tensor(name: str, value: object) -> tuple[Tensor, int]:
    if not isinstance(value, dict):
        raise damaged("a tensor without description")
    shape, places, dtype = _numbers(value.get("shape")), _numbers(value.get("data_offsets")), value.get("dtype")
    if shape is None or places is None or len(places) != 2 or places[0] > places[1]:
        raise damaged("a tensor without shape or place")
    title = dtype if isinstance(dtype, str) else "?"
    return Tensor(plain(name), plain(title)[:20], tuple(shape), places[1] - places[0]), places[1]


def _numbers(found: object) -> list[int] | None:
    if isinstance(found, list) and all(type(number) is int and 0 <= number < 1 << 63 for number in found):
        return found
    return None
