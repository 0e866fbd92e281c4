"""One run with all that belongs to it, for a central tab."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from traindeck.domain.errors import AppError
from traindeck.domain.jobs.job import Run, RunState, wire_value
from traindeck.domain.storage.objects import ObjectEntry
from traindeck.domain.texts import Text, say, say_count, text
from traindeck.runtime.tasks import Repeat, TaskScope
from traindeck.viewmodels.jobs.form_values import LABELS, ROW_FIELDS
from traindeck.viewmodels.jobs.run_list import RunList
from traindeck.viewmodels.ports import Tone

if TYPE_CHECKING:
    from traindeck.services.jobs.run_watch import RunWatch
    from traindeck.services.jobs.runs import RunService


_SHOWN = (
    "description", "code_folder", "boot", "command", "image", "engine", "engine_version", "flavor", "nodes", "pool",
    "stop_after", "log_to", *ROW_FIELDS,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RunPageState:
    run: Run
    outputs: tuple[ObjectEntry, ...] = ()
    outputs_are_loading: bool = False
    outputs_trouble: AppError | None = None
    fetching: Text | None = None
    fetched_to: Path | None = None
    is_gone: bool = False

    @property
    def values(self) -> tuple[tuple[Text, str], ...]:
        """The form as it was sent; what was left empty is left out."""
        spec = self.run.spec.for_run(self.run.name)
        found = []
        for name in _SHOWN:
            value = getattr(spec, name)
            if not value:
                continue
            rows = value if name in ROW_FIELDS else ()
            words = "\n".join(f"{key} = {wire_value(part)}" for key, part in rows) or str(value)
            found.append((LABELS[name], words))
        return tuple(found)

    @property
    def moments(self) -> tuple[tuple[Text, datetime], ...]:
        """What happened when, as far as it is known."""
        run = self.run
        stages = (
            (text("Created"), run.created),
            (text("Submitted"), run.submitted),
            (text("Started"), run.started),
            (text("Ended"), run.ended),
        )
        return tuple((words, moment) for words, moment in stages if moment is not None)


class RunPage(QObject):
    """Follows one run; acts on it through the list, so that two views cannot act twice."""

    changed = Signal()

    def __init__(self, run: Run, runs: RunList, service: RunService, watch: RunWatch, scope: TaskScope) -> None:
        super().__init__()
        self.runs = runs
        self._service = service
        self._scope = scope
        self.state = RunPageState(run)
        self._remove_listeners = (watch.changed.add(self._on_changed), watch.gone.add(self._on_gone))
        runs.ticked.connect(self.changed)
        runs.changed.connect(self.changed)
        self.read_outputs()

    def close(self) -> None:
        for remove in self._remove_listeners:
            remove()
        self.runs.ticked.disconnect(self.changed)
        self.runs.changed.disconnect(self.changed)
        # Outputs on their way go on: their row in the list of transfers is where they are stopped.
        self._scope.cancel(self._reading)

    @property
    def busy(self) -> Text | None:
        return self.runs.state.busy.get(self.state.run.id) or self.state.fetching

    def read_outputs(self) -> None:
        if not self.state.run.spec.outputs or self.state.run.state in (RunState.PREPARING, RunState.NOT_SENT):
            return
        self._become(replace(self.state, outputs_are_loading=True))
        self._scope.start(self._reading, self._read_outputs, Repeat.REPLACE)

    def fetch(self, target: Path) -> None:
        """Bring the outputs into a folder of this computer."""
        if self._scope.start(f"fetch the outputs of {self.state.run.id}", lambda: self._fetch(target)):
            self._become(replace(self.state, fetching=text("Fetching the outputs…"), fetched_to=None))

    @property
    def _reading(self) -> str:
        return f"list the outputs of {self.state.run.id}"

    async def _read_outputs(self) -> None:
        try:
            found = await self._service.outputs(self.state.run.id)
        except AppError as error:
            self._become(replace(self.state, outputs_are_loading=False, outputs_trouble=error))
            return
        files = tuple(entry for entry in found if not entry.path.key.endswith("/"))
        self._become(replace(self.state, outputs=files, outputs_are_loading=False, outputs_trouble=None))

    async def _fetch(self, target: Path) -> None:
        try:
            await self._service.fetch(self.state.run.id, target)
        finally:
            self._become(replace(self.state, fetching=None))
        self._become(replace(self.state, fetched_to=target))

    def _on_changed(self, run: Run) -> None:
        if run.id != self.state.run.id or run == self.state.run:
            return
        ended = run.state.is_over and not self.state.run.state.is_over
        self._become(replace(self.state, run=run))
        if ended:
            self.read_outputs()

    def _on_gone(self, run_id: str) -> None:
        if run_id == self.state.run.id:
            self._become(replace(self.state, is_gone=True))

    def _become(self, state: RunPageState) -> None:
        self.state = state
        self.changed.emit()


_STATES = {
    RunState.PREPARING: (text("Preparing"), Tone.WAITING),
    RunState.SUBMITTING: (text("Submitting"), Tone.WAITING),
    RunState.UNCONFIRMED: (text("Unconfirmed"), Tone.DOUBTFUL),
    RunState.NOT_SENT: (text("Not sent"), Tone.BAD),
    RunState.CREATING: (text("Creating"), Tone.WAITING),
    RunState.PENDING: (text("Pending"), Tone.WAITING),
    RunState.RUNNING: (text("Running"), Tone.RUNNING),
    RunState.TERMINATING: (text("Stopping"), Tone.DOUBTFUL),
    RunState.COMPLETED: (text("Completed"), Tone.GOOD),
    RunState.FAILED: (text("Failed"), Tone.BAD),
    RunState.TERMINATED: (text("Stopped"), Tone.QUIET),
    RunState.ABNORMAL: (text("Abnormal"), Tone.BAD),
    RunState.UNKNOWN: (text("Unknown"), Tone.DOUBTFUL),
}


def state_words(run: Run) -> str:
    """The state in the user's language; a word of the service we do not know is shown as it came."""
    if run.state is RunState.UNKNOWN and run.phase:
        return run.phase
    return say(_STATES[run.state][0])


def all_state_words() -> list[str]:
    return [say(words) for words, _ in _STATES.values()]


def tone_of(run: Run) -> Tone:
    return _STATES[run.state][1]


def age_words(then: datetime | None, now: datetime) -> str:
    """How long ago, coarse; what never was is a dash."""
    if then is None:
        return "–"
    seconds = max(0, int((now - then).total_seconds()))
    if seconds < 60:
        return say("now")
    if seconds < 3600:
        return say_count("1 min ago", "{count} min ago", seconds // 60)
    if seconds < 86400:
        return say_count("1 h ago", "{count} h ago", seconds // 3600)
    return say_count("1 day ago", "{count} days ago", seconds // 86400)
