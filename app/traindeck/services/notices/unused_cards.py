"""Runs that are paid for an NPU or a GPU and leave it idle: a script that trains on the CPU goes on, only slowly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from traindeck.domain.jobs.job import Run
from traindeck.domain.jobs.resource_use import GPU, NPU, ResourceUse

IDLE_MINUTES = 6
"""So many samples, one a minute."""
_IDLE_PERCENT = 0.1
_ASK_EVERY = timedelta(minutes=1)
_WORDS = {NPU: "NPU", GPU: "GPU"}

Uses = Mapping[str, ResourceUse | None]
"""By worker."""


@dataclass(frozen=True, slots=True)
class CardUnused:
    """No worker of it has used its card for so long."""

    run: Run
    card: str
    minutes: int
    waits: int = 0
    """How often somebody said to wait before."""


@dataclass(slots=True)
class _Watched:
    asked: datetime
    counts: dict[str, int] | None = None
    """How many samples there were of each worker when its script began."""
    is_settled: bool = False
    """It has used a card and so can, or has none."""
    has_used: bool = False


@dataclass(slots=True)
class UnusedCards:
    """What was not measured is no idleness: -1 is a hole."""

    _watched: dict[str, _Watched] = field(default_factory=dict)

    def keep_only(self, run_ids: set[str]) -> None:
        self._watched = {run_id: one for run_id, one in self._watched.items() if run_id in run_ids}

    def wants(self, run: Run, now: datetime) -> bool:
        """Whether it is time to ask what it uses."""
        known = self._watched.get(run.id)
        return known is None or (not known.is_settled and now - known.asked >= _ASK_EVERY)

    def has_used(self, run_id: str) -> bool:
        known = self._watched.get(run_id)
        return known is not None and known.has_used

    def take(self, run: Run, uses: Uses, now: datetime) -> CardUnused | None:
        """What a run uses whose script is running; the answer is whether it leaves its card idle at this moment."""
        known = self._watched.setdefault(run.id, _Watched(now))
        known.asked = now
        if known.counts is None:
            known.counts = {task: _count(use) for task, use in uses.items()}
        for card, words in _WORDS.items():
            fresh = [_fresh(use, card, known.counts.get(task, 0)) for task, use in uses.items()]
            if any(value is not None and value > _IDLE_PERCENT for values in fresh for value in values):
                known.is_settled = known.has_used = True
                return None
            idle_minutes = min(map(_measured_last, fresh), default=0)
            if idle_minutes >= IDLE_MINUTES:
                return CardUnused(run, words, idle_minutes)
        # One that has no card is not asked for ever.
        minutes = min((_count(use) - known.counts.get(task, 0) for task, use in uses.items()), default=0)
        known.is_settled = minutes > 2 * IDLE_MINUTES and not any(_has_card(use) for use in uses.values())
        return None


def _count(use: ResourceUse | None) -> int:
    return 0 if use is None else max((len(values) for values in use.values.values()), default=0)


def _fresh(use: ResourceUse | None, name: str, before: int) -> tuple[float | None, ...]:
    return () if use is None else use.values.get(name, ())[before:]


def _measured_last(values: tuple[float | None, ...]) -> int:
    """How many there are up to the newest, without a hole."""
    return next((at for at, value in enumerate(reversed(values)) if value is None), len(values))


def _has_card(use: ResourceUse | None) -> bool:
    return use is not None and any(value is not None for card in _WORDS for value in use.values.get(card, ()))
