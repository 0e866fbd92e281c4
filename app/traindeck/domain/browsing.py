"""What is looked at in a bucket, and what a row of it tells."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from traindeck.domain.objects import ObjectEntry


class Column(Enum):
    """What can be sorted by."""

    NAME = "name"
    SIZE = "size"
    MODIFIED = "modified"
    CLASS = "class"


@dataclass(frozen=True, slots=True)
class Look:
    """One level of a folder, or with words of a search whatever below it is named so; and how it is sorted."""

    folder: str = ""
    search: str = ""
    column: Column = Column.NAME
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Size:
    """How much is below a folder, as of a moment."""

    count: int
    size_bytes: int
    as_of: datetime


@dataclass(frozen=True, slots=True)
class Shown:
    """A row with what is known of it; `size` is a folder's, if it was counted."""

    entry: ObjectEntry
    size: Size | None = None
