"""What was read out of a log, as it stands now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from traindeck.domain.jobs.run_query import Metric
from traindeck.domain.readings.curves import SMALL_CURVE, Series, SmallCurve

_CLOCKS_DIFFER_S = 120.0


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a training is; what it did not say is None, never 0."""

    epoch: float | None = None
    epochs: int | None = None
    step: int | None = None
    steps: int | None = None
    share: float | None = None
    """How much of all is done, from 0 to 1."""
    seconds_left: float | None = None
    restarts: int = 0
    """How often it began again within the log."""
    news_at: float | None = None
    """When it last went on, in seconds since 1970."""


@dataclass(frozen=True, slots=True)
class NotFinite:
    """A number whose last value is NaN or infinite."""

    name: str
    value: float
    offset: int
    """Where in the log the line begins from which on it was no number."""
    line: str
    worker: str = ""
    """In whose log, where there are several."""
    is_measured: bool = True
    """A loss or a score; a rate or a setting may be infinite for a moment without harm."""


@dataclass(frozen=True, slots=True)
class LogReading:
    """All of it."""

    progress: Progress = field(default_factory=Progress)
    values: Mapping[str, float] = field(default_factory=dict)
    """The last of each, which may be NaN: by role, as “loss” and “lr”, then by the names in the log."""
    roles: Mapping[str, str] = field(default_factory=dict)
    """Which series speaks for a role."""
    series: Mapping[str, Series] = field(default_factory=dict)
    measured: frozenset[str] = frozenset()
    """Those of the series that training made, as losses and scores; the others were set, or count how fast it goes."""
    not_finite: NotFinite | None = None
    bytes_read: int = 0
    began: float | None = None
    """When its first value came, from which on seconds are counted: on our clock, or as its lines say."""
    has_clock: bool = False
    """That is seconds since 1970; else the lines have a clock of their own, of any zone."""

    @property
    def metrics(self) -> dict[str, Metric]:
        """What was measured: the last, lowest and highest of each."""
        return {
            name: Metric(one.last, one.lowest, one.highest)
            for name, one in self.series.items()
            if name in self.measured
        }

    @property
    def is_empty(self) -> bool:
        return not self.series and self.progress.epoch is None and self.progress.step is None

    @property
    def small_curve(self) -> SmallCurve:
        loss = self.speaking_for("loss")
        values = tuple(loss.values(SMALL_CURVE)) if loss is not None else ()
        return SmallCurve(values, self.not_finite is not None, self.bytes_read)

    def speaking_for(self, role: str) -> Series | None:
        return self.series.get(self.roles.get(role, ""))


def seconds_after(reading: LogReading, start: float, zones_s: Sequence[float], now: float) -> float:
    """How long after the start of a run its first value came; 0 where nobody can tell.

    What its lines say is of a zone that they do not name: of those it may be (`zones_s`), it is the one that makes
    the wait the shortest.
    """
    if reading.began is None:
        return 0.0
    found = [reading.began - start - zone for zone in ((0.0,) if reading.has_clock else zones_s)]
    return max(0.0, min((one for one in found if -_CLOCKS_DIFFER_S <= one <= now - start), default=0.0))
