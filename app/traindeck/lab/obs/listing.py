"""Pages of what has keys: by prefix and delimiter, with jumps over what is folded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Generic, Protocol, TypeVar

from traindeck.lab.obs.records import text_bytes


class Entry(Protocol):
    """Something that has a key."""

    @property
    def key(self) -> str: ...


_E = TypeVar("_E", bound=Entry)
# Finding a place in the index costs as much as reading a few rows on.
WORTH_A_JUMP = 2
# From a start on (second value: beyond it), before the end.
From = Callable[[bytes, bool, bytes | None], Iterator[_E]]
Choice = Callable[[list[_E]], list[_E]]


@dataclass(frozen=True, slots=True)
class Listing(Generic[_E]):
    """Entries and folded prefixes, each in byte order, and where the next page goes on."""

    contents: list[_E]
    common_prefixes: list[str]
    is_truncated: bool
    next_marker: str


def page(
    rows: From[_E], prefix: str, marker: str, delimiter: str, most: int, behind: Choice[_E] | None = None
) -> Listing[_E]:
    """At most `most` entries beyond `marker`, keys and common prefixes counted together.

    Where one key has several entries, `behind` chooses those of the marker's own key that the page before did not have.
    """
    begin, start, fold = map(text_bytes, (prefix, marker, delimiter))
    if most <= 0:
        return Listing([], [], False, "")
    of_marker = behind(list(rows(start, False, start + b"\x00"))) if behind and start.startswith(begin) else []
    contents: list[_E] = []
    prefixes: list[str] = []
    last = ""
    for entry in chain(of_marker, _entries(rows, begin, start, fold)):
        if len(contents) + len(prefixes) == most:
            return Listing(contents, prefixes, True, last)
        if isinstance(entry, bytes):
            last = entry.decode("utf-8")
            prefixes.append(last)
        else:
            last = entry.key
            contents.append(entry)
    return Listing(contents, prefixes, False, "")


def successor(prefix: bytes) -> bytes | None:
    """The first byte string after all that begin with `prefix`; None where the prefix is empty."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None


def _entries(rows: From[_E], prefix: bytes, marker: bytes, delimiter: bytes) -> Iterator[_E | bytes]:
    end = successor(prefix)
    start, after = (marker, True) if marker >= prefix else (prefix, False)
    if delimiter and _folded(marker, prefix, delimiter) == marker:
        # The page before ended with this very prefix: all below it was in it.
        beyond = successor(marker)
        if beyond is None:
            return
        start, after = beyond, False
    while end is None or start < end:
        common: bytes | None = None
        passed = 0
        for info in rows(start, after, end):
            if delimiter:
                key = info.key.encode("utf-8")
                if common is not None and key.startswith(common):
                    passed += 1
                    if passed == WORTH_A_JUMP:
                        break
                    continue
                common = _folded(key, prefix, delimiter)
                if common is not None:
                    passed = 0
                    yield common
                    continue
            yield info
        beyond = successor(common) if common is not None and passed == WORTH_A_JUMP else None
        if beyond is None:
            return
        start, after = beyond, False


def _folded(key: bytes, prefix: bytes, delimiter: bytes) -> bytes | None:
    if not key.startswith(prefix):
        return None
    at = key.find(delimiter, len(prefix))
    return None if at < 0 else key[: at + len(delimiter)]
