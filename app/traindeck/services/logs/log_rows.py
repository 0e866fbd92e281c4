"""The rows of a log as they are shown, and how far the log is known."""

from __future__ import annotations

from dataclasses import dataclass

from traindeck.domain.readings.encodings import UTF_8
from traindeck.domain.texts import Text
from traindeck.services.logs.row_text import Span


@dataclass(frozen=True, slots=True)
class LogRow:
    """One line, or a part of one that is very long, or a mark that is no part of the file."""

    number: int
    begin: int
    """Where it is in the file."""
    end: int
    line: int | None
    """The number of the line; unknown until the file was read from its beginning, none for marks and further parts."""
    words: str
    spans: tuple[Span, ...] = ()
    mark: Text | None = None
    is_further: bool = False
    """The line began in a row before it."""


@dataclass(frozen=True, slots=True)
class LogExtent:
    """How far the file is known."""

    size: int = 0
    rows: int = 0
    ended: int = 0
    """Rows that have their end; the others may still change."""
    is_counted: bool = False
    """Rows are counted from the beginning of the file; else from some place near its end."""
    moved: int = 0
    """What was row 0 before is this one now."""
    is_behind: bool = False
    """There is more to read at once."""
    version: int = 0
    """Another one: rows are counted or read otherwise."""
    generation: int = 0
    """Another one: the log began anew."""
    encoding: str = UTF_8


@dataclass(frozen=True, slots=True)
class Page:
    """Rows as one version has them."""

    version: int
    rows: list[LogRow]
