"""What can be shown of an object without fetching all of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from traindeck.domain.errors import AppError
from traindeck.domain.texts import Text

MOST_EDITED = 1 << 20
"""A text up to so many bytes can be edited in place."""

PICTURE_NAMES = (".png", ".jpg", ".jpeg", ".jpe", ".jfif", ".gif", ".bmp", ".webp")


class NotShown(AppError):
    """The content is damaged, too large or of a kind that has no preview."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing known of the content."""

    label: Text | str
    """What the file itself calls it is a plain word."""
    value: str | Text


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    has_more: bool = False
    """There is another page; it goes on where this one ends."""
    notes: tuple[Text, ...] = ()
    """What the reader must know of what is shown or left out."""


@dataclass(frozen=True, slots=True)
class TextPage(_Page):
    text: str
    encoding: str = "UTF-8"


@dataclass(frozen=True, slots=True)
class TablePage(_Page):
    """Rows; `columns` are all known so far, a row may be shorter."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Tensor:
    name: str
    dtype: str
    shape: tuple[int, ...]
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class TensorsPage(_Page):
    """The header of an array, or of a checkpoint with many."""

    what: Text
    facts: tuple[Fact, ...]
    tensors: tuple[Tensor, ...]
    sample: str = ""
    """The first values, where there is one array."""


class MemberKind(Enum):
    FILE = "file"
    FOLDER = "folder"
    LINK = "link"


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """One entry of an archive."""

    name: str
    size_bytes: int
    packed_bytes: int | None = None
    modified: datetime | None = None
    kind: MemberKind = MemberKind.FILE
    target: str = ""


@dataclass(frozen=True, slots=True)
class ArchivePage(_Page):
    what: Text
    facts: tuple[Fact, ...]
    members: tuple[ArchiveMember, ...]


@dataclass(frozen=True, slots=True)
class PicturePage(_Page):
    """A picture as it is stored; whoever shows it draws it."""

    format: str
    width: int
    height: int
    content: bytes


@dataclass(frozen=True, slots=True)
class BytesPage(_Page):
    """What has no view of its own: what it is, and its first bytes."""

    what: Text
    dump: str


PreviewPage = TextPage | TablePage | TensorsPage | ArchivePage | PicturePage | BytesPage


def is_picture_name(key: str) -> bool:
    return key.lower().endswith(PICTURE_NAMES)


def shape_words(shape: tuple[int, ...]) -> str:
    """`3 × 224 × 224`; a single number has no shape."""
    return " × ".join(f"{length:,}" for length in shape) if shape else "–"
