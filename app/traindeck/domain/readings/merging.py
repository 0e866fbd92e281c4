"""The logs of the workers of one run as one: each says what those before it did not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from traindeck.domain.readings.reading import LogReading, Progress


def merged(by_worker: Mapping[str, LogReading]) -> LogReading:
    """In the order of the workers; some frameworks print the loss on the last of them only."""
    readings = [_named(one, worker) for worker, one in by_worker.items()]
    told = [one for one in readings if not one.is_empty]
    total = sum(one.bytes_read for one in readings)
    if len(told) < 2:
        return replace(told[0] if told else readings[0] if readings else LogReading(), bytes_read=total)
    first, *others = told
    series, roles, values = dict(first.series), dict(first.roles), dict(first.values)
    for one in others:
        # A role that somebody speaks for stays with him: the means of two workers are not one curve.
        new = {name: found for name, found in one.series.items() if name not in series}
        series |= new
        roles |= {role: name for role, name in one.roles.items() if role not in roles and name in new}
        known = {*values, *(name.lower() for name in values)}
        values |= {name: value for name, value in one.values.items() if name not in known and name.lower() not in known}
    progress = _slowest(told)
    for name in ("epoch", "epochs", "step", "steps"):
        number = getattr(progress, name)
        if number is not None and name in values:
            values[name] = int(number) if number == int(number) else round(number, 4)
    measured = frozenset(name for one in told for name in one.measured if name in series)
    bad = next((one.not_finite for one in told if one.not_finite is not None), None)
    began = min((one.began for one in told if one.began is not None), default=None)
    return LogReading(
        progress, values, roles, series, measured, bad, total, first.began if first.began is not None else began,
        first.has_clock,
    )  # fmt: skip


def _named(reading: LogReading, worker: str) -> LogReading:
    bad = reading.not_finite
    return reading if bad is None else replace(reading, not_finite=replace(bad, worker=worker))


def _slowest(told: Sequence[LogReading]) -> Progress:
    """A training is as far as the worker that is least far."""
    known = [one.progress for one in told if one.progress.share is not None]
    if known:
        return min(known, key=lambda one: one.share or 0.0)
    return next((one.progress for one in told if one.progress.step is not None), told[0].progress)
