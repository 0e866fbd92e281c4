"""What an answer may be at most, on every way to a service: how large, how deep, how long in coming.

A server may be anybody's. Whoever shortens one of these, as tests do, does it here.
"""

from __future__ import annotations

CONNECT_S = 6.0
# Nothing at all came or went.
SILENCE_S = 30.0
# An answer that is kept is a page of a list at most; one that drips is none.
ANSWER_S = 120.0
# What is handed on may be as long as it likes, but in so much time so many bytes of it come, or go.
PACE_BYTES = 16 * 1024
LOOK_S = 1.0

HEAD_BYTES = 256 * 1024
HEADERS = 500
ANSWER_BYTES = 16 * 1024 * 1024

# A page of a thousand versions has some 25,000; each element that is read takes memory, and each level of them.
ELEMENTS = 200_000
LEVELS = 64
ATTRIBUTES = 20_000
# From one tag to the next; a key has 1,024 bytes at most, thrice that where it is encoded.
TAG_BYTES = 128 * 1024
# More than any service takes: 48.8 TB in OBS, 50 TB in S3.
OBJECT_BYTES = 64 * 1024**4
_MOST_DIGITS = 18
# A thousand million names; and whole pages without one, as where all was deleted.
PAGES = 1_000_000
EMPTY_PAGES = 200


def whole_number(words: str) -> int | None:
    """Return the number that a service writes in these digits, or None for anything else and for absurd ones."""
    return int(words) if words.isascii() and words.isdecimal() and len(words) <= _MOST_DIGITS else None
