"""safetensors: a length, a JSON header, and the numbers."""

from __future__ import annotations

import json
import struct

from traindeck.domain.previews import Fact, NotShown, Tensor, TensorsPage
from traindeck.domain.texts import Text, text
from traindeck.services.previews.steps import Reading, Source, Steps, damaged, need, plain

_LONGEST_HEADER = 16 << 20
_BREATH = 500
_MOST_FACTS = 40
_MOST_TENSORS = 100_000
_BLANKS = " \t\r\n"


def is_safetensors(head: bytes, size_bytes: int) -> bool:
    if len(head) < 10:
        return False
    length = struct.unpack_from("<Q", head)[0]
    return head[8:9] == b"{" and 2 <= length <= size_bytes - 8 and head[9:10] in b'"} \t\r\n'


def safetensors_steps(source: Source) -> Steps:
    length = struct.unpack("<Q", (yield from need(source, 0, 8, 64 * 1024)))[0]
    if source.size_bytes is not None and length > source.size_bytes - 8:
        raise damaged(f"a header of {length} bytes")
    if length > _LONGEST_HEADER:
        raise NotShown(
            text("The list of what is in it is too long to be shown."), text("Download it to look at all of it.")
        )
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
    notes: tuple[Text, ...] = ()
    if source.size_bytes is not None and 8 + length + end > source.size_bytes:
        notes = (text("The file is cut off: its header promises more values than there are."),)
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
