"""How large an object and its parts may be, and which files the service cannot take."""

from __future__ import annotations

import unicodedata

from traindeck.domain.errors import AppError, InvalidInput
from traindeck.domain.storage.objects import MAX_KEY_BYTES, size_words
from traindeck.domain.texts import count_text, text

_MEBIBYTE = 1024 * 1024
_GIBIBYTE = 1024 * _MEBIBYTE

# Above this a lost connection should not cost the whole file; the service would take 5 GB at once.
SINGLE_PUT_BYTES = 64 * _MEBIBYTE
PART_BYTES = 16 * _MEBIBYTE
MOST_PART_BYTES = 5 * _GIBIBYTE
LEAST_PART_BYTES = 100 * 1024  # but for the last
MOST_PARTS = 10_000
MOST_OBJECT_BYTES = MOST_PARTS * MOST_PART_BYTES
# The rest is room for files near the largest size.
_USUAL_PARTS = 9_000
# Below this a request costs more than its bytes.
SMALL_BYTES = 128 * 1024


def part_bytes(size_bytes: int) -> int:
    """At least 16 MiB, whole MiB, and never more parts than the service takes."""
    needed = -(-size_bytes // _USUAL_PARTS)
    return min(MOST_PART_BYTES, max(PART_BYTES, -(-needed // _MEBIBYTE) * _MEBIBYTE))


def part_count(size_bytes: int, part_size: int) -> int:
    return -(-size_bytes // part_size)


def too_many_parts(key: str, size_bytes: int, part_size: int) -> AppError | None:
    """Why a file of this size cannot go in parts of a size that was asked for; None: it can."""
    if not part_size or part_count(size_bytes, part_size) <= MOST_PARTS:
        return None
    least = -(-size_bytes // MOST_PARTS // _MEBIBYTE) * _MEBIBYTE + _MEBIBYTE
    return InvalidInput(
        count_text(
            "“{file}” would have {count} part, but an object has at most {most}.",
            "“{file}” would have {count} parts, but an object has at most {most}.",
            part_count(size_bytes, part_size), file=key, most=f"{MOST_PARTS:,}",
        ),
        text("Specify a larger part size, for example {size} MiB, or none.", size=least // _MEBIBYTE),
    )  # fmt: skip


def refusal(key: str, size_bytes: int) -> AppError | None:
    """Why the service, or other tools on it, could not take this; None: they can."""
    # Nearly all names are short and plain, and there may be a million of them.
    if len(key) * 4 <= MAX_KEY_BYTES and key.isprintable() and "\\" not in key and size_bytes <= MOST_OBJECT_BYTES:
        return None
    shown = key.encode(errors="backslashreplace").decode()
    try:
        length = len(key.encode())
    except UnicodeEncodeError as error:
        return InvalidInput(
            text("The name of “{file}” is not UTF-8 and cannot be stored in OBS.", file=shown),
            text("Rename the file."),
            str(error),
        )
    if length > MAX_KEY_BYTES:
        return InvalidInput(
            text("The name “{file}” would be longer than 1,024 bytes in the bucket.", file=shown),
            text("Use shorter folder and file names."),
        )
    if "\\" in key or any(unicodedata.category(letter) == "Cc" for letter in key):
        return InvalidInput(
            text("The name “{file}” contains a backslash or a control character.", file=ascii(shown)[1:-1]),
            text("Rename the file; other programs could not read such a name."),
        )
    if size_bytes > MOST_OBJECT_BYTES:
        return InvalidInput(
            text("“{file}” is larger than the service accepts: {size}.", file=shown, size=size_words(size_bytes)),
            text("Split it into parts of less than 48 TB."),
        )
    return None
