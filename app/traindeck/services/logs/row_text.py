"""What is to be seen of a row of a log: its words, without control sequences, and how they are coloured."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from traindeck.domain.readings.encodings import UTF_8

_SEQUENCES = (
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n\r]*(?:\x07|\x1b\\)|[PX^_][^\x1b\n\r]*\x1b\\|[ -/]+[0-~]"
    r"|[@-OQ-WYZ\\0-?`-~])"
)
_MOST_DIGITS = 6
_SEQUENCE = re.compile(_SEQUENCES)
_SEQUENCE_BYTES = re.compile(_SEQUENCES.encode())
# Qt begins a new line at U+2028 and U+2029.
_UNSEEN: dict[int, str | None] = {0x2028: " ", 0x2029: " "}
_UNSEEN |= dict.fromkeys((*range(0x09), *range(0x0A, 0x20), 0x7F, *range(0x80, 0xA0)))
_UNSEEN_BYTES = bytes((*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x20), 0x7F))
_SEEN_LEAST = 0x20
_MOST_SPANS = 2000
_TRUE_COLOUR = 1 << 24


@dataclass(frozen=True, slots=True)
class Style:
    """A colour is one of the 256 of a terminal, or 1 << 24 and red, green, blue."""

    fore: int | None = None
    back: int | None = None
    is_bold: bool = False
    is_dim: bool = False
    is_italic: bool = False
    is_underlined: bool = False
    is_inverse: bool = False


PLAIN = Style()


@dataclass(frozen=True, slots=True)
class Span:
    begin: int
    end: int
    style: Style


def shown(data: bytes, encoding: str = UTF_8) -> tuple[str, tuple[Span, ...]]:
    """The words of one row; of a progress bar that was drawn again and again, how it was last."""
    body = data.rstrip(b"\r\n")
    words = body[body.rfind(b"\r") + 1 :].decode(encoding, "replace")
    if words.isprintable():
        return words, ()
    spans: list[Span] = []
    pieces: list[str] = []
    length = begin = at = 0
    style = PLAIN
    for found in _SEQUENCE.finditer(words):
        piece = words[at : found.start()].translate(_UNSEEN)
        pieces.append(piece)
        length, at = length + len(piece), found.end()
        if found[0][-1] != "m" or found[0][1] != "[":
            continue
        after = styled(style, found[0][2:-1])
        if after != style:
            if style != PLAIN and length > begin and len(spans) < _MOST_SPANS:
                spans.append(Span(begin, length, style))
            begin, style = length, after
    pieces.append(words[at:].translate(_UNSEEN))
    text = "".join(pieces)
    if style != PLAIN and len(text) > begin:
        spans.append(Span(begin, len(text), style))
    return text, tuple(spans)


def styled(style: Style, parameters: str) -> Style:
    """After a sequence with these parameters; what is not known changes nothing."""
    try:
        codes = [
            int(part[-_MOST_DIGITS:] or 0) for part in parameters.replace(":2::", ":2:").replace(":", ";").split(";")
        ]
    except ValueError:
        return style
    at = 0
    while at < len(codes):
        code, at = codes[at], at + 1
        if code == 0:
            style = PLAIN
        elif code in _SWITCHES:
            style = replace(style, **_SWITCHES[code])
        elif 30 <= code <= 37 or 90 <= code <= 97:
            style = replace(style, fore=code - 30 if code < 40 else code - 82)
        elif 40 <= code <= 47 or 100 <= code <= 107:
            style = replace(style, back=code - 40 if code < 50 else code - 92)
        elif code in (38, 48):
            colour, at = _extended(codes, at)
            if colour is not None:
                style = replace(style, fore=colour) if code == 38 else replace(style, back=colour)
    return style


_SWITCHES: dict[int, dict[str, Any]] = {
    1: {"is_bold": True}, 2: {"is_dim": True}, 3: {"is_italic": True}, 4: {"is_underlined": True},
    7: {"is_inverse": True}, 22: {"is_bold": False, "is_dim": False}, 23: {"is_italic": False},
    24: {"is_underlined": False}, 27: {"is_inverse": False}, 39: {"fore": None}, 49: {"back": None},
}  # fmt: skip


def _extended(codes: list[int], at: int) -> tuple[int | None, int]:
    """The colour behind 38 or 48, and where the codes go on."""
    match codes[at : at + 1]:
        case [5]:
            chosen = codes[at + 1 : at + 2]
            return (chosen[0] if chosen and chosen[0] < 256 else None), at + 2
        case [2]:
            parts = codes[at + 1 : at + 4]
            if len(parts) == 3 and all(part < 256 for part in parts):
                return _TRUE_COLOUR | parts[0] << 16 | parts[1] << 8 | parts[2], at + 4
            return None, at + 4
    return None, len(codes)


def searched(data: bytes, encoding: str, *, is_plain: bool) -> bytes:
    """Whole lines as they are looked through: in UTF-8, without control sequences, with their line ends.

    `is_plain`: no control character but line ends is in it.
    """
    if encoding != UTF_8:
        data = data.decode(encoding, "replace").encode()
    if not is_plain:
        if b"\x1b" in data:
            data = _SEQUENCE_BYTES.sub(b"", data)
        data = data.translate(None, _UNSEEN_BYTES)
    return data
