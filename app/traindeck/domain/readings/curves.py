"""Numbers over a training, in bounded room: however long it lasts, a curve has at most so many points."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

MOST_POINTS = 2000
SMALL_CURVE = 48
"""The points of one in a list."""
_UNKNOWN = math.nan


class Point(NamedTuple):
    """One value, which may be NaN or infinite; what is not known of its place is None."""

    step: float | None
    epoch: float | None
    seconds: float | None
    value: float


@dataclass(frozen=True, slots=True)
class SmallCurve:
    """The loss of a run as a list shows it."""

    values: tuple[float, ...] = ()
    is_bad: bool = False
    """Something is no number any more."""
    log_bytes: int = 0
    """How long the logs were that it was read from."""

    def checked(self) -> SmallCurve:
        if len(self.values) > SMALL_CURVE or not all(map(math.isfinite, self.values)):
            raise ValueError("this is no small curve")
        return self


class Series:
    """One number as it went; when there are too many points, every second one is let go, and from then on taken."""

    __slots__ = ("_columns", "_skipped", "_stride", "count", "highest", "is_finite", "last", "lowest", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.last = self.lowest = self.highest = _UNKNOWN
        self.count = 0
        self.is_finite = True
        """Whether its last value was a number."""
        self._columns = tuple(array("d") for _ in Point._fields)
        self._stride, self._skipped = 1, 0

    def add(self, step: float | None, epoch: float | None, seconds: float | None, value: float) -> None:
        self.count += 1
        was_finite, self.is_finite = self.is_finite, math.isfinite(value)
        self.last = value if value == value else _UNKNOWN  # the one NaN that equals itself in a comparison of readings
        if self.is_finite:
            # Not a number compares with nothing.
            if not self.lowest <= value:
                self.lowest = value
            if not self.highest >= value:
                self.highest = value
        self._skipped += 1
        # The first value that is no number is never skipped: it is what users look for.
        if self._skipped < self._stride and (self.is_finite or not was_finite):
            return
        self._skipped = 0
        steps, epochs, moments, values = self._columns
        steps.append(_UNKNOWN if step is None else step)
        epochs.append(_UNKNOWN if epoch is None else epoch)
        moments.append(_UNKNOWN if seconds is None else seconds)
        values.append(value)
        if len(values) > MOST_POINTS:
            self._stride *= 2
            for column in self._columns:
                del column[1::2]

    def copy(self) -> Series:
        """As it is now, for another thread."""
        found = Series(self.name)
        found.last, found.lowest, found.highest = self.last, self.lowest, self.highest
        found.count, found.is_finite = self.count, self.is_finite
        found._columns = self.columns()
        return found

    def points(self) -> Iterator[Point]:
        for step, epoch, seconds, value in zip(*self._columns, strict=True):
            yield Point(_known(step), _known(epoch), _known(seconds), value)

    def columns(self) -> tuple[array[float], ...]:
        """Step, epoch, seconds and value, each as an array of its own in which what is not known is NaN."""
        return tuple(array("d", column) for column in self._columns)

    def values(self, most: int) -> list[float]:
        """Its numbers evenly taken, for a small picture."""
        finite = [value for value in self._columns[3] if math.isfinite(value)]
        if len(finite) <= most:
            return finite
        return [finite[at * (len(finite) - 1) // (most - 1)] for at in range(most)]


def _known(place: float) -> float | None:
    return place if math.isfinite(place) else None
