"""Where the time of a job went: queue, code, data, packages, training, upload; from its events."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from traindeck.domain.texts import Text, text

_WAITING = "queue"
"""Ends with the first thing that is done."""
PHASE_WORDS: Mapping[str, Text] = {
    "queue": text("Queue"),
    "code": text("Code download"),
    "data": text("Data download"),
    "packages": text("Package installation"),
    "training": text("Training"),
    "upload": text("Output upload"),
}


@dataclass(frozen=True, slots=True)
class JobEvent:
    """One line of what the service tells of a job."""

    at: datetime
    message: str


@dataclass(frozen=True, slots=True)
class PhaseTime:
    name: str
    seconds: float
    is_over: bool = True


@dataclass(frozen=True, slots=True)
class PhaseRules:
    phases: tuple[tuple[str, re.Pattern[str], re.Pattern[str]], ...]
    """Name, what begins it, what ends it."""
    used: re.Pattern[str]


def phase_rules_of(document: Mapping[str, Any]) -> PhaseRules:
    phases = ((one["name"], re.compile(one["begins"]), re.compile(one["ends"])) for one in document["phase"])
    return PhaseRules(tuple(phases), re.compile(document["used"]["expression"]))


def phase_times(events: Sequence[JobEvent], rules: PhaseRules, now: datetime | None) -> list[PhaseTime]:
    """In the order of the rules: from the first event that begins it to the last that ends it, of whichever worker.

    `now`: until when a phase lasts that has not ended; None: until the last event.
    """
    ordered = sorted(events, key=lambda event: event.at)
    found = []
    for name, begins, ends in rules.phases:
        begun = next((at for at, event in enumerate(ordered) if begins.search(event.message)), None)
        if begun is None:
            continue
        after = [event for event in ordered[begun + 1 :] if ends.search(event.message)]
        start = ordered[begun].at
        if after:
            end = after[0] if name == _WAITING else after[-1]
            found.append(PhaseTime(name, _seconds(start, end, rules)))
        else:
            found.append(PhaseTime(name, max(0.0, ((now or ordered[-1].at) - start).total_seconds()), is_over=False))
    return found


def _seconds(start: datetime, end: JobEvent, rules: PhaseRules) -> float:
    """Of what took less than the second to which events are told, what the event says itself."""
    match = rules.used.search(end.message)
    whole = max(0.0, (end.at - start).total_seconds())
    return max(whole, float(match["seconds"])) if match and whole <= 1.0 else whole
