"""What the bytes of a log are written in: UTF-8, or GBK where a Chinese system wrote them."""

from __future__ import annotations

UTF_8, GBK = "utf-8", "gb18030"
_BROKEN = "\ufffd"


def encoding_of(sample: bytes) -> str | None:
    """GBK where it is no UTF-8 and reads as Chinese; None: nothing in it tells."""
    if sample.isascii():
        return None
    broken, whole = _counted(sample.decode(UTF_8, "replace"))
    if broken <= whole:
        return UTF_8
    words = sample.decode(GBK, "replace")
    broken, whole = _counted(words)
    usual = sum(map(_is_usual, words))
    return GBK if broken * 10 <= whole and usual - broken >= 0.9 * whole else UTF_8


def words_of(line: bytes) -> str:
    """One line: several programs may write into one log, each in its own encoding."""
    words = line.decode(UTF_8, "replace")
    return line.decode(GBK, "replace") if _BROKEN in words and encoding_of(line) == GBK else words


def _is_usual(sign: str) -> bool:
    """In Chinese text: its characters, its punctuation, quotation marks, dashes and dots, wide letters."""
    return (
        "\u4e00" <= sign <= "\u9fff" or "\u3000" <= sign <= "\u303f" or "\u2010" <= sign <= "\u2026" or sign >= "\uff00"
    )


def _counted(words: str) -> tuple[int, int]:
    """Signs that could not be read, and others beyond ASCII that could."""
    broken = words.count(_BROKEN)
    return broken, sum(sign > "\x7f" for sign in words) - broken
