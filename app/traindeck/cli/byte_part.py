"""A part of an object, as it is typed: from one byte to another."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass

from traindeck.domain.errors import InvalidInput
from traindeck.domain.objects import ObjectPath
from traindeck.domain.texts import say, text

_RANGE = re.compile(r"(\d{0,18})-(\d{0,18})")


@dataclass(frozen=True, slots=True)
class Part:
    """Which bytes of an object; both ends belong to it. Without `first` these are the last ones, `last` of them."""

    first: int | None = 0
    last: int | None = None

    def within(self, path: ObjectPath, size_bytes: int) -> tuple[int, int]:
        """Where it begins in an object of this size, and how much it is."""
        if self.first is None:
            length = min(self.last or 0, size_bytes)
            return size_bytes - length, length
        if self.first and self.first >= size_bytes:
            raise InvalidInput(
                text("“{place}” has only {count} bytes.", place=str(path), count=f"{size_bytes:,}"),
                text("The first byte is number 0; choose a part that begins before the end."),
            )
        end = size_bytes if self.last is None else min(size_bytes, self.last + 1)
        return self.first, end - self.first


def part(value: str) -> Part:
    """`0-99`, `100-` or `-100`, as in a request for a range."""
    match = _RANGE.fullmatch(value.strip())
    if match is None or value.strip() == "-":
        raise argparse.ArgumentTypeError(say("give a part such as 0-99, 100- or -100"))
    first, last = (int(digits) if digits else None for digits in match.groups())
    if first is not None and last is not None and last < first:
        raise argparse.ArgumentTypeError(say("the end of the part is before its beginning"))
    return Part(first, last)
