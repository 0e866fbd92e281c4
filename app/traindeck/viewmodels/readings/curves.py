"""The curves of a run, and of those that are selected beside it: which number, over what, how smooth."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from traindeck.domain.errors import AppError
from traindeck.domain.jobs.job import Run
from traindeck.domain.jobs.resource_use import MEASURED, MINUTE_S, ResourceUse
from traindeck.domain.readings.failures import RunReading
from traindeck.domain.readings.reading import seconds_after
from traindeck.domain.readings.tables import table_rows
from traindeck.domain.texts import Text, text
from traindeck.runtime.clock import utc_now
from traindeck.runtime.files import local_errors, write_whole
from traindeck.runtime.tasks import TaskScope

if TYPE_CHECKING:
    from traindeck.services.readings.run_resources import RunResources
    from traindeck.viewmodels.jobs.runs.run_list import RunList
    from traindeck.viewmodels.readings.reading_feed import ReadingFeed

STEP, EPOCH, TIME = AXES = ("step", "epoch", "time")
MOST_RUNS = 8
_ROLES = ("loss", "val_loss", "accuracy", "val_accuracy", "lr", "throughput", "step_time", "grad_norm", "perplexity")
_RESOURCES_MS = 60_000
# Containers of the platform have the time of China, or universal time.
_OF_PLATFORM_S = 8 * 3600.0
RESOURCE_WORDS: Mapping[str, Text] = dict(
    zip(
        MEASURED,
        (text("CPU"), text("Memory"), text("NPU"), text("NPU memory"), text("GPU"), text("GPU memory")),
        strict=True,
    )
)


@dataclass(frozen=True, slots=True)
class CurveLine:
    """One line of a chart; what is no number is a hole."""

    label: str
    xs: Sequence[float]
    ys: Sequence[float]
    color: int = 0
    is_placed: bool = True
    """Else nothing is known of where on the axis its values are: they stand in their order."""
    marks_holes: bool = True
    """Whether a hole is a NaN or an infinity that was measured; else nothing was measured there."""


@dataclass(frozen=True, slots=True)
class CurvesState:
    names: tuple[str, ...] = ()
    """What can be shown: roles first, then the names of the log."""
    name: str = "loss"
    axis: str = STEP
    is_log: bool = False
    smoothing: float = 0.0
    shows_resources: bool = False
    lines: tuple[CurveLine, ...] = ()
    is_in_order: bool = False
    """No line knows its place on this axis: the first value of each is at 0, the second at 1."""
    resources: tuple[CurveLine, ...] = ()
    is_over: bool = False
    """No more will come of any of the runs."""
    trouble: AppError | None = None


class Curves(QObject):
    """Kept up while somebody looks."""

    changed = Signal()

    def __init__(self, runs: RunList, feed: ReadingFeed, resources: RunResources, scope: TaskScope) -> None:
        super().__init__()
        self._runs = runs
        self._feed = feed
        self._resources = resources
        self._scope = scope
        self._run: Run | None = None
        self._used: dict[str, Mapping[str, ResourceUse]] = {}
        self._trouble: AppError | None = None
        self.state = CurvesState()
        self._wanted = self.state.name
        self._minute = QTimer(self, interval=_RESOURCES_MS)
        self._minute.timeout.connect(self._ask_resources)
        feed.changed.connect(self._on_reading)
        runs.chosen_changed.connect(self._on_chosen)

    def close(self) -> None:
        self._minute.stop()
        self._feed.changed.disconnect(self._on_reading)
        self._runs.chosen_changed.disconnect(self._on_chosen)

    @property
    def shown_runs(self) -> list[Run]:
        """The run of the page, and those that are selected with it."""
        chosen = self._runs.chosen_runs or []
        if self._run is None:
            return []
        if len(chosen) < 2 or self._run.id not in {run.id for run in chosen}:
            return [self._run]
        return sorted(chosen, key=lambda run: run.number)[:MOST_RUNS]

    def show(self, run: Run) -> None:
        is_other = self._run is None or self._run.id != run.id
        self._run = run
        if is_other:
            self._want()
            self._work_out()
            if self.state.shows_resources:
                self._ask_resources()

    def look(self, wanted: bool) -> None:
        """Whether anybody looks; else no service is asked."""
        if wanted and self.state.shows_resources:
            self._ask_resources()
            self._minute.start()
        elif not wanted:
            self._minute.stop()

    def change(self, **changes: object) -> None:
        """Another number, axis, smoothing, or with what the machine did."""
        before = self.state
        self.state = replace(before, **changes)  # type: ignore[arg-type]
        if "name" in changes:
            self._wanted = self.state.name
        if self.state.shows_resources and not before.shows_resources:
            self.state = replace(self.state, axis=TIME)
            self._ask_resources()
            self._minute.start()
        elif not self.state.shows_resources:
            self._minute.stop()
        self._work_out()

    def export_table(self, path: Path) -> None:
        """All numbers of the run of the page."""
        reading = self._feed.of(self._run.id) if self._run is not None else None
        if reading is not None:
            content = "".join(f"{','.join(row)}\n" for row in table_rows(reading.values)).encode()
            self.export(path, content)

    def export(self, path: Path, content: bytes) -> None:
        async def work() -> None:
            await self._feed.readings.disk.run(lambda _: _write(path, content))

        self._scope.start(f"export a chart to {path}", work)

    def _want(self) -> None:
        for run in self.shown_runs:
            self._feed.want(run)

    def _on_chosen(self) -> None:
        self._want()
        self._work_out()

    def _on_reading(self, run_id: str) -> None:
        if any(run.id == run_id for run in self.shown_runs):
            self._work_out()

    def _ask_resources(self) -> None:
        for run in self.shown_runs:
            if not (run.state.is_over and run.id in self._used):
                self._scope.start(f"ask what {run.id} uses", partial(self._read_resources, run))

    async def _read_resources(self, run: Run) -> None:
        try:
            self._used[run.id] = await self._resources.of(run)
            self._trouble = None
        except AppError as error:
            self._trouble = error
        self._work_out()

    def _work_out(self) -> None:
        runs = self.shown_runs
        readings = [(run, reading) for run in runs if (reading := self._feed.of(run.id)) is not None]
        names = _names(readings)
        # Another one only for as long as there is none of those that were asked for: the loss comes after the rate.
        name = names[0] if names and self._wanted not in names else self._wanted
        shown = ((at, run, reading) for at, (run, reading) in enumerate(readings))
        lines = [line for at, run, reading in shown if (line := self._line(at, run, reading, name)) is not None]
        resources = tuple(self._resource_lines(runs)) if self.state.shows_resources else ()
        self.state = replace(
            self.state, names=names, name=name, lines=tuple(lines), resources=resources, trouble=self._trouble,
            is_in_order=bool(lines) and not any(line.is_placed for line in lines),
            is_over=all(run.state.is_over for run in runs),
        )  # fmt: skip
        self.changed.emit()

    def _line(self, at: int, run: Run, reading: RunReading, name: str) -> CurveLine | None:
        series = reading.values.speaking_for(name) or reading.values.series.get(name)
        if series is None:
            return None
        columns = series.columns()
        xs, ys = columns[AXES.index(self.state.axis)], columns[3]
        if self.state.axis == TIME and (shift := _shift(run, reading)):
            xs = type(xs)("d", (x + shift for x in xs))
        is_placed = not all(map(math.isnan, xs))
        if not is_placed:
            xs = type(xs)("d", range(len(ys)))
        return CurveLine(f"{run.number} {series.name}", xs, smoothed(ys, self.state.smoothing), at, is_placed)

    def _resource_lines(self, runs: Sequence[Run]) -> list[CurveLine]:
        found: list[CurveLine] = []
        for run in runs:
            for worker, use in self._used.get(run.id, {}).items():
                for name, samples in use.values.items():
                    if any(sample is not None for sample in samples):
                        ys = [math.nan if sample is None else sample for sample in samples]
                        xs = [at * MINUTE_S for at in range(len(ys))]
                        label = " ".join((str(run.number), str(RESOURCE_WORDS[name]), worker))
                        found.append(CurveLine(label, xs, ys, len(found), marks_holes=False))
        return found


def _shift(run: Run, reading: RunReading) -> float:
    """What was measured is counted from the start of the job, and so are its values."""
    if run.started is None:
        return 0.0
    here = (run.started.astimezone().utcoffset() or timedelta()).total_seconds()
    now = (run.ended or utc_now()).timestamp()
    return seconds_after(reading.values, run.started.timestamp(), (0.0, _OF_PLATFORM_S, here), now)


def smoothed(values: Sequence[float], weight: float) -> Sequence[float]:
    """Each the mean of those before it, older ones count less; what is no number stays."""
    if weight <= 0:
        return values
    found, mean, total = [], 0.0, 0.0
    for value in values:
        if math.isfinite(value):
            mean = mean * weight + value * (1 - weight)
            total = total * weight + (1 - weight)
        found.append(mean / total if total and math.isfinite(value) else value)
    return found


def _names(readings: Sequence[tuple[Run, RunReading]]) -> tuple[str, ...]:
    roles = [role for role in _ROLES if any(role in reading.values.roles for _, reading in readings)]
    spoken = {reading.values.roles[role] for _, reading in readings for role in roles if role in reading.values.roles}
    others = {name: None for _, reading in readings for name in reading.values.series if name not in spoken}
    return (*roles, *(name for name in others if name not in roles))


def _write(path: Path, content: bytes) -> None:
    with local_errors(path):
        write_whole(path, content)
