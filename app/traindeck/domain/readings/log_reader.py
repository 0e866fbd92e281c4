"""Reads a log as it grows: every byte once, in bounded room."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from traindeck.domain.readings.curves import Series
from traindeck.domain.readings.encodings import words_of
from traindeck.domain.readings.line_reader import MOST_LINE, LineFacts, LineReader
from traindeck.domain.readings.patterns import Patterns
from traindeck.domain.readings.progress import ProgressTracker
from traindeck.domain.readings.reading import LogReading, NotFinite
from traindeck.domain.readings.textness import Textness
from traindeck.domain.readings.tracking import TrackedNumber

MOST_SERIES = 100
_MOST_REST = 2 * MOST_LINE
_SHOWN_LINE = 400


class LogReader:
    """Fed with the bytes of one worker's log in their order."""

    def __init__(self, patterns: Patterns, tracked: tuple[TrackedNumber, ...] = ()) -> None:
        self._patterns = patterns
        self._lines = LineReader(patterns, tracked)
        self._tracker = ProgressTracker()
        self._series: dict[str, Series] = {}
        self._rest = b""
        self._offset = 0
        self._line_at = 0
        self._dropped = 0
        self._not_finite: dict[str, NotFinite] = {}
        """By name, while the last value is no number."""
        self._began: float | None = None
        self._began_stamp: float | None = None
        """The same as its lines say it, which is not by how much later they arrived."""
        self._last_stamp: float | None = None
        self._last_moment: float | None = None
        self._shift: float | None = None
        """What to add to the time in a line to have the time it arrived."""
        self._has_clock = False
        self._reads_rank_0 = False
        self._textness = Textness()

    def expect(self, epochs: int | None = None, steps: int | None = None) -> None:
        """How many the settings of the run ask for."""
        self._tracker.expect(epochs, steps)

    @property
    def offset(self) -> int:
        """Up to where it was read."""
        return self._offset

    def skip(self, to: int) -> None:
        """What is between is not read; the line that it tore apart is not, either."""
        self._rest, self._dropped = b"", 0
        self._offset = self._line_at = to

    def take(self, data: bytes, at: float | None = None) -> None:
        """`at`: when it arrived, in seconds since 1970; lines with a time of their own are taken at that."""
        self._offset += len(data)
        self._textness.take(data)
        *lines, rest = (self._rest + data).replace(b"\r", b"\n").split(b"\n")
        for line in lines:
            if line:
                self._line(line, at)
            self._line_at += len(line) + 1 + self._dropped
            self._dropped = 0
        # Of a line without an end, what is never looked at needs no room.
        self._dropped += max(0, len(rest) - _MOST_REST)
        self._rest = rest[:_MOST_REST]

    def end(self, at: float | None = None) -> None:
        """There is no more to come: the last line may lack its end."""
        rest, self._rest = self._rest, b""
        if rest:
            self._line(rest, at)
        self._line_at, self._dropped = self._offset, 0

    def reading(self, now: float | None = None) -> LogReading:
        """As it stands; `now` on the clock of `at`. What is no text has nothing to say: what it has came by chance."""
        if not self._textness.is_text:
            return LogReading(bytes_read=self._offset)
        progress = self._tracker.progress(now if self._has_clock else None)
        if not self._has_clock:
            progress = replace(progress, news_at=None)  # the time in its lines may be of any zone
        values: dict[str, float] = {}
        for name, number in (
            ("epoch", progress.epoch), ("epochs", progress.epochs), ("step", progress.step), ("steps", progress.steps),
        ):  # fmt: skip
            if number is not None:
                values[name] = _whole(number)
        roles = self._roles()
        for role, name in roles.items():
            values[role] = self._series[name].last
        told = {name.lower() for name in values}
        for name in self._series:
            if name.lower() not in told:
                values[name] = self._series[name].last
        measured = frozenset(name for name in self._series if self._patterns.is_measure(name))
        series = {name: one.copy() for name, one in self._series.items()}
        is_stamped = self._began_stamp is not None
        began = self._began_stamp if is_stamped else self._began
        return LogReading(
            progress, values, roles, series, measured, self._worst(measured, roles), self._offset, began,
            self._has_clock and not is_stamped,
        )  # fmt: skip

    def _worst(self, measured: frozenset[str], roles: Mapping[str, str]) -> NotFinite | None:
        """Of what is no number now: what was measured before what was set, the loss first."""
        order = [*roles.values()]
        found = min(
            self._not_finite.values(),
            key=lambda one: (one.name not in measured, order.index(one.name) if one.name in order else len(order)),
            default=None,
        )
        if found is None:
            return None
        return replace(found, value=self._series[found.name].last, is_measured=found.name in measured)

    def _roles(self) -> dict[str, str]:
        """The best name of each role among those that were printed."""
        printed = {name.lower().replace(" ", "_"): name for name in reversed(self._series)}
        found = {}
        for role, names in self._patterns.names.items():
            name = next((printed[key] for one in names if (key := one.replace(" ", "_")) in printed), None)
            if name is not None:
                found[role] = name
        for role in ("loss", "accuracy"):
            if role not in found and f"val_{role}" in found:
                found[role] = found[f"val_{role}"]
            elif role not in found and (name := self._nearest(role[:4].removesuffix("u"))) is not None:
                found[role] = name
        return found

    def _nearest(self, part: str) -> str | None:
        """A loss of another name is still the loss of a training that has no other."""
        names = [name for name in self._series if part in name.lower() and self._patterns.is_measure(name)]
        return min(names, key=lambda name: self._patterns.beside.expression.match(name) is not None, default=None)

    def _line(self, line: bytes, at: float | None) -> None:
        facts = self._lines.facts(line[:MOST_LINE])
        if facts is None:
            return
        moment = self._moment(facts, at)
        if facts.is_empty and not facts.tracked:
            return
        if facts.rank is not None and not self._is_ours(facts.rank):
            return
        if moment is not None and self._began is None:
            self._began, self._began_stamp = moment, self._last_stamp
        self._tracker.take(facts, moment)
        self._take_values(facts, moment, line)

    def _moment(self, facts: LineFacts, at: float | None) -> float | None:
        """On one clock: that of arrival as soon as something arrived, before that the one of the lines."""
        if at is not None:
            self._take_clock(facts, at)
        if facts.stamp is not None:
            self._last_stamp = facts.stamp
            self._last_moment = facts.stamp + (self._shift or 0.0)
        elif at is not None:
            self._last_moment = at
        return self._last_moment

    def _take_clock(self, facts: LineFacts, at: float) -> None:
        if facts.stamp is not None:
            shift = at - facts.stamp
            if self._shift is None and not self._has_clock and self._last_moment is not None:
                self._tracker.move(shift)
                self._began = None if self._began is None else self._began + shift
            self._shift = shift if self._shift is None else min(shift, self._shift)
        elif not self._has_clock and self._last_moment is not None:
            self._tracker.forget_times()
            self._began, self._began_stamp = at, None
        self._has_clock = True

    def _is_ours(self, rank: int) -> bool:
        """Of several processes in one log the first speaks; where there is no first, all do."""
        self._reads_rank_0 = self._reads_rank_0 or rank == 0
        return rank == 0 or not self._reads_rank_0

    def _take_values(self, facts: LineFacts, moment: float | None, line: bytes) -> None:
        step, epoch = self._tracker.place()
        seconds = moment - self._began if moment is not None and self._began is not None else None
        if seconds is not None and -1.0 < seconds < 0.0:
            seconds = 0.0  # the line before told parts of a second, and this one whole ones
        for name, value in (*facts.values, *facts.tracked):
            series = self._of_name(name)
            if series is None:
                continue
            series.add(step, epoch, seconds, value)
            if series.is_finite:
                self._not_finite.pop(name, None)
            else:
                words = words_of(line[:_SHOWN_LINE])
                self._not_finite.setdefault(name, NotFinite(name, series.last, self._line_at, words))

    def _of_name(self, name: str) -> Series | None:
        series = self._series.get(name)
        if series is None and len(self._series) < MOST_SERIES:
            series = self._series[name] = Series(name)
        return series


def _whole(number: float) -> float:
    return int(number) if number == int(number) else round(number, 4)
