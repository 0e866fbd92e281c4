"""Text: which encoding it is in, and pages of it."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from traindeck.domain.previews import TextPage
from traindeck.domain.texts import Text, text
from traindeck.services.previews.steps import PAGE_BYTES, Source, Steps

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins as that of UTF-16 does
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MOST_SHOWN = 16 << 20
_LONGEST_LINE = 4000
_TOO_LONG = re.compile(rf"[^\n]{{{_LONGEST_LINE}}}(?=[^\n])")
# A log may ring the bell, move back over what it printed, and colour its words.
_NO_TEXT = re.compile("[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f]")
_UNSHOWN = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f]")
_HIGH_CONTROLS = re.compile("[\x80-\x9f]")


@dataclass(frozen=True, slots=True)
class Encoding:
    """How letters became bytes; `mark` are the bytes before the first letter."""

    name: str
    mark: bytes = b""

    @property
    def title(self) -> str:
        """As people write it."""
        title = {"iso-8859-1": "ISO 8859-1", "gb18030": "GB18030"}.get(self.name, self.name.upper())
        return f"{title} BOM" if self.mark else title


def encoding_of(head: bytes, *, is_whole: bool) -> Encoding | None:
    """What the beginning of a text is in; None: it is no text."""
    for mark, name in _MARKS:
        if head.startswith(mark) and _decoded(head[len(mark) :], name, is_whole) is not None:
            return Encoding(name, mark)
    for name in ("utf-8", *_unmarked_utf_16(head), "gb18030", "iso-8859-1"):
        words = _decoded(head, name, is_whole)
        if words is not None and not _NO_TEXT.search(words):
            if name == "iso-8859-1" and _HIGH_CONTROLS.search(words):
                return None
            return Encoding(name)
    return None


def text_steps(source: Source, encoding: Encoding) -> Steps:
    decoder = codecs.getincrementaldecoder(encoding.name)("replace")
    offset = len(encoding.mark)
    is_first = True
    while is_first or offset < _MOST_SHOWN:
        content = yield from source.take(offset, PAGE_BYTES)
        offset += len(content)
        size = source.size_bytes
        has_more = len(content) == PAGE_BYTES and (size is None or offset < size)
        words = decoder.decode(content, final=not has_more)
        if not words and not is_first:
            return
        notes: tuple[Text, ...] = ()
        if has_more and offset >= _MOST_SHOWN:
            has_more = False
            notes = (text("Only the beginning is shown; download it to see all of it."),)
        yield TextPage(shown(words), encoding.title, has_more=has_more, notes=notes)
        if not has_more:
            return
        is_first = False


def shown(words: str) -> str:
    """For the screen: lines that are not too long for it, and a sign for what cannot be drawn."""
    words = words.replace("\r\n", "\n").replace("\r", "\n")
    return _TOO_LONG.sub("\\g<0>\n", _UNSHOWN.sub("�", words))


def _unmarked_utf_16(head: bytes) -> tuple[str, ...]:
    """Half of the bytes of Latin letters are zero."""
    pairs = len(head) // 2
    if pairs == 0 or len(head) % 2:
        return ()
    even, odd = head[::2].count(0), head[1::2].count(0)
    if odd * 3 > pairs and even * 20 < pairs:
        return ("utf-16-le",)
    if even * 3 > pairs and odd * 20 < pairs:
        return ("utf-16-be",)
    return ()


def _decoded(content: bytes, name: str, is_whole: bool) -> str | None:
    """A letter may be cut in two at the end of what was read."""
    try:
        return codecs.getincrementaldecoder(name)("strict").decode(content, final=is_whole)
    except UnicodeDecodeError:
        return None
