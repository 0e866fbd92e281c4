"""What the logs of runs tell, for list, page and charts: asked for by whoever shows it, read once for all."""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from traindeck.domain.jobs.job import Run
from traindeck.domain.readings.curves import SmallCurve
from traindeck.domain.readings.failures import RunReading
from traindeck.domain.readings.tracking import TrackedNumber
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.viewmodels.readings.curves import Curves

if TYPE_CHECKING:
    from traindeck.services.jobs.run_watch import RunWatch
    from traindeck.services.readings.run_curves import RunCurves
    from traindeck.services.readings.run_phases import RunPhases
    from traindeck.services.readings.run_readings import RunReadings
    from traindeck.services.readings.run_resources import RunResources
    from traindeck.viewmodels.jobs.runs.run_list import RunList

_BEAT_MS = 1000
"""A chatty log is read once in so long."""
_MOST_KEPT = 64
_MOST_CURVES = 1000
_MOST_IN_SIGHT = 64


class ReadingFeed(QObject):
    """Follows the runs that are looked at and the active ones; others keep what was read of them last."""

    changed = Signal(str)
    """There is something else to say of the run of this id."""
    curve_known = Signal(str)
    """That of a row in sight, as it was asked for."""

    def __init__(
        self,
        readings: RunReadings,
        phases: RunPhases,
        small_curves: RunCurves,
        resources: RunResources,
        watch: RunWatch,
        runs: RunList,
        scope: TaskScope,
    ) -> None:
        super().__init__()
        self._resources = resources
        self.phases = phases
        self.readings = readings
        self._runs = runs
        self._scope = scope
        self._known: OrderedDict[str, RunReading] = OrderedDict()
        self._small_curves = small_curves
        self._curves: OrderedDict[str, SmallCurve] = OrderedDict()
        self._in_sight: OrderedDict[str, Run] = OrderedDict()  # whose curve is to be read; what came last comes first
        self._seen_live: set[str] = set()
        self._due: set[str] = set()
        self._beat = QTimer(self, singleShot=True, interval=_BEAT_MS)
        self._beat.timeout.connect(self._read_due)
        self._remove = (readings.logs.grew.add(self._on_grown), watch.changed.add(self._on_changed))

    def close(self) -> None:
        for remove in self._remove:
            remove()
        self._beat.stop()

    def curves(self) -> Curves:
        """For one chart."""
        return Curves(self._runs, self, self._resources, self._scope)

    def of(self, run_id: str) -> RunReading | None:
        """What is known now; None: nobody read it yet."""
        return self._known.get(run_id)

    def curve_of(self, run: Run) -> SmallCurve | None:
        """For its row in a list, which is in sight; None: not known yet, `curve_known` tells when it is."""
        if (reading := self._known.get(run.id)) is not None:
            return reading.values.small_curve
        if (curve := self._curves.get(run.id)) is not None:
            return curve
        self._in_sight[run.id] = run
        self._in_sight.move_to_end(run.id)
        if len(self._in_sight) > _MOST_IN_SIGHT:
            self._in_sight.popitem(last=False)  # scrolled past: asked for again when it is seen again
        self._scope.start("read curves of rows in sight", self._read_curves)
        return None

    def want(self, run: Run) -> None:
        """Somebody looks at it: read what there is, and what comes."""
        self._start(run)

    def track(self, run: Run, number: TrackedNumber) -> None:
        """Follow a number in this run and in all runs of the same job."""

        async def work() -> None:
            await self.readings.disk.run(lambda _: self.readings.tracked.track(run.spec.name, number))
            await self._read(run)

        self._scope.start(f"track a number of {run.id}", work, Repeat.REPLACE)

    def _on_grown(self, run_id: str) -> None:
        if run_id in self._known or self._is_live(run_id):
            self._read_soon(run_id)
        elif self._curves.pop(run_id, None) is not None:
            self.curve_known.emit(run_id)  # whose row is in sight asks again

    def _on_changed(self, run: Run) -> None:
        if not run.state.is_over:
            self._seen_live.add(run.id)
        elif run.id in self._known or run.id in self._seen_live:
            self._seen_live.discard(run.id)
            self._read_soon(run.id)

    def _read_soon(self, run_id: str) -> None:
        self._due.add(run_id)
        if not self._beat.isActive():
            self._beat.start()

    def _is_live(self, run_id: str) -> bool:
        run = self._runs.run(run_id)
        return run is not None and not run.state.is_over

    def _read_due(self) -> None:
        due, self._due = self._due, set()
        for run_id in due:
            if (run := self._runs.run(run_id)) is not None and not self._start(run):
                self._read_soon(run_id)  # what is being read may be from before this came

    def _start(self, run: Run) -> bool:
        return self._scope.start(f"read the log of {run.id}", partial(self._read, run))

    async def _read_curves(self) -> None:
        while self._in_sight:
            run_id, run = self._in_sight.popitem()
            self._keep_curve(run_id, await self._small_curves.of(run))
            self.curve_known.emit(run_id)

    def _keep_curve(self, run_id: str, curve: SmallCurve) -> None:
        self._curves[run_id] = curve
        if len(self._curves) > _MOST_CURVES:
            self._curves.popitem(last=False)

    async def _read(self, run: Run) -> None:
        found = await self.readings.of(run)
        if run.state.is_over and (curve := found.values.small_curve) != self._curves.get(run.id):
            self._keep_curve(run.id, curve)
            await self._small_curves.keep(run.id, curve)
        if found != self._known.get(run.id):
            self._known[run.id] = found
            self._known.move_to_end(run.id)
            while len(self._known) > _MOST_KEPT:
                self._known.popitem(last=False)
            self.changed.emit(run.id)
