"""Uploads by parts that somebody began and did not finish."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from traindeck.domain.errors import AppError
from traindeck.domain.objects import ObjectPath


@dataclass(frozen=True, slots=True)
class UnfinishedUpload:
    """One of them; `is_ours`: a transfer of this computer goes on with it."""

    path: ObjectPath
    upload_id: str
    begun: datetime | None
    is_ours: bool

    def is_older(self, than: timedelta, now: datetime) -> bool:
        """One without a time is not: nobody knows."""
        return self.begun is not None and now - self.begun >= than


@dataclass(frozen=True, slots=True)
class Held:
    """What its parts hold; None: these keys may not look."""

    upload: UnfinishedUpload
    parts: int | None
    size_bytes: int | None


@dataclass(slots=True)
class Ended:
    """What became of those that were to be ended."""

    ended: list[UnfinishedUpload] = field(default_factory=list)
    kept: list[UnfinishedUpload] = field(default_factory=list)
    """One of our transfers goes on with them."""
    failed: list[tuple[UnfinishedUpload, AppError]] = field(default_factory=list)
