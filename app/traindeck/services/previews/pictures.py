"""Pictures: how large one is, before anybody tries to draw it."""

from __future__ import annotations

import struct

from traindeck.domain.previews import PicturePage
from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import text
from traindeck.services.previews.steps import ByteSource, Steps, damaged, need, too_much

MOST_BYTES = 20 * 1000 * 1000
MOST_PIXELS = 64_000_000
"""Four bytes each while it is drawn; Qt draws nothing above 256 MiB."""

_FORMATS = {
    b"\x89PNG\r\n\x1a\n": "PNG",
    b"\xff\xd8\xff": "JPEG",
    b"GIF87a": "GIF",
    b"GIF89a": "GIF",
    b"BM": "BMP",
}
_SMALLEST_BMP = 26
_START_OF_FRAME = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
_ALONE = {0x01, *range(0xD0, 0xD9)}


def format_of(head: bytes) -> str:
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WebP"
    found = next((name for magic, name in _FORMATS.items() if head.startswith(magic)), "")
    if found == "BMP" and (len(head) < _SMALLEST_BMP or head[14:18] not in _BMP_HEADERS or any(head[6:10])):
        return ""  # two letters are little to go by
    return found


_BMP_HEADERS = {struct.pack("<I", length) for length in (12, 40, 52, 56, 64, 108, 124)}


def picture_steps(source: ByteSource, form: str, head: bytes) -> Steps:
    size = source.size_bytes or 0
    if size > MOST_BYTES:
        raise too_much(
            text("The picture has {size}; those up to {most} are shown.", size=size_words(size),
                 most=size_words(MOST_BYTES))
        )  # fmt: skip
    width, height = dimensions(form, head)
    content = head if len(head) == size else b""
    if not width and not content:
        content = head + (yield from need(source, len(head), size - len(head)))
        width, height = dimensions(form, content)
    if width < 1 or height < 1:
        raise damaged("a picture without width or height")
    if width * height > MOST_PIXELS:
        raise too_much(
            text("The picture is {width} × {height}; drawing it would take too much memory.",
                 width=f"{width:,}", height=f"{height:,}")
        )  # fmt: skip
    if not content:
        content = head + (yield from need(source, len(head), size - len(head)))
    yield PicturePage(form, width, height, content)


def dimensions(form: str, content: bytes) -> tuple[int, int]:
    """Zero where they are not in these bytes."""
    try:
        match form:
            case "PNG":
                width, height = struct.unpack_from(">II", content, 16)
            case "GIF":
                width, height = struct.unpack_from("<HH", content, 6)
            case "BMP":
                is_old = content[14:18] == b"\x0c\0\0\0"
                width, height = struct.unpack_from("<HH" if is_old else "<ii", content, 18)
            case "WebP":
                width, height = _webp(content)
            case _:
                width, height = _jpeg(content)
    except (struct.error, IndexError):
        return 0, 0
    return abs(width), abs(height)


def _webp(content: bytes) -> tuple[int, int]:
    match content[12:16]:
        case b"VP8X":
            return 1 + int.from_bytes(content[24:27], "little"), 1 + int.from_bytes(content[27:30], "little")
        case b"VP8L":
            bits = struct.unpack_from("<I", content, 21)[0]
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case b"VP8 ":
            width, height = struct.unpack_from("<HH", content, 26)
            return width & 0x3FFF, height & 0x3FFF
        case _:
            return 0, 0


def _jpeg(content: bytes) -> tuple[int, int]:
    """From segment to segment up to the one that begins the frame."""
    at = 2
    while at + 4 <= len(content):
        if content[at] != 0xFF:
            return 0, 0
        marker = content[at + 1]
        if marker == 0xFF:
            at += 1
        elif marker in _ALONE:
            at += 2
        elif marker in _START_OF_FRAME:
            height, width = struct.unpack_from(">HH", content, at + 5)
            return width, height
        else:
            at += 2 + max(2, struct.unpack_from(">H", content, at + 2)[0])
    return 0, 0
