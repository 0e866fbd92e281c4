"""Which runs somebody wants to see, and in what order."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from traindeck.domain.jobs.job import Run, RunState


class RunSort(StrEnum):
    NUMBER = "number"
    NAME = "name"
    STATE = "state"
    DURATION = "duration"
    ENDED = "ended"
    ACCOUNT = "account"


@dataclass(frozen=True, slots=True)
class MetricBest:
    """The best of a number that was measured; whether lower is better can mostly be told from its name."""

    name: str
    lowest: bool


_LOWER_IS_BETTER = ("loss", "err", "ppl", "perplexity", "mse", "mae", "rmse", "nll", "wer", "cer", "time", "latency")


def metric_best(wanted: str) -> MetricBest:
    """`val_loss`, or `score:min` and `score:max` where the name does not say it."""
    name, colon, way = wanted.rpartition(":")
    if colon and way in ("min", "max"):
        return MetricBest(name, way == "min")
    return MetricBest(wanted, any(word in wanted.lower() for word in _LOWER_IS_BETTER))


@dataclass(frozen=True, slots=True)
class RunQuery:
    """Everything that is asked for must hold; an empty one is all runs, newest first."""

    words: tuple[str, ...] = ()
    """Each somewhere in the name, the ID, the form, the note, the tags or the reason; or it is the number."""
    states: tuple[RunState, ...] = ()
    account: str | None = None
    tags: tuple[str, ...] = ()
    starred: bool = False
    since: datetime | None = None
    best: MetricBest | None = None
    """Only runs that have it, the best first; those that ended in NaN or infinity come last."""
    sort: RunSort = RunSort.NUMBER
    ascending: bool = False
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Metric:
    """One number over a run: its last value, which may be NaN or infinite, and the extremes of those that were finite.

    Without a finite value the extremes are NaN.
    """

    last: float
    lowest: float
    highest: float

    @property
    def is_finite(self) -> bool:
        return math.isfinite(self.last)

    def best(self, *, lowest: bool) -> float:
        return self.lowest if lowest else self.highest

    def ranked(self, *, lowest: bool) -> float:
        """What it ranks by: a run that ended in NaN has no best value."""
        return self.best(lowest=lowest) if self.is_finite else self.last


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """A run with its numbers, as a table of runs shows it."""

    run: Run
    metrics: Mapping[str, Metric]
