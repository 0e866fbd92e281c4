"""One page of a listing, found by jumping through the ordered index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Generic, Protocol, TypeVar


class Entry(Protocol):
    """Something that has a key."""

    @property
    def key(self) -> str: ...


_E = TypeVar("_E", bound=Entry)
# Finding a place in the index costs as much as reading a few rows on.
WORTH_A_JUMP = 2
# From a start on (second value: beyond it), before the end.
Rows = Callable[[bytes, bool, bytes | None], Iterator[_E]]


@dataclass(frozen=True, slots=True)
class Listing(Generic[_E]):
    """Entries and folded prefixes, each in byte order, and where the next page goes on."""

    contents: list[_E]
    common_prefixes: list[str]
    is_truncated: bool
    next_marker: str


def page(
    rows: Rows[_E], prefix: bytes, marker: bytes, delimiter: bytes, max_keys: int, first: Sequence[_E] = ()
) -> Listing[_E]:
    """At most `max_keys` entries beyond `marker`, keys and common prefixes counted together; `first` come before."""
    if max_keys <= 0:
        return Listing([], [], False, "")
    contents: list[_E] = []
    prefixes: list[str] = []
    last = ""
    for entry in chain(first, _entries(rows, prefix, marker, delimiter)):
        if len(contents) + len(prefixes) == max_keys:
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


def _entries(rows: Rows[_E], prefix: bytes, marker: bytes, delimiter: bytes) -> Iterator[_E | bytes]:
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
