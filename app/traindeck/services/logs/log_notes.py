"""What is known of a worker's log beside its bytes: where they are not the service's, whether more will come."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Self

CLOUD_LIMIT_BYTES = 1 << 30
"""Where the cloud cuts a log; the job goes on, silently."""


@dataclass(frozen=True, slots=True)
class Substitute:
    """`length` bytes of the file from `offset` on, in the place of `stands_for` bytes of the service."""

    offset: int
    length: int
    stands_for: int


@dataclass(frozen=True, slots=True)
class Gap:
    """Bytes the service no longer had when we asked, missing before this place of the file."""

    offset: int
    missing: int


@dataclass(frozen=True, slots=True)
class Repaired:
    """The service gave these as text only: what is not UTF-8 in them is replaced."""

    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class BeganAnew:
    """The service began another log here; so many bytes of the one before are kept beside it."""

    offset: int
    kept_as: str
    kept_bytes: int


@dataclass(frozen=True, slots=True)
class CutByCloud:
    """The log reached the size at which the cloud takes no more of it."""

    offset: int


@dataclass(frozen=True, slots=True)
class GoneFromCloud:
    """From here on nothing can be had any more: the service has deleted its log."""

    offset: int
    found: datetime


LogMark = Gap | Repaired | BeganAnew | CutByCloud | GoneFromCloud


@dataclass(frozen=True, slots=True)
class LogNotes:
    """Written beside the bytes; without them the file is the service's own from the first byte on."""

    stretches: tuple[Substitute, ...] = ()
    generation: int = 0
    """Another number: what was read before is no longer what the file begins with."""
    kept_as: str = ""
    kept_bytes: int = 0
    is_whole: bool = False
    """The job is over, and no more of it will come."""
    mending: str = ""
    """The file beside that is about to take its place."""
    gone: str = ""
    """Since when the service is known to have it no more."""

    @classmethod
    def from_json(cls, content: bytes) -> Self:
        entry: Any = json.loads(content)
        if isinstance(entry, list):  # as the first versions wrote them
            return cls(stretches=tuple(Substitute(*one) for one in entry))
        known: Mapping[str, Any] = {name: entry[name] for name in cls.__slots__ if name in entry}
        return cls(**{**known, "stretches": tuple(Substitute(*one) for one in known.get("stretches", ()))})

    def to_json(self) -> bytes:
        values = {name: getattr(self, name) for name in self.__slots__}
        values["stretches"] = [[one.offset, one.length, one.stands_for] for one in self.stretches]
        return json.dumps(values).encode()

    def seen(self, held: int) -> int:
        """How many bytes of the service's log `held` bytes of the file stand for."""
        return held + sum(part.stands_for - part.length for part in self.stretches)

    def service_offset(self, offset: int) -> int:
        """The service's offset of what stands behind so many bytes of the file."""
        return offset + sum(part.stands_for - part.length for part in self.stretches if part.offset < offset)

    @property
    def true_from(self) -> int:
        """From here to its end the file is the service's byte for byte."""
        return self.stretches[-1].offset + self.stretches[-1].length if self.stretches else 0

    def with_stretches(self, stretches: tuple[Substitute, ...]) -> LogNotes:
        return replace(self, stretches=stretches)

    def marks(self, held: int) -> tuple[LogMark, ...]:
        """In the order of the file."""
        found: list[LogMark] = []
        if self.kept_bytes:
            found.append(BeganAnew(0, self.kept_as, self.kept_bytes))
        for part in self.stretches:
            if part.length == 0:
                found.append(Gap(part.offset, part.stands_for))
            else:
                found.append(Repaired(part.offset, part.length))
        if self.seen(held) >= CLOUD_LIMIT_BYTES:
            found.append(CutByCloud(held))
        if self.gone:
            found.append(GoneFromCloud(held, datetime.fromisoformat(self.gone)))
        return tuple(found)
