"""One run with all that belongs to it: the one that is selected, or one that was kept as a tab of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from traindeck.domain.errors import AppError
from traindeck.domain.jobs.form.form_fields import BY_NAME, FIELDS
from traindeck.domain.jobs.job import Run, RunState
from traindeck.domain.jobs.run_query import Metric
from traindeck.domain.jobs.start_kinds import NEEDED
from traindeck.domain.readings.failures import RunReading
from traindeck.domain.readings.phases import PhaseTime
from traindeck.domain.readings.reading import Progress
from traindeck.domain.storage.objects import ObjectEntry
from traindeck.domain.texts import Text, say, text
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.viewmodels.jobs.form.form_values import ROW_FIELDS, Difference, differences, rows_of, value_words
from traindeck.viewmodels.jobs.runs.output_fetches import FetchState
from traindeck.viewmodels.jobs.runs.run_list import RunList

if TYPE_CHECKING:
    from traindeck.services.jobs.code.code_bundles import CodeText
    from traindeck.services.jobs.code.code_manifests import Bundle, FrozenFile
    from traindeck.services.jobs.run_watch import RunWatch
    from traindeck.services.jobs.runs import RunService
    from traindeck.viewmodels.readings.curves import Curves


OVERVIEW, CURVES, OUTPUTS, CODE, DETAILS = SUB_PAGES = ("overview", "curves", "outputs", "code", "details")
_SHOWN = tuple(field.name for field in FIELDS if field.name not in ("name", "target"))
_OF_START = frozenset(name for names in NEEDED.values() for name in names)
_FIRST_SHOWN = tuple(name for name in _SHOWN if name in _OF_START or not BY_NAME[name].is_under_more)
_PAUSE_MS = 150
"""Whoever goes through the runs key by key does not wait for each of them."""


@dataclass(frozen=True, slots=True)
class RunPageState:
    run: Run | None = None
    outputs: tuple[ObjectEntry, ...] = ()
    outputs_are_loading: bool = False
    outputs_trouble: AppError | None = None
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    """The numbers of its log."""
    code: Bundle | None = None
    code_trouble: AppError | None = None
    code_file: FrozenFile | None = None
    code_text: CodeText | None = None
    phases: tuple[PhaseTime, ...] = ()
    """Where its time went."""
    code_line: int = 0
    """The line to be shown; 0: none in particular."""
    is_gone: bool = False

    @property
    def first_values(self) -> tuple[tuple[Text, str], ...]:
        """What runs of one job mostly differ in."""
        return self._of_form(_FIRST_SHOWN)

    @property
    def values(self) -> tuple[tuple[Text, str], ...]:
        """The form as it was sent; what was left empty is left out."""
        return self._of_form(_SHOWN)

    def _of_form(self, names: tuple[str, ...]) -> tuple[tuple[Text, str], ...]:
        if self.run is None:
            return ()
        spec = self.run.filled_spec
        found = []
        for name in names:
            value = getattr(spec, name)
            if not value or (value == BY_NAME[name].default and BY_NAME[name].is_under_more):
                continue
            rows = rows_of(spec, name) if name in ROW_FIELDS else ()
            words = "\n".join(f"{row[0]} = {row[1]}" for row in rows) or value_words(value)
            found.append((BY_NAME[name].label, words))
        return tuple(found)

    @property
    def moments(self) -> tuple[tuple[Text, datetime], ...]:
        """What happened when, as far as it is known."""
        run = self.run
        if run is None:
            return ()
        stages = (
            (text("Created"), run.created),
            (text("Submitted"), run.submitted),
            (text("Started"), run.started),
            (text("Ended"), run.ended),
        )
        return tuple((words, moment) for words, moment in stages if moment is not None)


class RunPage(QObject):
    """Acts on its run through the list, so that two views cannot act twice; reads what is looked at, and no more."""

    changed = Signal()

    def __init__(self, runs: RunList, service: RunService, watch: RunWatch, scope: TaskScope, pinned: str = "") -> None:
        """`pinned` is the id of the run it stays with; without one it follows the selected run."""
        super().__init__()
        self.runs = runs
        self.pinned = pinned
        self._service = service
        self._scope = scope
        self.state = RunPageState()
        self._wanted_code = ("", 0)
        self.sub_page = runs.sub_page or OVERVIEW
        self.title = ""
        """What its tab is called."""
        self._task = f"{id(self)} of a run"
        self._remove_listeners = (watch.changed.add(self._on_changed), watch.gone.add(self._on_gone))
        self._soon = QTimer(self, singleShot=True, interval=_PAUSE_MS)
        self._soon.timeout.connect(self._read_what_is_seen)
        runs.ticked.connect(self.changed)
        if runs.readings is not None:
            runs.readings.changed.connect(self._on_reading)
        runs.fetches.changed.connect(self._on_fetch)
        runs.changed.connect(self._follow)
        runs.rows_changed.connect(self._on_rows)
        runs.selection_changed.connect(self._follow)
        self._follow()

    def close(self) -> None:
        for remove in self._remove_listeners:
            remove()
        self._soon.stop()
        if (curves := self.__dict__.get("curves")) is not None:
            curves.close()
        self.runs.ticked.disconnect(self.changed)
        if self.runs.readings is not None:
            self.runs.readings.changed.disconnect(self._on_reading)
        self.runs.fetches.changed.disconnect(self._on_fetch)
        self.runs.changed.disconnect(self._follow)
        self.runs.rows_changed.disconnect(self._on_rows)
        self.runs.selection_changed.disconnect(self._follow)
        for what in (OVERVIEW, OUTPUTS, CODE, "text", "phases"):
            self._scope.cancel(self._reading(what))

    @property
    def reading(self) -> RunReading | None:
        """What its log tells, as far as it was read."""
        run, readings = self.state.run, self.runs.readings
        return readings.of(run.id) if run is not None and readings is not None else None

    @property
    def progress(self) -> Progress:
        return self.reading.values.progress if self.reading is not None else Progress()

    @cached_property
    def curves(self) -> Curves | None:
        """What its chart shows; made when somebody looks."""
        return self.runs.readings.curves() if self.runs.readings is not None else None

    @property
    def busy(self) -> Text | None:
        run = self.state.run
        return self.runs.state.busy.get(run.id) if run is not None else None

    @property
    def origin(self) -> Run | None:
        """The run this one was submitted again from, if it is still there."""
        return self.runs.run(self.state.run.resubmission_of) if self.state.run is not None else None

    @property
    def fetch(self) -> FetchState:
        """How it stands with its outputs."""
        return self.runs.fetches.of(self.state.run.id if self.state.run is not None else "")

    @property
    def gone_words(self) -> str:
        """Why nothing can be done with it; empty: it is there."""
        return say("This run was deleted.") if self.state.is_gone else ""

    def changes(self) -> tuple[Difference, ...]:
        """What it does not have in common with that one."""
        run, origin = self.state.run, self.origin
        return differences(origin.spec, run.spec) if run is not None and origin is not None else ()

    def pin(self, run_id: str) -> None:
        """Stay with this run from now on; empty: follow the selection."""
        self.pinned = run_id
        self._follow()

    def show_sub_page(self, name: str) -> None:
        self.sub_page = self.runs.sub_page = name
        self._read_what_is_seen()

    def read_outputs(self) -> None:
        run = self.state.run
        if run is None or not run.spec.outputs or run.state in (RunState.PREPARING, RunState.NOT_SENT):
            return
        self._become(replace(self.state, outputs_are_loading=True))
        self._scope.start(self._reading(OUTPUTS), lambda: self._read_outputs(run), Repeat.REPLACE)

    def forget_outputs(self) -> None:
        """They may be gone: look again if somebody looks."""
        self._become(replace(self.state, outputs=(), outputs_trouble=None))
        self._read_what_is_seen()

    def open_code(self, path: str) -> None:
        """Show this file of the frozen code."""
        code = self.state.code
        file = next((file for file in code.files if file.path == path), None) if code is not None else None
        if code is not None and file is not None:
            self._become(replace(self.state, code_file=file, code_text=None, code_line=0))
            self._scope.start(self._reading("text"), lambda: self._read_text(file), Repeat.REPLACE)

    def open_code_at(self, path: str, line: int) -> None:
        """The file that a message of the run names, which knows it by the path it had there."""
        self._wanted_code = (path, line)
        if self.state.code is not None:
            self._open_wanted_code()

    def _open_wanted_code(self) -> bool:
        code, (path, line) = self.state.code, self._wanted_code
        self._wanted_code = ("", 0)
        there = f"/{path.replace(chr(92), '/')}"
        files = code.files if code is not None and path else ()
        named = [file.path for file in files if there.endswith(f"/{file.path}")]
        if named:
            self.open_code(max(named, key=len))
            self._become(replace(self.state, code_line=line))
        return bool(named)

    def _reading(self, what: str) -> str:
        return f"read the {what} of {self._task}"

    def _follow(self) -> None:
        """Show the run this is about; while none is selected, the last one stays."""
        wanted_id, known = self.pinned or self.runs.state.selected, self.state.run
        wanted = self.runs.run(wanted_id)
        if wanted is None and self.runs.state.is_known:
            self.runs.want([wanted_id])
        if wanted is not None and (known is None or wanted.id != known.id):
            self.state = RunPageState(wanted)
            self.runs.want([wanted.resubmission_of])
            self._soon.start()
        self.changed.emit()

    def _on_rows(self, row_ids: Sequence[str]) -> None:
        run = self.state.run
        wanted = {self.pinned or self.runs.state.selected} if run is None else {run.resubmission_of, self.pinned}
        if not wanted.isdisjoint(row_ids):
            self._follow()

    def _read_what_is_seen(self) -> None:
        state = self.state
        if state.run is None:
            return
        if self.runs.readings is not None:
            self.runs.readings.want(state.run)
        if self.sub_page == OUTPUTS and not state.outputs and not state.outputs_are_loading:
            self.read_outputs()
        elif self.sub_page == CODE and state.run.bundle:
            self._scope.start(self._reading(CODE), partial(self._read_code_and_text, state.run), Repeat.REPLACE)
        elif self.sub_page == OVERVIEW:
            self._scope.start(self._reading(OVERVIEW), partial(self._read_overview, state.run), Repeat.REPLACE)

    async def _read_outputs(self, run: Run) -> None:
        try:
            found = await self._service.outputs.listed(run.id)
        except AppError as error:
            self._become_of(run, outputs_are_loading=False, outputs_trouble=error)
            return
        files = tuple(entry for entry in found if not entry.path.key.endswith("/"))
        self._become_of(run, outputs=files, outputs_are_loading=False, outputs_trouble=None)

    async def _read_code(self, run: Run) -> None:
        try:
            code = await self._service.kept_code.of(run)
        except AppError as error:
            self._become_of(run, code_trouble=error)
            return
        self._become_of(run, code=code, code_trouble=None)

    async def _read_code_and_text(self, run: Run) -> None:
        if self.state.code is None:
            await self._read_code(run)
        code = self.state.code
        if code is not None and code.files and not self._open_wanted_code() and self.state.code_file is None:
            boot = run.spec.boot
            self.open_code(boot if any(file.path == boot for file in code.files) else code.files[0].path)

    async def _read_text(self, file: FrozenFile) -> None:
        try:
            words = await self._service.kept_code.text(file)
        except AppError as error:
            self._become(replace(self.state, code_trouble=error))
            return
        if self.state.code_file is file:
            self._become(replace(self.state, code_text=words))

    async def _read_overview(self, run: Run) -> None:
        (measured,) = await self._service.records.measured([run])
        self._become_of(run, metrics=measured.metrics)
        self._scope.start(self._reading("phases"), partial(self._read_phases, run), Repeat.REPLACE)
        if run.bundle and self.state.code is None:
            await self._read_code(run)

    async def _read_phases(self, run: Run) -> None:
        """What cannot be had of it now takes nothing from the page."""
        if self.runs.readings is None:
            return
        with suppress(AppError):
            found = await self.runs.readings.phases.of(run, self.runs.clock())
            self._become_of(run, phases=tuple(found))

    def _on_changed(self, run: Run) -> None:
        known = self.state.run
        if known is None or run.id != known.id or run == known:
            return
        ended = run.state.is_over and not known.state.is_over
        self._become(replace(self.state, run=run))
        if ended and self.sub_page == OUTPUTS:
            self.read_outputs()
        elif (ended and self.sub_page == OVERVIEW) or run.bundle != known.bundle:
            self._read_what_is_seen()

    def _on_reading(self, run_id: str) -> None:
        if self.state.run is not None and self.state.run.id == run_id:
            self.changed.emit()

    def _on_fetch(self, run_id: str) -> None:
        if self.state.run is not None and self.state.run.id == run_id:
            self.changed.emit()

    def _on_gone(self, run_id: str) -> None:
        if self.state.run is not None and run_id == self.state.run.id:
            self._become(replace(self.state, is_gone=True))

    def _become_of(self, run: Run, **changes: object) -> None:
        """News of a run that may have left the page meanwhile."""
        if self.state.run is not None and self.state.run.id == run.id:
            self._become(replace(self.state, **changes))  # type: ignore[arg-type]

    def _become(self, state: RunPageState) -> None:
        self.state = state
        self.changed.emit()
