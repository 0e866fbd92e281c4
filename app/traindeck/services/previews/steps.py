"""How a preview is read: a parser says which bytes it wants next, somebody else fetches them.

A parser is a generator. It yields a `Want` and is sent the bytes; it yields a page when it has one to show, and goes
on when somebody wants the next; it yields None now and then during long work, so that it can be stopped.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeVar

from traindeck.domain.previews import NotShown, PreviewPage
from traindeck.domain.texts import Text, text

HEAD_BYTES = 256 * 1024
PAGE_BYTES = 256 * 1024
MOST_ROWS = 100_000
"""So many lines of a table, an archive or a checkpoint are shown; more would only fill the memory."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Want:
    """Bytes of the object; fewer come only where it ends. `ahead` more are worth fetching along."""

    offset: int
    length: int
    ahead: int = 0


Step = Want | PreviewPage | None
Steps = Generator[Step, bytes, None]
Reading = Generator[Step, bytes, Result]


class Enough(Exception):
    """Thrown into a parser in place of bytes: so much was read for this page; a parser may show what it has."""


class ByteSource:
    """Where the bytes of a preview come from: the object as it is stored, or what is packed in it."""

    def __init__(self, size_bytes: int | None) -> None:
        self.size_bytes = size_bytes

    def take(self, offset: int, length: int, ahead: int = 0) -> Reading[bytes]:
        """The bytes there; fewer only at the end."""
        return (yield Want(offset, length, ahead))


def need(source: ByteSource, offset: int, length: int, ahead: int = 0) -> Reading[bytes]:
    """All of these bytes; damaged where they are not there."""
    if length < 0 or offset < 0:
        raise damaged()
    if source.size_bytes is not None and offset + length > source.size_bytes:
        raise cut_off()
    found = yield from source.take(offset, length, ahead)
    if len(found) < length:
        raise cut_off()
    return found


def damaged(detail: str = "") -> NotShown:
    return NotShown(
        text("The content is damaged: it does not match its description."),
        text("Compare it with its source, and upload it again."),
        detail,
    )


def cut_off() -> NotShown:
    return NotShown(
        text("The content is incomplete: it ends too early."),
        text("It may still be uploading, or its upload was interrupted. Upload it again."),
    )


def too_much(what: Text) -> NotShown:
    return NotShown(what, text("Download it to see all of it."))


_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def one_line(words: str, most: int = 500) -> str:
    """A name or a cell as it can stand in a table."""
    words = words if len(words) <= most else words[: most - 1] + "…"
    return words.replace("\r\n", "⏎").replace("\n", "⏎").replace("\r", "⏎").replace("\t", " ")


def plain(words: str) -> str:
    """A name from elsewhere without what steers a screen."""
    return _CONTROL.sub("�", one_line(words))
