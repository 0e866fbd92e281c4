"""What a target takes as code, and how what is too much is told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum

from traindeck.domain.storage.objects import size_words
from traindeck.domain.texts import Text, text


class Limit(StrEnum):
    ENTRIES = "entries"
    BYTES = "bytes"
    DEPTH = "depth"


@dataclass(frozen=True, slots=True)
class CodeLimits:
    """What a target takes as code."""

    entries: int = 1_000
    size_bytes: int = 5_000_000_000
    depth: int = 32


LimitsOf = Callable[[str], Awaitable[CodeLimits]]
"""What the target of an account takes."""


async def of_the_service(_: str) -> CodeLimits:
    return CodeLimits()


@dataclass(frozen=True, slots=True)
class OverLimit:
    """One limit that the code is beyond, and the folder where most of it lies."""

    limit: Limit
    found: int
    most: int
    folder: str

    def words(self) -> Text:
        if self.limit is Limit.ENTRIES:
            return text(
                "The code directory has {found} files and folders; the limit is {most}. Most are in “{folder}”.",
                found=f"{self.found:,}",
                most=f"{self.most:,}",
                folder=self.folder,
            )
        if self.limit is Limit.BYTES:
            return text(
                "The code directory has {found}; the limit is {most}. Most of it is in “{folder}”.",
                found=size_words(self.found),
                most=size_words(self.most),
                folder=self.folder,
            )
        return text(
            "The code directory is {found} levels deep; the limit is {most}. The deepest is “{folder}”.",
            found=self.found,
            most=self.most,
            folder=self.folder,
        )
