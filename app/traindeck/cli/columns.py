"""How wide words are on a terminal, and how they are made to fit: below each other, cut, shortened, wrapped."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import zip_longest
from typing import TextIO
from unicodedata import category, combining, east_asian_width

from traindeck.domain.texts import printable

_LEAST_COLUMNS = 20
_LEAST_NAME = 12
_LEAST_CELL = 8


def room_of(stream: TextIO | None) -> int | None:
    """How many columns the terminal has behind a stream; None: it is a file or a pipe, and nothing is made to fit."""
    if stream is None or not stream.isatty():
        return None
    if (said := os.environ.get("COLUMNS", "")).isdecimal() and int(said):
        return max(_LEAST_COLUMNS, int(said))
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return None
    return max(_LEAST_COLUMNS, columns) if columns else None


def width(words: str) -> int:
    """How many columns of a terminal these words take; Chinese characters take two."""
    return sum(_columns(character) for character in words)


def _columns(character: str) -> int:
    if combining(character) or category(character) in ("Cf", "Mn", "Me"):
        return 0
    return 2 if east_asian_width(character) in ("W", "F") else 1


def cut(words: str, columns: int) -> str:
    """As much of the words as fits, with a sign where something was left out."""
    if width(words) <= columns:
        return words
    return _beginning(words, columns - 1) + "…" if columns > 0 else ""


def shortened(name: str, columns: int) -> str:
    """Both ends of a name: the one says where it is, the other what it is."""
    if width(name) <= columns:
        return name
    if columns < 3:
        return cut(name, columns)
    end = _beginning(name[::-1], columns // 2)[::-1]
    return f"{_beginning(name, columns - 1 - width(end))}…{end}"


def _beginning(words: str, columns: int) -> str:
    for at, character in enumerate(words):
        columns -= _columns(character)
        if columns < 0:
            return words[:at]
    return words


def wrapped(words: str, columns: int) -> list[str]:
    """Broken between words, beside a wide character, and inside of a word where nothing else helps."""
    lines: list[str] = []
    rest = words
    while width(rest) > columns:
        line = _beginning(rest, columns)
        at = len(line)
        if rest[at] != " " and not (_is_wide(rest[at]) or _is_wide(rest[at - 1])):
            blank = line.rfind(" ")
            wide = next((place + 1 for place in range(at - 1, -1, -1) if _is_wide(line[place])), 0)
            at = max(blank + 1, wide) if line[: max(blank, wide, 0)].strip() else at
        lines.append(rest[:at].rstrip(" "))
        rest = rest[at:].lstrip(" ")
    return [*lines, rest] if rest or not lines else lines


def _is_wide(character: str) -> bool:
    return _columns(character) == 2


def with_name(before: str, name: str, after: str, columns: int) -> list[str]:
    """A line about something with a name, which is what is shortened."""
    room = columns - width(before) - width(after)
    if room >= min(width(name), _LEAST_NAME):
        return [f"{before}{shortened(name, room)}{after}"]
    return wrapped(f"{before}{shortened(name, max(_LEAST_NAME, columns - width(before)))}{after}", columns)


def aligned(
    rows: Sequence[Sequence[str]],
    right: frozenset[int] = frozenset(),
    least: Sequence[int] = (),
    columns: int | None = None,
    firm: frozenset[int] = frozenset(),
) -> list[str]:
    """Rows as lines whose columns stand below each other, the first of them `least` wide; all in so many columns.

    `right` stand at the right; they and the `firm` ones are shortened only when nothing else helps.
    """
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [max(width(cell) for cell in column) for column in zip(*cells, strict=True)]
    widths = [max(pair) for pair in zip_longest(widths, least, fillvalue=0)]
    if columns is not None:
        widths = _fitted(widths, right | firm, columns)
    lines = []
    for row in cells:
        padded = []
        for column, whole in enumerate(row):
            cell = shortened(whole, widths[column])
            blanks = " " * (widths[column] - width(cell))
            padded.append(blanks + cell if column in right else cell + blanks)
        line = "  ".join(padded).rstrip()
        lines.append(line if columns is None else cut(line, columns))
    return lines


def _fitted(widths: Sequence[int], firm: frozenset[int], columns: int) -> list[int]:
    """What is widest gives way first."""
    fitted = list(widths)
    for candidates, least in (
        ([column for column in range(len(fitted)) if column not in firm], _LEAST_CELL),
        (list(range(len(fitted))), 1),
    ):
        while sum(fitted) + 2 * (len(fitted) - 1) > columns:
            column = max(candidates, key=lambda at: fitted[at], default=None)
            if column is None or fitted[column] <= least:
                break
            fitted[column] -= 1
    return fitted
