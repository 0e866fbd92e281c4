"""What the bytes of a log are written in: UTF-8, or GBK where a Chinese system wrote them."""

from __future__ import annotations

import re

UTF_8, GBK = "utf-8", "gb18030"
_BROKEN = "\ufffd"
# In Chinese text: its characters, its punctuation, quotation marks, dashes and dots, wide letters.
_USUAL = re.compile("[\u4e00-\u9fff\u3000-\u303f\u2010-\u2026\uff00-\U0010ffff]+")


def encoding_of(sample: bytes) -> str | None:
    """GBK where it is no UTF-8 and reads as Chinese; None: nothing in it tells."""
    if sample.isascii():
        return None
    broken, whole = _counted(sample.decode(UTF_8, "replace"))
    if broken <= whole:
        return UTF_8
    words = sample.decode(GBK, "replace")
    broken, whole = _counted(words)
    usual = len(words) - len(_USUAL.sub("", words))
    return GBK if broken * 10 <= whole and usual - broken >= 0.9 * whole else UTF_8


def words_of(line: bytes) -> str:
    """One line: several programs may write into one log, each in its own encoding."""
    words = line.decode(UTF_8, "replace")
    return line.decode(GBK, "replace") if _BROKEN in words and encoding_of(line) == GBK else words


def _counted(words: str) -> tuple[int, int]:
    """Signs that could not be read, and others beyond ASCII that could."""
    broken = words.count(_BROKEN)
    return broken, len(words) - len(words.encode("ascii", "ignore")) - broken
