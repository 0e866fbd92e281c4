"""The jobs that run at a moment, ours and others', with what each costs per hour."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from traindeck.domain.errors import AppError

if TYPE_CHECKING:  # the status bar stands before anything of jobs is loaded
    from traindeck.domain.jobs.job import RemoteJob


@dataclass(frozen=True, slots=True)
class LiveJob:
    name: str
    account: str
    started: datetime | None
    per_hour: float | None
    """None: nobody knows its price."""
    is_ours: bool


@dataclass(frozen=True, slots=True)
class LiveCostsState:
    """None: nobody has counted yet."""

    jobs: tuple[LiveJob, ...] | None = None
    currency: str = ""
    unheard: frozenset[str] = frozenset()
    """Accounts that were asked and have not answered since the start: what runs there is unknown."""

    @property
    def ours(self) -> int:
        return sum(job.is_ours for job in self.jobs or ())

    @property
    def others(self) -> int:
        return sum(not job.is_ours for job in self.jobs or ())

    @property
    def per_hour(self) -> float:
        """Of those whose price is known; `unknown` come on top."""
        return sum(job.per_hour or 0.0 for job in self.jobs or ())

    @property
    def unknown(self) -> int:
        return sum(job.per_hour is None for job in self.jobs or ())

    @property
    def paid(self) -> int:
        return sum(job.per_hour != 0 for job in self.jobs or ())

    @property
    def longest(self) -> LiveJob | None:
        started = [job for job in self.jobs or () if job.started is not None]
        return min(started, key=lambda job: job.started.timestamp() if job.started else 0.0, default=None)


@dataclass(frozen=True, slots=True)
class BilledJob:
    """A job that is not over, whoever made it."""

    account: str
    region: str
    job: RemoteJob
    run_id: str
    """Ours; empty: made elsewhere."""
    per_hour: float | None
    seconds: float | None
    """Since it runs; None: it does not yet, or nobody says."""

    @property
    def so_far(self) -> float | None:
        if self.per_hour == 0:
            return 0.0
        if self.per_hour is None:
            return None
        return None if self.seconds is None else self.per_hour * self.seconds / 3600


@dataclass(frozen=True, slots=True)
class RegionBill:
    """What one account runs in one region; `trouble`: why that is not known."""

    account: str
    region: str
    jobs: tuple[BilledJob, ...] = ()
    is_whole: bool = True
    trouble: AppError | None = None


@dataclass(frozen=True, slots=True)
class Bill:
    """Everything that bills at a moment, as far as it could be asked for."""

    at: datetime
    currency: str
    regions: tuple[RegionBill, ...]

    @property
    def jobs(self) -> tuple[BilledJob, ...]:
        """The longest running first."""
        found = [job for region in self.regions for job in region.jobs]
        return tuple(sorted(found, key=lambda job: (-(job.seconds or 0.0), job.job.name)))

    @property
    def per_hour(self) -> float:
        """Of those whose price is known; `unknown` come on top."""
        return sum(job.per_hour or 0.0 for job in self.jobs)

    @property
    def unknown(self) -> int:
        return sum(job.per_hour is None for job in self.jobs)

    @property
    def is_whole(self) -> bool:
        return all(region.is_whole and region.trouble is None for region in self.regions)
