"""Numbers as clients write them: in ASCII digits, and not too many of those."""

from __future__ import annotations

MOST = 2**63 - 1


def whole_number(text: str, most: int = MOST) -> int | None:
    """The number, None where the text is none from zero to `most`."""
    # Python takes digits of every script, and fails on thousands of them.
    if not (text.isascii() and text.isdigit() and len(text) <= 19):
        return None
    value = int(text)
    return value if value <= most else None
