"""The first letters of Chinese words, as people type them to find something: “cxyx” for 重新运行."""

from __future__ import annotations

import codecs
from bisect import bisect_right
from functools import lru_cache
from itertools import product

# The first level of GB 2312, which holds the 3,755 common characters, is in the order of their sounds. These are the
# codes with which each first letter begins; what is behind the last of them is in the order of its strokes.
_LETTERS = "abcdefghjklmnopqrstwxyz"
_BEGINS = (
    0xB0A1, 0xB0C5, 0xB2C1, 0xB4EE, 0xB6EA, 0xB7A2, 0xB8C1, 0xB9FE, 0xBBF7, 0xBFA6, 0xC0AC, 0xC2E8,
    0xC4C3, 0xC5B6, 0xC5BE, 0xC6DA, 0xC8BB, 0xC8F6, 0xCBFA, 0xCDDA, 0xCEF4, 0xD1B9, 0xD4D1,
)  # fmt: skip
_END = 0xD7FA
# Those of our words that sound in two ways, and those that are not among the common ones.
_OTHERS = {
    "重": "cz", "行": "xh", "长": "cz", "传": "cz", "参": "cs", "会": "hk", "校": "xj", "率": "ls", "调": "td",
    "系": "xj", "降": "jx", "藏": "cz", "浏": "l", "昇": "s",
    "罄": "q",
}  # fmt: skip
_MOST = 8
_encode = codecs.lookup("gb2312").encode  # found now: at the first word it would be looked for on the disk


@lru_cache(maxsize=4096)
def initials(words: str) -> tuple[str, ...]:
    """The letters and digits of `words`, with the first letter of its sound for each Chinese character.

    Several where a character sounds in two ways.
    """
    sounds = [sound for letter in words if (sound := _sound(letter))]
    found = []
    for letters in product(*sounds):
        found.append("".join(letters))
        if len(found) == _MOST:
            break
    return tuple(found)


def _sound(letter: str) -> str:
    if letter in _OTHERS:
        return _OTHERS[letter]
    if letter.isascii():
        return letter.lower() if letter.isalnum() else ""
    try:
        code = int.from_bytes(_encode(letter)[0])
    except UnicodeEncodeError:
        return ""
    return _LETTERS[bisect_right(_BEGINS, code) - 1] if _BEGINS[0] <= code < _END else ""
